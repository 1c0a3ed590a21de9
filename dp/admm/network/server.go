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

// Identity is what makes a server the same after its process has died: nodes that wait for it join again by themselves. It is secret.
type Identity struct {
	Listen      string `json:"listen"` // host:port
	Host        string `json:"host"`   // by which nodes reach it
	Token       string `json:"token"`
	Certificate []byte `json:"certificate"` // PEM
	Key         []byte `json:"key"`         // PEM
}

// Server is a NATS server in this process.
type Server struct {
	identity Identity
	nats     *server.Server
}

const (
	// startup is how long a server may take to listen.
	startup = 30 * time.Second
	// validity of the certificate: longer than a run.
	validity = 30 * 24 * time.Hour
	// payload bounds a message; ours have some 200 bytes.
	payload = 64 << 10
)

// Serve starts a server that listens on addr, such as "127.0.0.1:0", with a new certificate and a new token. Nodes reach it as host, which the
// certificate names beside localhost and the loopback addresses; "" is the host of addr. Errors: an address that cannot be listened on; one
// that means all addresses, such as "0.0.0.0:0", without a host.
func Serve(addr, host string) (*Server, error) {
	listen, _, err := split(addr)
	if err != nil {
		return nil, err
	}
	if host == "" {
		if ip := net.ParseIP(listen); listen == "" || ip != nil && ip.IsUnspecified() {
			return nil, fmt.Errorf("network: listen %q: means all addresses of this machine: say by which nodes reach it: %w", addr, errHost)
		}
		host = listen
	}
	certificate, key, err := certify(host)
	if err != nil {
		return nil, fmt.Errorf("network: certificate: %w", err)
	}
	token := make([]byte, 32)
	if _, err := rand.Read(token); err != nil {
		return nil, fmt.Errorf("network: token: %w", err)
	}
	return ServeAgain(Identity{Listen: addr, Host: host, Token: hex.EncodeToString(token), Certificate: certificate, Key: key})
}

// split takes an address apart.
func split(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("network: listen %q: %w", addr, err)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("network: listen %q: port %q: must be in 0..65535", addr, text)
	}
	return host, port, nil
}

// ServeAgain starts a server that was there before, under the same address, certificate and token. Errors: an identity that is none, an
// address that cannot be listened on.
func ServeAgain(id Identity) (*Server, error) {
	host, port, err := split(id.Listen)
	if err != nil {
		return nil, err
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	certificate, err := tls.X509KeyPair(id.Certificate, id.Key)
	if err != nil {
		return nil, fmt.Errorf("network: certificate: %w", err)
	}
	s := &Server{identity: id}
	s.nats, err = server.NewServer(&server.Options{
		Host: host, Port: port, Authorization: id.Token, NoLog: true, NoSigs: true, MaxPayload: payload,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}, TLSTimeout: 20,
		AuthTimeout: 20,
	})
	if err != nil {
		return nil, fmt.Errorf("network: listen %q: %w", id.Listen, err)
	}
	go s.nats.Start()
	at, ok := (*net.TCPAddr)(nil), s.nats.ReadyForConnections(startup)
	if ok {
		at, ok = s.nats.Addr().(*net.TCPAddr)
	}
	if !ok {
		s.Close()
		return nil, fmt.Errorf("network: listen %q: %w", id.Listen, errListen)
	}
	s.identity.Listen = net.JoinHostPort(host, strconv.Itoa(at.Port))
	return s, nil
}

var (
	errListen = errors.New("the server does not listen: is the port taken?")
	errHost   = errors.New("no host")
)

// Identity is what ServeAgain needs, with the port that is listened on.
func (s *Server) Identity() Identity { return s.identity }

// Access is what nodes need.
func (s *Server) Access() Access {
	_, port, _ := net.SplitHostPort(s.identity.Listen) // it was listened on
	return Access{URL: "tls://" + net.JoinHostPort(s.identity.Host, port), Token: s.identity.Token, CA: s.identity.Certificate}
}

// Close stops the server.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

// certify makes a certificate that it signs itself, and its key.
func certify(host string) (certificate, private []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
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
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}
