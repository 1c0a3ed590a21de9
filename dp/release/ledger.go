package release

import (
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"coupling/dp/internal/check"
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
	lock  *durable.Lock // of the file PATH.lock
	file  *os.File
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
	lock, err := durable.TryLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, check.All(err, lock.Close())
	}
	l := &Ledger{lock: lock, file: file}
	if err := l.read(path, of); err != nil {
		return nil, check.All(err, l.Close())
	}
	return l, nil
}

// read reads the marks. An incomplete first line is completed; an incomplete last one is dropped: its release had not been made.
func (l *Ledger) read(path, of string) error {
	content, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	head, rest, whole := strings.Cut(string(content), "\n")
	switch {
	case !whole && strings.HasPrefix(of, head):
		err := l.append(of[len(head):] + "\n")
		durable.SyncFolder(filepath.Dir(path)) // so that the file's name survives too
		return err
	case !whole || head != of:
		return fmt.Errorf("%s: it is of another run, of other %s: %w", path, differences(head, of), ErrLedger)
	}
	at := len(head) + 1
	for line := range strings.SplitAfterSeq(rest, "\n") {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		mark, ok := markOf(line, len(l.marks))
		if !ok {
			return fmt.Errorf("%s: line %d is %q: %w", path, len(l.marks)+2, line, ErrLedger)
		}
		l.marks = append(l.marks, mark)
		at += len(line)
	}
	return l.file.Truncate(int64(at))
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

// append writes to the end of the file and waits until it is on the disk.
func (l *Ledger) append(text string) error {
	if _, err := l.file.WriteString(text); err != nil {
		return err
	}
	return l.file.Sync()
}

func stepLine(k int, mark [32]byte) string { return fmt.Sprintf("step %d %x\n", k, mark) }

// markOf reads the line of step k.
func markOf(line string, k int) (mark [32]byte, ok bool) {
	var step int
	var b []byte
	if _, err := fmt.Sscanf(line, "step %d %x\n", &step, &b); err != nil || len(b) != len(mark) {
		return mark, false
	}
	mark = [32]byte(b)
	return mark, line == stepLine(k, mark)
}

// Steps is how many steps have been spent.
func (l *Ledger) Steps() int { return len(l.marks) }

// CanResume checks that a run may resume from a checkpoint after done releases, if its event
// accounts for the given total. The error wraps ErrLedger where the ledger has fewer releases than
// the checkpoint, and where it has more than are accounted for: the event of a shorter run would
// not cover them.
func (l *Ledger) CanResume(done, releases int) error {
	switch {
	case done > l.Steps():
		return fmt.Errorf("release: a checkpoint after %d releases, and %d in the ledger: %w", done, l.Steps(), ErrLedger)
	case l.Steps() > releases:
		return fmt.Errorf("release: %d releases in the ledger, and a run of %d, which would account for less than was spent: %w", l.Steps(), releases, ErrLedger)
	}
	return nil
}

// Spend makes sure that step k is in the ledger and on the disk. Steps are spent in order; a step
// already listed is not spent again. The error wraps ErrLedger if it is listed with another mark.
func (l *Ledger) Spend(k int, mark [32]byte) error {
	if k < len(l.marks) {
		if !hmac.Equal(mark[:], l.marks[k][:]) {
			return fmt.Errorf("release: step %d would release something other than it did before (other images, settings or rounding): %w", k, ErrLedger)
		}
		return nil
	}
	if k > len(l.marks) {
		return fmt.Errorf("release: step %d after %d steps in the ledger: %w", k, len(l.marks), ErrLedger)
	}
	if err := l.append(stepLine(k, mark)); err != nil {
		return err
	}
	l.marks = append(l.marks, mark)
	return nil
}

// Close closes the file and unlocks it.
func (l *Ledger) Close() error { return check.All(l.file.Close(), l.lock.Close()) }
