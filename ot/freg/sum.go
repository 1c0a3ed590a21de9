package freg

import "math"

// sum is a compensated sum (Neumaier 1974).
type sum struct{ hi, lo float64 }

func (s *sum) add(v float64) {
	t := s.hi + v
	if math.Abs(s.hi) >= math.Abs(v) {
		s.lo += (s.hi - t) + v
	} else {
		s.lo += (v - t) + s.hi
	}
	s.hi = t
}

func (s *sum) value() float64 { return s.hi + s.lo }

// dot returns Σ x_k y_k, compensated.
func dot(x, y []float64) float64 {
	var s sum
	for k, v := range x {
		s.add(v * y[k])
	}
	return s.value()
}
