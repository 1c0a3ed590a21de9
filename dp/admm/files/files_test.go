package files_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/admm/files"
	"coupling/lab/must"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// problem is a network of one target and two sources with the same utility everywhere.
func problem(u admm.Utility) admm.Problem {
	g := admm.Complete(2, 2)
	g.Edges = g.Edges[:3]
	us := slices.Repeat([]admm.Utility{u}, len(g.Edges))
	return admm.Problem{
		Graph:         g,
		TargetUtility: us,
		SourceUtility: us,
		TargetBounds:  []admm.Bounds{{Min: 1, Max: 3.5}, {Max: 2}},
		SourceBounds:  []admm.Bounds{{Max: 1}, {Min: .5, Max: 4}},
	}
}

// What is written is read: utilities of every kind that has a file format, with and without noise.
func TestRoundTrip(t *testing.T) {
	for i, u := range slices.Repeat([]admm.Utility{admm.Linear{A: 3.1}, admm.Log{A: 2, B: .7},
		admm.Saturating{A: 1, B: 3}, admm.Quadratic{A: 5, B: 2}, admm.Linear{A: 1}}, 2) {
		p := problem(u)
		p.SourceBounds[0].Max = math.Inf(1)
		rules, private := admm.ADMM{Eta: 2, Relax: 1.5}, (*admm.Private)(nil)
		if i%2 == 1 {
			rules.Rounds = 3
			private = &admm.Private{Budget: account.Budget{Alpha: 2, Epsilon: 7}, Slope: 5, Parameters: 2}
		}
		dir := t.TempDir()
		if err := files.Write(dir, p, rules, private, rand.New(rand.NewPCG(1, 1))); err != nil {
			t.Fatalf("%+v: %v", u, err)
		}
		q, specs, back, err := files.ReadProblem(dir)
		if err != nil {
			t.Fatalf("%+v: %v", u, err)
		}
		want := p.Specs()
		if private != nil {
			want = must.Get(private.Protect(rand.New(rand.NewPCG(1, 1)), want))
		}
		if d := cmp.Diff(p, q, cmpopts.EquateEmpty()) + cmp.Diff(want, specs, cmpopts.EquateEmpty()); d != "" ||
			back.Eta != 2 || back.Relax != 1.5 || back.Rounds != rules.Rounds {
			t.Errorf("%+v: %+v, %s", u, back, d)
		}
		if info, err := os.Stat(files.NodePath(dir, admm.ID{})); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v: a node's file must be its owner's alone", info.Mode(), err)
		}
	}
}

// own is a utility without a file format.
type own struct{ admm.Linear }

func TestWriteRefuses(t *testing.T) {
	p := problem(own{admm.Linear{A: 1}})
	if err := files.Write(t.TempDir(), p, admm.ADMM{}, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "no file format") {
		t.Errorf("a function: %v", err)
	}
	p = problem(admm.Linear{A: 2})
	private := &admm.Private{Budget: account.Budget{Alpha: 2, Epsilon: 7}, Slope: 5}
	if err := files.Write(t.TempDir(), p, admm.ADMM{Rounds: 4}, private, rand.New(rand.NewPCG(1, 1))); !errors.Is(err,
		admm.ErrBudget) {
		t.Errorf("a budget of 7 for 4 rounds of 2: %v", err)
	}
}

// A parameter that was made steeper in a node's own file, than its noise was made for, is refused;
// and so is a file that does not say what that is.
func TestReadNodeRefuses(t *testing.T) {
	dir := t.TempDir()
	p := admm.Problem{Graph: admm.Complete(1, 1), TargetUtility: []admm.Utility{admm.Linear{A: 2}},
		TargetBounds: []admm.Bounds{{Max: 1}}}
	private := &admm.Private{Budget: account.Budget{Alpha: 2}, Slope: 5}
	must.Do(files.Write(dir, p, admm.ADMM{Rounds: 4}, private, rand.New(rand.NewPCG(1, 1))))
	path := files.NodePath(dir, admm.ID{})
	whole := must.Get(os.ReadFile(path))
	for old, c := range map[string][2]string{`"a": 2`: {`"a": 100`, "slope 100 is above Slope = 5"},
		`"slope": 5`: {`"slope": 0`, "private slope 0"}} {
		must.Do(os.WriteFile(path, []byte(strings.Replace(string(whole), old, c[0], 1)), 0o600))
		if _, _, err := files.ReadNode(path); !errors.Is(err, admm.ErrParameter) ||
			!strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v, want %q", c[0], err, c[1])
		}
	}
}

// A node without a key draws its own once, and keeps it.
func TestDrawKey(t *testing.T) {
	dir := t.TempDir()
	p := problem(admm.Linear{A: 2})
	private := &admm.Private{Budget: account.Budget{Alpha: 2}, Slope: 5}
	must.Do(files.Write(dir, p, admm.ADMM{Rounds: 4}, private, nil))
	if _, _, _, err := files.ReadProblem(dir); err == nil || !strings.Contains(err.Error(), "the node draws it") {
		t.Errorf("no key: %v", err)
	}
	keys := map[[32]byte]bool{}
	for _, id := range p.Graph.Nodes() {
		for range 2 {
			must.Do(files.DrawKey(files.NodePath(dir, id)))
			s, _ := must.Get2(files.ReadNode(files.NodePath(dir, id)))
			keys[s.Secret.Key] = true
		}
	}
	if len(keys) != p.Graph.Targets+p.Graph.Sources {
		t.Errorf("%d keys of %d nodes", len(keys), p.Graph.Targets+p.Graph.Sources)
	}
}

// What is saved comes back bit for bit; half a file is an error with its name.
func TestJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "state.json")
	want := admm.State{
		Round:  3,
		Eta:    1. / 3,
		Plan:   []float64{.1, -0x1p-1074},
		Price:  []float64{math.Pi, 1e300},
		Primal: 2. / 3,
	}
	must.Do(files.SaveJSON(path, want))
	var got admm.State
	if err := files.LoadJSON(path, &got); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v, %v", got, err)
	}
	must.Do(os.WriteFile(path, []byte(`{"round": 3, "plan": [1,`), 0o600))
	if err := files.LoadJSON(path, &got); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("half a file: %v", err)
	}
}

// A node's file is a spec that NewNode takes, or an error; never a panic.
func FuzzReadNode(f *testing.F) {
	f.Add([]byte(
		`{"id": {"side": 0, "index": 0}, "neighbours": [0, 2],
		"utilities": [{"kind": "log", "a": 1, "b": 2}, {"kind": "linear", "a": 3}],
		"min": 0, "max": 5, "rules": {}}`))
	f.Add([]byte(
		`{"id": {"side": 1, "index": -1}, "neighbours": [0], "utilities": [], "min": -1, "rules": {"eta": -1}}`))
	f.Add([]byte(`{"private": {"alpha": 1, "sensitivity": 5, "key": "00"}, "rules": {"rounds": 1}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "node.json")
		must.Do(os.WriteFile(path, b, 0o600))
		spec, rules, err := files.ReadNode(path)
		if err != nil {
			return
		}
		n, err := admm.NewNode(spec, rules)
		if err != nil {
			t.Fatalf("read, but %v", err)
		}
		if out, err := n.Answer(admm.Question{
			Round: 1,
			Eta:   1,
			Plan:  make([]float64, len(spec.Neighbours)),
			Price: make([]float64, len(spec.Neighbours)),
		}); err == nil && len(out) != len(spec.Neighbours) {
			t.Errorf("%d amounts for %d edges", len(out), len(spec.Neighbours))
		}
	})
}

// A budget that is changed in a node's file pays for what it now pays for, whatever was worked out before.
func TestBudgetIsChanged(t *testing.T) {
	dir := t.TempDir()
	p := admm.Problem{Graph: admm.Complete(1, 1), TargetBounds: []admm.Bounds{{Max: 1}}}
	private := &admm.Private{Budget: account.Budget{Alpha: 1, Epsilon: 7}, Slope: 5}
	must.Do(files.Write(dir, p, admm.ADMM{Rounds: 4}, private, rand.New(rand.NewPCG(1, 1))))
	path := files.NodePath(dir, admm.ID{})
	for i, c := range []struct {
		old, now string
		rounds   int
	}{{"", "", 7}, {`"epsilon": 7`, `"epsilon": 3`, 3}, {`"alpha": 1`, `"alpha": 0.5`, 6}} {
		b := must.Get(os.ReadFile(path))
		must.Do(os.WriteFile(path, []byte(strings.Replace(string(b), c.old, c.now, 1)), 0o600))
		s, _, err := files.ReadNode(path)
		if err != nil || s.Secret.Rounds != c.rounds {
			t.Errorf("%d: %+v, %v: want %d rounds", i, s.Secret, err, c.rounds)
		}
		l := must.Get(files.OpenLedger(filepath.Join(dir, "ledger.json"), path))
		if n := l.Rounds(); n != c.rounds {
			t.Errorf("%d: the ledger pays for %d rounds, want %d", i, n, c.rounds)
		}
		l.Close()
	}
}

// What could not run is not written.
func TestWriteRefusesWhatCannotRun(t *testing.T) {
	p := admm.Problem{Graph: admm.Complete(1, 1), TargetBounds: []admm.Bounds{{Max: 1}}}
	for _, a := range []admm.ADMM{{}, {Rounds: 9, Adapt: true}} {
		dir := t.TempDir()
		private := &admm.Private{Budget: account.Budget{Alpha: 1}, Slope: 5}
		err := files.Write(dir, p, a, private, rand.New(rand.NewPCG(1, 1)))
		if left, _ := os.ReadDir(dir); !errors.Is(err, admm.ErrParameter) || len(left) > 0 {
			t.Errorf("%+v: %v, and %d files", a, err, len(left))
		}
	}
}
