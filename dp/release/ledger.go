package release

import (
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"coupling/dp/internal/journal"
	"coupling/lab/durable"
)

// ErrLedger marks a ledger that belongs to another run, or lacks steps that were taken.
var ErrLedger = errors.New("ledger of another run")

// ErrBusy marks a ledger that another process, or another run in this one, has open.
var ErrBusy = durable.ErrLocked

// Ledger is the file of a run's spent releases: a line that identifies the run, and for each
// release a line with its mark (Key.Mark), synced to the disk before Run.Release returns it. So it
// lists every release, at whatever point the process is killed. A listed release may be repeated at
// no cost if it has the same mark; with another mark it would be another release, and is refused.
type Ledger struct {
	log   *journal.Journal
	marks [][32]byte
}

// OpenLedger opens or creates the ledger at path for the run that the line of identifies, and locks
// it until Close: two processes that resumed from the same step would overwrite each other's marks,
// while the costs of their releases add up. The error wraps ErrLedger where the file belongs to
// another run, and ErrBusy where another process has it open.
func OpenLedger(path, of string) (*Ledger, error) {
	if strings.Contains(of, "\n") {
		return nil, bad("of = %q: must be one line", of)
	}
	l := &Ledger{}
	var err error
	l.log, err = journal.Open(path, of, func(line string) error {
		mark, ok := markOf(line, len(l.marks))
		if !ok {
			return fmt.Errorf("%q is not step %d: %w", line, len(l.marks), ErrLedger)
		}
		l.marks = append(l.marks, mark)
		return nil
	})
	if other := new(journal.OtherError); errors.As(err, &other) {
		return nil, fmt.Errorf("%s: it is of another run, of other %s: %w", path,
			differences(other.Head, of), ErrLedger)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// differences names the members of two JSON objects that differ.
func differences(a, b string) string {
	var one, two map[string]any
	if json.Unmarshal([]byte(a), &one) != nil || json.Unmarshal([]byte(b), &two) != nil {
		return "settings"
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(two)) {
		if !reflect.DeepEqual(one[name], two[name]) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func stepLine(k int, mark [32]byte) string { return fmt.Sprintf("step %d %x", k, mark) }

// markOf reads the line of step k.
func markOf(line string, k int) (mark [32]byte, ok bool) {
	var step int
	var b []byte
	if _, err := fmt.Sscanf(line, "step %d %x", &step, &b); err != nil || len(b) != len(mark) {
		return mark, false
	}
	mark = [32]byte(b)
	return mark, line == stepLine(k, mark)
}

// Steps returns the number of steps that have been spent.
func (l *Ledger) Steps() int { return len(l.marks) }

// CanResume checks that a run may resume from a checkpoint after done releases, if its event
// accounts for the given total. The error wraps ErrLedger where the ledger has fewer releases than
// the checkpoint, and where it has more than are accounted for: the event of a shorter run would
// not cover them.
func (l *Ledger) CanResume(done, releases int) error {
	switch {
	case done > l.Steps():
		return fmt.Errorf("release: a checkpoint after %d releases, and %d in the ledger: %w", done,
			l.Steps(), ErrLedger)
	case l.Steps() > releases:
		return fmt.Errorf(
			"release: %d releases in the ledger, and a run of %d, which would account for less than was spent: %w",
			l.Steps(), releases, ErrLedger)
	}
	return nil
}

// Spend makes sure that step k is in the ledger and on the disk. Steps are spent in order; a step
// already listed is not spent again. The error wraps ErrLedger if it is listed with another mark.
func (l *Ledger) Spend(k int, mark [32]byte) error {
	if k < len(l.marks) {
		if !hmac.Equal(mark[:], l.marks[k][:]) {
			return fmt.Errorf(
				"release: step %d would release something other than it did before (other images, settings or "+
					"rounding): %w", k, ErrLedger)
		}
		return nil
	}
	if k > len(l.marks) {
		return fmt.Errorf("release: step %d after %d steps in the ledger: %w", k, len(l.marks), ErrLedger)
	}
	if err := l.log.Append(stepLine(k, mark)); err != nil {
		return err
	}
	l.marks = append(l.marks, mark)
	return nil
}

// Close closes the file and unlocks it.
func (l *Ledger) Close() error { return l.log.Close() }
