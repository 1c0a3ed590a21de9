package files_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/admm/files"
	"coupling/lab/must"
)

// owner is a folder with private nodes, and the paths of one node and its ledger.
func owner(t *testing.T, private admm.Private, rounds int) (dir, node, ledger string) {
	dir = t.TempDir()
	p := problem(admm.Linear{A: 2})
	must.Do(files.Write(dir, p, admm.ADMM{Rounds: rounds}, &private, rand.New(rand.NewPCG(1, 1))))
	return dir, files.NodePath(dir, admm.ID{}), filepath.Join(dir, "ledger", "target-0.json")
}

func open(t *testing.T, ledger, node string) *files.Ledger {
	l := must.Get(files.OpenLedger(ledger, node))
	t.Cleanup(func() { l.Close() })
	return l
}

// release is one of α and sensitivity on the degree of the node, the same message for the same number.
func release(node string, number int) admm.Release {
	s, _ := must.Get2(files.ReadNode(node))
	return admm.Release{
		ID:          [32]byte{byte(number), byte(number >> 8)},
		Round:       number,
		Alpha:       s.Secret.Alpha,
		Sensitivity: s.Secret.Sensitivity,
		Degree:      len(s.Neighbours),
	}
}

// A release is paid for once, over all runs; what the budget does not pay for to the end of the run is not begun.
func TestLedgerPaysOnce(t *testing.T) {
	_, node, path := owner(t, admm.Private{Budget: account.Budget{Alpha: 1, Epsilon: 7}, Slope: 5}, 5)
	l := open(t, path, node)
	for round := 1; round <= 3; round++ { // of 5; then the process ends
		must.Do(l.Pay(release(node, round), 5-round+1))
	}
	l.Close()
	l = open(t, path, node)
	if l.Releases() != 3 || l.Rounds() != 7 {
		t.Fatalf("%d releases and %d rounds, want 3 and 7", l.Releases(), l.Rounds())
	}
	for round := 1; round <= 5; round++ { // the same run again
		must.Do(l.Pay(release(node, round), 5-round+1))
	}
	before, _ := os.ReadFile(path)
	if err := l.Pay(release(node, 100), 5); !errors.Is(err, admm.ErrBudget) ||
		!strings.Contains(err.Error(), "after 5 releases it pays for 2") {
		t.Errorf("another run of 5 rounds with 2 left: %v", err)
	}
	if after, _ := os.ReadFile(path); l.Releases() != 5 || !bytes.Equal(before, after) {
		t.Errorf("a release that was refused is in the ledger")
	}
	for round, left := range []int{2, 1} {
		if err := l.Pay(release(node, 200+round), left); err != nil {
			t.Error(err)
		}
	}
	for _, rounds := range []int{1, 0, -5} {
		if err := l.Pay(release(node, 300), rounds); !errors.Is(err, admm.ErrBudget) {
			t.Errorf("nothing is left, for %d rounds: %v", rounds, err)
		}
	}
}

// What was released under other rules counts for what it costs now.
func TestLedgerOfOtherRules(t *testing.T) {
	dir, node, path := owner(t, admm.Private{Budget: account.Budget{Alpha: 1, Epsilon: 7}, Slope: 5}, 5)
	l := open(t, path, node)
	for number := range 2 {
		must.Do(l.Pay(release(node, number), 1))
	}
	l.Close()
	p, _, _, err := files.ReadProblem(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Of four parameters at once: twice the sensitivity, so that the two releases cost 2 each now;
	// 3 are left, for 6 of 0.5.
	private := admm.Private{Budget: account.Budget{Alpha: .5, Epsilon: 7}, Slope: 5, Parameters: 4}
	must.Do(files.Write(dir, p, admm.ADMM{Rounds: 5}, &private, rand.New(rand.NewPCG(1, 1))))
	if l = open(t, path, node); l.Rounds() != 6+2 {
		t.Errorf("%d rounds, want 6 and the 2 that were", l.Rounds())
	}
}

// A ledger that might not tell all is refused: cut off anywhere, changed anywhere, gone, of another node, in use.
func TestLedgerRefuses(t *testing.T) {
	dir, node, path := owner(t, admm.Private{Budget: account.Budget{Alpha: 1, Epsilon: 7}, Slope: 5}, 5)
	l := open(t, path, node)
	for number := range 3 {
		must.Do(l.Pay(release(node, number), 1))
	}
	refused := func(why, want string) {
		t.Helper()
		other, err := files.OpenLedger(path, node)
		if !errors.Is(err, files.ErrLedger) || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), want) {
			t.Fatalf("%s: %v, want %q", why, err, want)
		}
		if other != nil {
			t.Errorf("%s: a ledger with an error", why)
		}
	}
	refused("in use", "another process")
	l.Close()
	whole := must.Get(os.ReadFile(path))
	put := func(b []byte) {
		must.Do(os.WriteFile(path, b, 0o600))
	}
	for cut := range whole {
		put(whole[:cut])
		refused("cut off", "damaged")
	}
	for i := range whole {
		changed := bytes.Clone(whole)
		changed[i]++
		put(changed)
		refused("changed", "")
	}
	put(bytes.Replace(whole, []byte(`"round":1`), []byte(`"round":2`), 1))
	refused("changed", "checksum of its 3 entries")
	must.Do(os.Remove(path))
	refused("gone", "it is not there")
	another := filepath.Join(dir, "other.json")
	open(t, another, files.NodePath(dir, admm.ID{Side: admm.Source})).Close()
	b, _ := os.ReadFile(another)
	put(b)
	refused("of another node", "of source 0, not of target 0")
	put(whole)
	if l = open(t, path, node); l.Releases() != 3 {
		t.Errorf("put back: %d releases", l.Releases())
	}
}

// A node asks its ledger before it shares: two runs of a whole problem that are the same cost one,
// and one with another history is refused before it has told anything.
func TestLedgerOfRuns(t *testing.T) {
	dir, _, _ := owner(t, admm.Private{Budget: account.Budget{Alpha: 1, Epsilon: 5}, Slope: 5}, 5)
	run := func(change func(specs []admm.Spec)) (ledgers []*files.Ledger, err error) {
		p, specs, rules, err := files.ReadProblem(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range specs {
			l := must.Get(files.OpenLedger(filepath.Join(dir, "ledger", s.ID.String()), files.NodePath(dir, s.ID)))
			defer l.Close()
			ledgers = append(ledgers, l)
			specs[i].Secret.Ledger = l
		}
		change(specs)
		_, err = rules.SolveProtected(t.Context(), p, specs)
		return ledgers, err
	}
	for range 2 {
		ledgers := must.Get(run(func([]admm.Spec) {}))
		for i, l := range ledgers {
			if l.Releases() != 5 {
				t.Errorf("node %d made %d releases of 5", i, l.Releases())
			}
		}
	}
	// target 0 is the same and draws other noise
	ledgers, err := run(func(specs []admm.Spec) { specs[0].Secret.Key[0]++ })
	if !errors.Is(err, admm.ErrBudget) {
		t.Errorf("other noise: %v, want ErrBudget", err)
	}
	for i, l := range ledgers {
		if l.Releases() != 5 {
			t.Errorf("node %d made %d releases of 5", i, l.Releases())
		}
	}
}
