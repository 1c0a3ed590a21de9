package store

import "runtime"

// What the tests of package store_test see, which need experiments.

var DecodeRecord = decodeRecord

// Paths are files of a cell.
type Paths struct{ Dir, Base, Record, Scratch, Lock string }

func (s *Store) Paths(r Record) Paths {
	p := s.paths(r)
	return Paths{p.dir, p.base, p.record, p.scratch, p.lock}
}

// Hold locks a cell, as another process would.
func (s *Store) Hold(r Record) (release func(), err error) {
	p := s.paths(r)
	if err := s.create(p); err != nil {
		return nil, err
	}
	l, err := p.tryLock(r)
	return l.release, err
}

// Pretend makes this a program whose functions have this digest, or if empty none.
func Pretend(digest string) (undo func()) {
	before := digestOf
	digestOf = func(runtime.Frame) (string, error) { return digest, nil }
	return func() { digestOf = before }
}
