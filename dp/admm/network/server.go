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
	"sync"
	"time"

	"coupling/dp/admm"
)

// ErrAccess marks an address that is not allowed, or a token that is not the server's.
var ErrAccess = errors.New("no access")

// Access is the address and the token with which a node joins. The token is secret.
type Access struct {
	URL   string `json:"url"` // http://host:port
	Token string `json:"token"`
}

// Server is where nodes join a run.
type Server struct {
	access Access
	http   http.Server

	mu      sync.Mutex
	run     *run          // nil before Run
	changed chan struct{} // closed, and made anew, when there is something new to answer
}

const (
	// maxBody bounds a request: some 20 bytes an edge.
	maxBody = 16 << 20
	// maxWait is how long an answer is held back.
	maxWait = 30 * time.Second
)

// request names a node and carries its share of the round that it was asked about last.
type request struct {
	Node   admm.ID   `json:"node"`
	Run    string    `json:"run,omitempty"` // that it takes part in, empty before its first question
	Rules  string    `json:"rules"`         // digest
	Rounds int       `json:"rounds"`        // that its budget pays for
	Round  int       `json:"round,omitempty"`
	Share  []float64 `json:"share,omitempty"`
	Fail   string    `json:"fail,omitempty"` // why it cannot go on
}

// answer is the next question for the node, empty while there is none.
type answer struct {
	Run      string         `json:"run,omitempty"`
	Question *admm.Question `json:"question,omitempty"`
	End      *Amounts       `json:"end,omitempty"`
	Fail     string         `json:"fail,omitempty"` // why the run ended
}

// Amounts is a node's part of the plan at the end.
type Amounts struct {
	ID     admm.ID     `json:"id"`
	Plan   []float64   `json:"plan"` // in the order of its neighbours
	Rounds int         `json:"rounds"`
	Status admm.Status `json:"status"`
}

// Serve starts a server on a loopback address, such as "127.0.0.1:0" for any free port. An empty
// token draws a new one; a server that is to come back needs its earlier address and token. Errors:
// ErrAccess for another address; a port that is taken.
func Serve(addr, token string) (*Server, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("network: listen %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return nil, fmt.Errorf(
			"network: listen %q: must be a loopback address, such as 127.0.0.1:0, as messages are not encrypted; "+
				"other machines come through ssh -L: %w", addr, ErrAccess)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	s := &Server{access: Access{URL: "http://" + l.Addr().String(), Token: cmp.Or(token, rand.Text())},
		changed: make(chan struct{})}
	s.http = http.Server{Handler: http.HandlerFunc(s.exchange), ReadHeaderTimeout: maxWait}
	go func() { _ = s.http.Serve(l) }() // which ends with Close
	return s, nil
}

// Access returns the address and the token for nodes.
func (s *Server) Access() Access { return s.access }

// Close ends the server when it has given the answers that are ready.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if s.http.Shutdown(ctx) != nil { // requests are waiting
		_ = s.http.Close()
	}
}

// exchange takes a node's request, and answers when there is something to answer.
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
	late := time.After(maxWait)
	for {
		out, changed := s.take(ask)
		if out == nil {
			select {
			case <-changed:
				continue
			case <-late:
				out = &answer{}
			case <-r.Context().Done():
				return
			}
		}
		_ = json.NewEncoder(w).Encode(out) // a node that does not get it asks again
		return
	}
}

// take lets the run take a request, and returns the answer, or nil with what will be closed when there may be one.
func (s *Server) take(ask request) (*answer, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return nil, s.changed
	}
	out, news := s.run.take(ask)
	if news {
		s.announce()
	}
	return out, s.changed
}

// announce wakes all who wait.
func (s *Server) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}
