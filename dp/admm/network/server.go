package network

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"coupling/dp/admm"
	"coupling/dp/admm/agents"
)

// ErrAccess marks an address that is not allowed, or a token that is not the server's.
var ErrAccess = errors.New("no access")

// Access is what a node needs in order to join. The token is secret.
type Access struct {
	URL   string `json:"url"` // http://host:port
	Token string `json:"token"`
}

// Server keeps a mailbox for each node.
type Server struct {
	access Access
	boxes  agents.Channels
	http   http.Server
}

const (
	// maxBody bounds a request, of messages of some 200 bytes.
	maxBody = 16 << 20
	// maxWait is how long an answer is held back.
	maxWait = 30 * time.Second
)

// request is what a node posts. The answer is a list of messages.
type request struct {
	Node     admm.ID          `json:"node"`
	Messages []agents.Message `json:"messages"` // from it
	WaitMS   int64            `json:"wait_ms"`  // how long to wait for a message to it
}

// Serve starts a server on a loopback address, such as "127.0.0.1:0" for any free port. An empty token draws a new one; a server that is to
// come back needs its earlier address and token. Errors: ErrAccess for another address; a port that is taken.
func Serve(addr, token string) (*Server, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("network: listen %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return nil, fmt.Errorf("network: listen %q: must be a loopback address, such as 127.0.0.1:0, as messages are not encrypted; other machines come through ssh -L: %w", addr, ErrAccess)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	s := &Server{access: Access{URL: "http://" + l.Addr().String(), Token: cmp.Or(token, rand.Text())}}
	s.http = http.Server{Handler: http.HandlerFunc(s.exchange), ReadHeaderTimeout: maxWait}
	go func() { _ = s.http.Serve(l) }() // which ends with Close
	return s, nil
}

// Access is what nodes need.
func (s *Server) Access() Access { return s.access }

// Join returns a link in this process, for the coordinator.
func (s *Server) Join(ctx context.Context, id admm.ID) (agents.Link, error) {
	return s.boxes.Join(ctx, id)
}

// Drain waits until nodes have received all their messages, or until timeout.
func (s *Server) Drain(timeout time.Duration) {
	for until := time.Now().Add(timeout); s.boxes.Pending() > 0 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
}

// Close ends the server when it has given the answers that are ready.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if s.http.Shutdown(ctx) != nil { // requests are waiting
		_ = s.http.Close()
	}
}

// exchange takes a node's messages, and answers with those to it.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.access.Token)) != 1 {
		http.Error(w, "the token is not the server's", http.StatusUnauthorized)
		return
	}
	var ask request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	link, _ := s.boxes.Join(r.Context(), ask.Node) // which cannot fail
	for _, m := range ask.Messages {
		_ = link.Send(r.Context(), m) // nor can this
	}
	ctx, cancel := context.WithTimeout(r.Context(), min(time.Duration(ask.WaitMS)*time.Millisecond, maxWait))
	defer cancel()
	out := []agents.Message{}
	for m, err := link.Receive(ctx); err == nil; m, err = link.Receive(ctx) {
		out = append(out, m)
		cancel() // what is there already is still received
	}
	_ = json.NewEncoder(w).Encode(out)
}
