package dpsinkhorn

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrLedger marks a ledger that is not of this run, or that lacks steps which were taken.
var ErrLedger = errors.New("ledger of another run")

// Ledger is the file of what a run has spent: a line that says of which run, and a line for each step, synced to the
// disk before the step looks at a private image. So it never tells less than what was released, whoever is killed when.
// A step that is in it may be played again, with the same batch and noise, and costs nothing: see Key.
type Ledger struct {
	file  *os.File
	steps int
}

// OpenLedger opens or begins the ledger at path of the run that the line of identifies. The error wraps ErrLedger where
// the file is another run's.
func OpenLedger(path, of string) (*Ledger, error) {
	if bytes.ContainsRune([]byte(of), '\n') {
		return nil, bad("of = %q: must be one line", of)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	l := &Ledger{file: f}
	if err := l.read(path, of); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// read counts the steps; a last line that was cut short was of a step that had not begun.
func (l *Ledger) read(path, of string) error {
	r := bufio.NewReader(l.file)
	head, err := r.ReadString('\n')
	if errors.Is(err, io.EOF) {
		if head != "" && !bytes.HasPrefix([]byte(of+"\n"), []byte(head)) {
			return fmt.Errorf("%s: %w", path, ErrLedger)
		}
		return l.begin(path, of)
	}
	if err != nil {
		return err
	}
	if head != of+"\n" {
		return fmt.Errorf("%s: it says %q, this run is %q: %w", path, bytes.TrimSpace([]byte(head)), of, ErrLedger)
	}
	at := int64(len(head))
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if line != stepLine(l.steps) {
			return fmt.Errorf("%s: line %d is %q: %w", path, l.steps+2, line, ErrLedger)
		}
		l.steps++
		at += int64(len(line))
	}
	if err := l.file.Truncate(at); err != nil {
		return err
	}
	_, err = l.file.Seek(at, io.SeekStart)
	return err
}

func (l *Ledger) begin(path, of string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if _, err := l.file.WriteAt([]byte(of+"\n"), 0); err != nil {
		return err
	}
	if _, err := l.file.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path)) // so that the file's name survives too
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func stepLine(k int) string { return fmt.Sprintf("step %d\n", k) }

// Steps is how many steps have been spent.
func (l *Ledger) Steps() int { return l.steps }

// Spend makes sure that step k is in the ledger and on the disk. Steps are spent in order; one that is there already
// is not spent again.
func (l *Ledger) Spend(k int) error {
	if k < l.steps {
		return nil
	}
	if k > l.steps {
		return fmt.Errorf("dpsinkhorn: step %d after %d steps in the ledger: %w", k, l.steps, ErrLedger)
	}
	if _, err := l.file.WriteString(stepLine(k)); err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	l.steps++
	return nil
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }
