package network_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/admm/admmtest"
	"coupling/dp/admm/agents"
	"coupling/dp/admm/network"

	"github.com/google/go-cmp/cmp"
)

func serve(t *testing.T) network.Line {
	t.Helper()
	s, err := network.Serve("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return network.Line{Access: s.Access()}
}

// Over the network, with and without faults, plain and private, the plan has the same bits as in process.
func TestSameBits(t *testing.T) {
	for i, f := range []admmtest.Faulty{{}, {Lose: 0.1, Duplicate: 0.1, Late: 0.1}} {
		p := admmtest.Problem(rand.New(rand.NewPCG(uint64(i), 3)), admmtest.Kind{Network: "random", Utility: "mixed"})
		f.Transport, f.Seed = serve(t), 5
		a := admm.ADMM{Tol: 1e-3}
		want, err := a.Solve(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := agents.Solve(t.Context(), a, &f, p.Graph, p.Specs(), 20*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.Plan, got.Plan); d != "" || got.Rounds != want.Rounds {
			t.Errorf("%d rounds for %d: %s", got.Rounds, want.Rounds, d)
		}
		a = admm.ADMM{Rounds: 15, Tol: 1e-3}
		private := admm.Private{Budget: account.Budget{Alpha: 50}, Slope: 5}
		if want, err = a.SolvePrivate(t.Context(), p, private, rand.New(rand.NewPCG(1, 2))); err != nil {
			t.Fatal(err)
		}
		specs, err := private.Protect(rand.New(rand.NewPCG(1, 2)), p.Specs())
		if err != nil {
			t.Fatal(err)
		}
		f.Transport = serve(t)
		if got, err = agents.Solve(t.Context(), a, &f, p.Graph, specs, 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.Plan, got.Plan); d != "" || got.Rounds != want.Rounds {
			t.Errorf("private: %d rounds for %d: %s", got.Rounds, want.Rounds, d)
		}
	}
}

// Nobody joins without the token, and the server listens on loopback addresses only.
func TestAccess(t *testing.T) {
	line, other := serve(t), serve(t)
	line.Token = other.Token
	if _, err := line.Join(t.Context(), admm.ID{}); !errors.Is(err, network.ErrAccess) {
		t.Errorf("another token: %v", err)
	}
	for _, token := range []string{"", other.Token} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, other.URL, strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		want := http.StatusUnauthorized
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
			want = http.StatusBadRequest
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("half a request with token %q: %s", token, answer.Status)
		}
	}
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0", "example.org:0", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000"} {
		if s, err := network.Serve(addr, ""); err == nil || !strings.Contains(err.Error(), addr[strings.LastIndex(addr, ":")+1:]) {
			t.Errorf("listen %s: %v", addr, err)
			s.Close()
		}
	}
}

// A server that comes back with its address and token goes on serving its nodes. One that stays away is an error after a while.
func TestServerComesBack(t *testing.T) {
	s, err := network.Serve("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	line := network.Line{Access: s.Access(), Wait: time.Second}
	a, b := admm.ID{Side: admm.Target}, admm.ID{Side: admm.Source}
	var links []agents.Link
	for _, id := range []admm.ID{a, b} {
		l, err := line.Join(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	s.Close()
	if s, err = network.Serve(strings.TrimPrefix(line.URL, "http://"), line.Token); err != nil {
		t.Fatal(err)
	}
	if s.Access() != line.Access {
		t.Errorf("%+v came back as %+v", line.Access, s.Access())
	}
	within, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := links[0].Send(within, agents.Message{Kind: agents.Ask, From: a, To: b, Round: 7}); err != nil {
		t.Fatal(err)
	}
	if err := links[0].Close(); err != nil { // which sends
		t.Fatal(err)
	}
	if m, err := links[1].Receive(within); err != nil || m.Round != 7 {
		t.Errorf("%+v, %v", m, err)
	}
	s.Close()
	if _, err := links[1].Receive(within); err == nil || within.Err() != nil || !strings.Contains(err.Error(), "the server is gone") {
		t.Errorf("%v: want that the server is gone", err)
	}
}
