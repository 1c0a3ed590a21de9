package network_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
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
	return network.Line{Access: s.Access(), Run: "test"}
}

// Over the network, with and without faults, plain and private, the plan has the same bits as in process.
func TestSameBits(t *testing.T) {
	line := serve(t)
	for i, f := range []admmtest.Faulty{{}, {Lose: 0.1, Duplicate: 0.1, Late: 0.1}} {
		p := admmtest.Problem(rand.New(rand.NewPCG(uint64(i), 3)), admmtest.Kind{Network: "random", Utility: "mixed"})
		line.Run = "plain-" + string(rune('a'+i))
		f.Transport, f.Seed = line, 5
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
		line.Run = "private-" + string(rune('a'+i))
		f.Transport = line
		if got, err = agents.Solve(t.Context(), a, &f, p.Graph, specs, 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.Plan, got.Plan); d != "" || got.Rounds != want.Rounds {
			t.Errorf("private: %d rounds for %d: %s", got.Rounds, want.Rounds, d)
		}
	}
}

// Out of step, over the network, with nodes of several edges: the optimum to the tolerance.
func TestOutOfStep(t *testing.T) {
	line := serve(t)
	p := admmtest.Problem(rand.New(rand.NewPCG(1, 3)), admmtest.Kind{Network: "complete", Utility: "linear"})
	want, err := admm.ADMM{}.Solve(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := agents.Solve(t.Context(), admm.ADMM{Delay: 1, Tol: 1e-5}, line, p.Graph, p.Specs(), 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	u, best := p.Utility(p.Repair(got.Plan)), p.Utility(p.Repair(want.Plan))
	if got.Status != admm.Converged || math.Abs(u-best) > 1e-3*best {
		t.Errorf("%v: utility %v, in step %v", got.Status, u, best)
	}
}

// Nobody joins without the token, nor trusts another server's certificate.
func TestAccess(t *testing.T) {
	line, other := serve(t), serve(t)
	id := admm.ID{Side: admm.Target, Index: 0}
	wrong := line
	wrong.Token = other.Token
	if _, err := wrong.Join(t.Context(), id); !errors.Is(err, network.ErrAccess) {
		t.Errorf("wrong token: %v", err)
	}
	wrong = line
	wrong.CA = other.CA
	if _, err := wrong.Join(t.Context(), id); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("wrong certificate: %v", err)
	}
	wrong.CA = []byte("no certificate")
	if _, err := wrong.Join(t.Context(), id); !errors.Is(err, network.ErrAccess) {
		t.Errorf("no certificate: %v", err)
	}
	wrong = line
	wrong.Run = "a.b"
	if _, err := wrong.Join(t.Context(), id); !errors.Is(err, network.ErrAccess) {
		t.Errorf("run a.b: %v", err)
	}
	for _, addr := range []string{"127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000"} {
		if s, err := network.Serve(addr, ""); err == nil || !strings.Contains(err.Error(), addr) {
			t.Errorf("listen %s: %v", addr, err)
			s.Close()
		}
	}
}

// A server that died comes back as what it was, and those who were joined are joined again; one that stays away is an error after a while.
func TestServerComesBack(t *testing.T) {
	s, err := network.Serve("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	line := network.Line{Access: s.Access(), Run: "test", Wait: time.Second}
	a, b := admm.ID{Side: admm.Target}, admm.ID{Side: admm.Source}
	var links []agents.Link
	for _, id := range []admm.ID{a, b} {
		l, err := line.Join(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	identity := s.Identity()
	s.Close()
	if s, err = network.ServeAgain(identity); err != nil {
		t.Fatal(err)
	}
	if got := s.Access(); got.URL != line.URL || got.Token != line.Token {
		t.Errorf("%+v came back as %+v", line.Access, got)
	}
	within, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	heard := make(chan error)
	go func() {
		_, err := links[1].Receive(within)
		heard <- err
	}()
	for said := false; !said; { // what was said before b is back is lost
		if err := links[0].Send(within, agents.Message{Kind: agents.Ask, From: a, To: b}); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-heard:
			if said = true; err != nil {
				t.Fatal(err)
			}
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.Close()
	if _, err := links[0].Receive(within); err == nil || within.Err() != nil || !strings.Contains(err.Error(), "the server is gone") {
		t.Errorf("%v: want that the server is gone", err)
	}
}

// All addresses have no name of their own: without one the certificate would be of none that others use. With one it is.
func TestListenOnAll(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		if s, err := network.Serve(addr, ""); err == nil || !strings.Contains(err.Error(), "by which nodes reach it") {
			t.Errorf("%s: %v", addr, err)
			s.Close()
		}
	}
	s, err := network.Serve("0.0.0.0:0", "127.0.0.2") // loopback too, on Linux, and not in every certificate
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	block, _ := pem.Decode(s.Access().CA)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil || certificate.VerifyHostname("127.0.0.2") != nil || !strings.HasPrefix(s.Access().URL, "tls://127.0.0.2:") {
		t.Errorf("%v, %s: must be for 127.0.0.2", err, s.Access().URL)
	}
	l, err := network.Line{Access: s.Access(), Run: "test"}.Join(t.Context(), admm.ID{})
	if runtime.GOOS != "linux" {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
