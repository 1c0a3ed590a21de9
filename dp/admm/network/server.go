package network

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Access is what a node needs in order to join.
type Access struct {
	URL   string // tls://host:port
	Token string
	CA    []byte // the server's certificate, PEM
}

// Server is a NATS server in this process.
type Server struct {
	access Access
	nats   *server.Server
}

const (
	// startup is how long a server may take to listen.
	startup = 30 * time.Second
	// validity of the certificate: longer than a run.
	validity = 30 * 24 * time.Hour
	// payload bounds a message; ours have some 200 bytes.
	payload = 64 << 10
)

// Serve starts a server that listens on addr, such as "127.0.0.1:0", with a new certificate and a new token. The certificate names the
// host of addr, localhost and the loopback addresses. Errors: an address that cannot be listened on.
func Serve(addr string) (*Server, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("network: listen %q: %w", addr, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port < 0 || port > 65535 {
		return nil, fmt.Errorf("network: listen %q: port %q: must be in 0..65535", addr, portText)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	certificate, ca, err := certify(host)
	if err != nil {
		return nil, fmt.Errorf("network: certificate: %w", err)
	}
	token := make([]byte, 32)
	if _, err := rand.Read(token); err != nil {
		return nil, fmt.Errorf("network: token: %w", err)
	}
	s := &Server{access: Access{Token: hex.EncodeToString(token), CA: ca}}
	s.nats, err = server.NewServer(&server.Options{
		Host: host, Port: port, Authorization: s.access.Token, NoLog: true, NoSigs: true, MaxPayload: payload,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}, TLSTimeout: 20,
		AuthTimeout: 20,
	})
	if err != nil {
		return nil, fmt.Errorf("network: listen %q: %w", addr, err)
	}
	go s.nats.Start()
	if !s.nats.ReadyForConnections(startup) {
		s.Close()
		return nil, fmt.Errorf("network: listen %q: %w", addr, errListen)
	}
	at, ok := s.nats.Addr().(*net.TCPAddr)
	if !ok {
		s.Close()
		return nil, fmt.Errorf("network: listen %q: %w", addr, errListen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	s.access.URL = "tls://" + net.JoinHostPort(host, strconv.Itoa(at.Port))
	return s, nil
}

var errListen = errors.New("the server does not listen: is the port taken?")

// Access is what nodes need.
func (s *Server) Access() Access { return s.access }

// Close stops the server.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

// certify makes a key and a certificate that it signs itself.
func certify(host string) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	now := time.Now()
	template := x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "coupling admm"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else if host != "" {
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, ca, nil
}
