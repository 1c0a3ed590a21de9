package closed

import (
	"math"

	"coupling/dp/pair"
)

// product is the composition of a few pairs on few points, point by point, at ε + shift to allow
// for the error of losses.
type product struct {
	*pair.Discrete
	shift float64
}

// maxProduct bounds the points.
const maxProduct = 1 << 13

// asProduct recognises such a composition, and returns two profiles that enclose its own.
func asProduct(steps []pair.Step) (lo, hi product, ok bool) {
	points := 1.0
	var all *pair.Discrete
	for _, s := range steps {
		d, is := s.Pair.(*pair.Discrete)
		if !is {
			return lo, hi, false
		}
		points *= math.Pow(float64(len(d.Points())), float64(s.Times))
		if !(points <= maxProduct) && (len(steps) > 1 || s.Times > 1) {
			return lo, hi, false
		}
		for range s.Times {
			if all == nil {
				all = d
			} else {
				all = pair.Product(all, d)
			}
		}
	}
	return product{all, all.LossErr()}, product{all, -all.LossErr()}, true
}

// LogDelta is that of the points. At ε = 0 it uses their differences, not their losses.
func (p product) LogDelta(eps float64) float64 { return p.Discrete.LogDelta(max(0, eps+p.shift)) }

// RelErr is that of sums of products.
func (p product) RelErr() float64 { return 2e-14 * float64(len(p.Points())) }
