package simplex

// A Wide is the unevaluated sum of two float64, some 106 bits, so that sums along a tree are right
// to the last bit.
type Wide struct{ Hi, lo float64 }

// Add returns w + x by the error-free sum of Knuth, renormalised.
func (w Wide) Add(x float64) Wide {
	s := w.Hi + x
	t := s - w.Hi
	e := (w.Hi - (s - t)) + (x - t) + w.lo
	hi := s + e
	return Wide{hi, e - (hi - s)}
}

// Neg returns −w.
func (w Wide) Neg() Wide { return Wide{-w.Hi, -w.lo} }
