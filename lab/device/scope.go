package device

import "slices"

// Scope owns the arrays that are made on its device while it is the innermost one open:
//
//	defer dev.Scope().Close()
//
// frees every intermediate of a function. Keep lets a result live on.
type Scope struct {
	d      *Device
	arrays []*Array
}

// Scope opens a scope.
func (d *Device) Scope() *Scope {
	s := &Scope{d: d}
	d.scopes = append(d.scopes, s)
	return s
}

// Keep moves a, or the array that it views, to the enclosing scope, or to the caller if there is
// none, and returns it.
func (s *Scope) Keep(a *Array) *Array {
	owner := a.Owner()
	i := slices.Index(s.arrays, owner)
	if i < 0 {
		return a
	}
	s.arrays = slices.Delete(s.arrays, i, i+1)
	if at := slices.Index(s.d.scopes, s); at > 0 {
		outer := s.d.scopes[at-1]
		outer.arrays = append(outer.arrays, owner)
	}
	return a
}

// Owns reports whether Close would free a, or the array that it views.
func (s *Scope) Owns(a *Array) bool { return slices.Contains(s.arrays, a.Owner()) }

// Close frees what the scope still owns, the latest first. Scopes are closed in the reverse order of opening; nested
// scopes that a panic left open are closed too.
func (s *Scope) Close() {
	at := slices.Index(s.d.scopes, s)
	if at < 0 {
		panic("device: Scope.Close: scopes must be closed in the reverse order of opening")
	}
	for _, inner := range slices.Backward(s.d.scopes[at:]) {
		for _, a := range slices.Backward(inner.arrays) {
			if !a.freed {
				a.release()
			}
		}
		inner.arrays = nil
	}
	s.d.scopes = s.d.scopes[:at]
}
