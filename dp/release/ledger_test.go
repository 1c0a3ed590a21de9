package release

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab/must"
)

// A line that was cut short is of a step that had not begun; one that lacks only its end counts.
func TestLedgerCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	mark := [][32]byte{{1}, {2}, {3}}
	whole := "run\n" + written(0, mark[0]) + written(1, mark[1])
	for cut := range len(whole) {
		must.Do(os.WriteFile(path, []byte(whole[:cut]), 0o666))
		l, err := OpenLedger(path, "run")
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		want := max(0, (cut+1-len("run\n"))/len(written(0, mark[0])))
		if l.Steps() != want {
			t.Errorf("cut at %d: %d steps, want %d", cut, l.Steps(), want)
		}
		must.Do(l.Spend(want, mark[want]))
		must.Do(l.Close())
		b, _ := os.ReadFile(path)
		if !strings.HasSuffix(string(b), "\n"+written(want, mark[want])) {
			t.Errorf("cut at %d: %q", cut, b)
		}
	}
}

// Whatever is in the file, a ledger is refused or counts the steps that stand in it in order, and goes on from there.
func FuzzLedger(f *testing.F) {
	zero, two := written(0, [32]byte{}), written(2, [32]byte{7})
	for _, seed := range []string{"", "run", "run\n", "run\n" + zero, "run\n" + zero + two, "run\n" + zero + "st",
		"walk\n" + zero, "run\nstep 0\n", "run\n" + strings.ToUpper(zero), "run\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "ledger")
		must.Do(os.WriteFile(path, content, 0o666))
		l, err := OpenLedger(path, "run")
		if err != nil {
			if !errors.Is(err, ErrLedger) {
				t.Fatal(err)
			}
			return
		}
		k := l.Steps()
		must.Do(l.Spend(k, [32]byte{9}))
		must.Do(l.Close())
		again := must.Get(OpenLedger(path, "run"))
		defer func() { _ = again.Close() }()
		if again.Steps() != k+1 {
			t.Errorf("%q: %d steps, and after one more %d", content, k, again.Steps())
		}
	})
}

// Two processes, or two runs of one, never write to one ledger at once.
func TestLedgerIsOnes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	one := must.Get(OpenLedger(path, "run"))
	if _, err := OpenLedger(path, "run"); !errors.Is(err, ErrBusy) {
		t.Errorf("opened twice: %v", err)
	}
	must.Do(errors.Join(one.Spend(0, [32]byte{1}), one.Close()))
	two := must.Get(OpenLedger(path, "run"))
	if err := two.Spend(0, [32]byte{2}); !errors.Is(err, ErrLedger) {
		t.Errorf("another release in its place: %v", err)
	}
	must.Do(two.Close())
}

// A run goes on where the ledger has all steps of its checkpoint, and no more than it accounts for.
func TestCanResume(t *testing.T) {
	l := &Ledger{marks: make([][32]byte, 5)}
	for _, c := range []struct {
		done, steps int
		refused     bool
	}{{0, 5, false}, {5, 5, false}, {3, 9, false}, {6, 9, true}, {0, 4, true}, {4, 4, true}} {
		if err := l.CanResume(c.done, c.steps); errors.Is(err, ErrLedger) != c.refused || (err != nil) != c.refused {
			t.Errorf("a checkpoint of %d for %d steps: %v", c.done, c.steps, err)
		}
	}
}

// written is the line of a step as it is in the file.
func written(k int, mark [32]byte) string { return stepLine(k, mark) + "\n" }
