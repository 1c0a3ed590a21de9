package files

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/internal/check"
	"coupling/lab/durable"
)

// ErrLedger marks a ledger that cannot be trusted to list all that a node has released: it is gone,
// damaged, another's or in use.
var ErrLedger = errors.New("ledger cannot be used")

// lockTimeout is how long to wait for a ledger in use: its process may be about to end.
const lockTimeout = 2 * time.Second

// Ledger is a node's admm.Ledger in a file. Each entry is on the disk before its release is made:
// the file is replaced whole, flushed, and ends with a checksum, so that no crash leaves half of
// it. One process at a time has it. A release costs time in proportion to the entries. The lines of
// a dp/internal/journal would cost less, but a file of lines that was cut off between two of them
// looks whole, and this one does not.
//
// The node's file names its ledger, so that a lost ledger is not silently begun again. No file can
// notice that an old copy of both was put back.
type Ledger struct {
	path  string
	lock  *durable.Lock
	page  page
	known map[string]bool
	left  int // releases of the present kind that the budget pays for
}

// page is the file.
type page struct {
	Name     string  `json:"name"` // drawn when it was begun; the node's file repeats it
	Node     admm.ID `json:"node"`
	Releases []entry `json:"releases"`
	Sum      string  `json:"sum"` // SHA-256 of the file with no sum in it
}

type entry struct {
	ID          string  `json:"id"`
	Round       int     `json:"round"`
	Alpha       float64 `json:"alpha"`
	Sensitivity float64 `json:"sensitivity"`
	Degree      int     `json:"degree"`
}

// OpenLedger opens the ledger at path of the private node in a file (NodePath), and begins it if
// the node never had one. The budget of the node is for all that the ledger lists: what was
// released under other rules is converted to the change that the budget is about, and composed.
// Errors: ErrLedger, a node that is not private, those of reading and writing. Cost: seconds where
// the rules have changed.
func OpenLedger(path, nodePath string) (*Ledger, error) {
	var f node
	if err := LoadJSON(nodePath, &f); err != nil {
		return nil, err
	}
	if f.Private == nil {
		return nil, fmt.Errorf("%s: is not private and needs no ledger: %w", nodePath, admm.ErrParameter)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l := &Ledger{path: path, known: map[string]bool{}}
	var err error
	for until := time.Now().Add(lockTimeout); ; time.Sleep(lockTimeout / 40) {
		if l.lock, err = durable.TryLock(path + ".lock"); !errors.Is(err, durable.ErrLocked) ||
			time.Now().After(until) {
			break
		}
	}
	if err != nil {
		return nil, l.bad("%w", err)
	}
	if err := l.open(f, nodePath); err != nil {
		return nil, check.All(err, l.Close())
	}
	return l, nil
}

// Close unlocks the ledger.
func (l *Ledger) Close() error { return l.lock.Close() }

func (l *Ledger) bad(format string, args ...any) error {
	return fmt.Errorf("%s: %w: %w", l.path, ErrLedger, fmt.Errorf(format, args...))
}

// open reads or begins the file, and works out what is left.
func (l *Ledger) open(f node, nodePath string) error {
	b, err := os.ReadFile(l.path)
	switch {
	case err == nil:
		err = l.parse(b)
	case os.IsNotExist(err) && f.Private.Ledger != "":
		err = l.bad("it is not there, but %s names one: without it nobody knows what was released", nodePath)
	case os.IsNotExist(err):
		err = l.save(page{Name: rand.Text(), Node: f.ID, Releases: []entry{}})
	}
	if err != nil {
		return err
	}
	switch {
	case l.page.Node != f.ID:
		return l.bad("it is of %v, not of %v", l.page.Node, f.ID)
	case f.Private.Ledger == "":
		f.Private.Ledger = l.page.Name
		if err := SaveJSON(nodePath, f); err != nil {
			return err
		}
	case f.Private.Ledger != l.page.Name:
		return l.bad("it is not the one that %s had before", nodePath)
	}
	return l.balance(f)
}

func (l *Ledger) parse(b []byte) error {
	if err := json.Unmarshal(b, &l.page); err != nil {
		return l.bad("it is damaged or cut off: %w", err)
	}
	if again, err := l.page.encode(); err != nil || !bytes.Equal(again, b) { // to the last byte
		return l.bad("it is damaged: the checksum of its %d entries is not right", len(l.page.Releases))
	}
	for i, e := range l.page.Releases {
		if l.known[e.ID] || !(e.Alpha > 0 && e.Sensitivity > 0) || e.Degree < 1 {
			return l.bad("entry %d, %+v, cannot be", i+1, e)
		}
		l.known[e.ID] = true
	}
	return nil
}

// encode is the file, with its checksum.
func (p page) encode() ([]byte, error) {
	p.Sum = ""
	b, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	p.Sum = hex.EncodeToString(sum[:])
	b, err = json.Marshal(p)
	return append(b, '\n'), err
}

func (l *Ledger) save(p page) error {
	b, err := p.encode()
	if err != nil {
		return err
	}
	if err := Replace(l.path, b); err != nil {
		return err
	}
	l.page = p
	return nil
}

// balance works out how many releases the budget still pays for. An entry's α is the ε of a change
// that moves a decision by its Sensitivity/η; a change that moves it k times as far costs k times
// that.
func (l *Ledger) balance(f node) (err error) {
	s, times := f.Private, map[account.Past]int{}
	for _, e := range l.page.Releases {
		alpha := e.Alpha
		if e.Sensitivity != s.Sensitivity {
			alpha *= s.Sensitivity / e.Sensitivity
		}
		times[account.Past{Alpha: alpha, Degree: e.Degree}]++
	}
	kind := account.Past{Alpha: s.Alpha, Degree: len(f.Neighbours)}
	if n := times[kind]; n == len(l.page.Releases) { // the usual case, worked out before
		if pays, ok := s.rounds(len(f.Neighbours)); ok {
			l.left = max(0, pays-n)
			return nil
		}
	}
	var past []account.Past
	for p, n := range times {
		p.Times = n
		past = append(past, p)
	}
	slices.SortFunc(past,
		func(a, b account.Past) int { return cmp.Or(cmp.Compare(a.Alpha, b.Alpha), a.Degree-b.Degree) })
	l.left, err = s.Budget.After(past, len(f.Neighbours))
	return err
}

// Pay records a release, unless it was paid for; see admm.Ledger.
func (l *Ledger) Pay(r admm.Release, rounds int) error {
	id := hex.EncodeToString(r.ID[:])
	if l.known[id] {
		return nil
	}
	if l.left < max(rounds, 1) {
		return fmt.Errorf("%s: %w: this and later rounds are %d, after %d releases it pays for %d", l.path,
			admm.ErrBudget, rounds, len(l.page.Releases), l.left)
	}
	p := l.page
	p.Releases = append(p.Releases, entry{
		ID:          id,
		Round:       r.Round,
		Alpha:       r.Alpha,
		Sensitivity: r.Sensitivity,
		Degree:      r.Degree,
	})
	if err := l.save(p); err != nil {
		return fmt.Errorf("files: ledger: %w", err)
	}
	l.known[id], l.left = true, l.left-1
	return nil
}

// Rounds returns the most rounds that a run may have; see admm.Ledger.
func (l *Ledger) Rounds() int { return min(account.UnlimitedRounds, l.left+len(l.page.Releases)) }

// Releases returns how many releases were paid for.
func (l *Ledger) Releases() int { return len(l.page.Releases) }
