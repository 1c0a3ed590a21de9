package exact

// A wide is the unevaluated sum of two float64, some 106 bits, so that sums along a tree are right
// to the last bit.
type wide struct{ hi, lo float64 }

// add returns w + x by the error-free sum of Knuth, renormalised.
func (w wide) add(x float64) wide {
	s := w.hi + x
	t := s - w.hi
	e := (w.hi - (s - t)) + (x - t) + w.lo
	hi := s + e
	return wide{hi, e - (hi - s)}
}

func (w wide) neg() wide { return wide{-w.hi, -w.lo} }
