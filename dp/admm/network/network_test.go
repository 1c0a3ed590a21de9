package network_test

import (
	"errors"
	"math/rand/v2"
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
	s, err := network.Serve("127.0.0.1:0")
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
		if s, err := network.Serve(addr); err == nil || !strings.Contains(err.Error(), addr) {
			t.Errorf("listen %s: %v", addr, err)
			s.Close()
		}
	}
}
