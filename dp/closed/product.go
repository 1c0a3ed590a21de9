package closed

import (
	"math"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// product is the composition of a few pairs on few points, point by point, at ε + shift to allow
// for the rounding of losses.
type product struct {
	*pair.Discrete
	shift float64
}

// maxProduct bounds the points.
const maxProduct = 1 << 13

// asProduct recognises such a composition, and returns two profiles that enclose its own.
func asProduct(steps []pair.Step) (lo, hi product, ok bool) {
	points, size := 1.0, 0.0
	var all *pair.Discrete
	for _, s := range steps {
		d, is := s.Pair.(*pair.Discrete)
		if !is {
			return lo, hi, false
		}
		if points *= math.Pow(float64(len(d.Points())), float64(s.Times)); !(points <= maxProduct) {
			return lo, hi, false
		}
		for _, a := range d.Points() {
			if l := math.Abs(a.Loss); !math.IsInf(l, 0) {
				size = max(size, l)
			}
		}
		for range s.Times {
			if all == nil {
				all = d
			} else {
				all = pair.Product(all, d)
			}
		}
	}
	steep := 1e-15 * size * logspace.Log(points+1) / math.Ln2 // a step that is no certainty has two points at least
	return product{all, steep}, product{all, -steep}, true
}

// LogDelta is that of the points. At ε = 0 it uses their differences, not their losses.
func (p product) LogDelta(eps float64) float64 { return p.Discrete.LogDelta(max(0, eps+p.shift)) }

// RelErr is that of sums of products.
func (p product) RelErr() float64 { return 2e-14 * float64(len(p.Points())) }
