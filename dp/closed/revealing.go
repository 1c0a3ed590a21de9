package closed

import (
	"math"

	"coupling/dp/pair"
)

// revealing is the composition of pairs on two points, one of which is impossible under P or under
// Q, such as a sampled bit reported truthfully. With hit the probability under P of an outcome that
// is impossible under Q, and loss the sum of the other steps' losses,
//
//	δ(ε) = hit + (1 − hit) max(0, 1 − e^(ε−loss)).
type revealing struct {
	hit  float64 // log of the probability
	miss float64 // log of its complement
	loss float64
}

// asRevealing recognises such a composition and returns two profiles that enclose its own.
func asRevealing(steps []pair.Step) (lo, hi revealing, ok bool) {
	miss, loss, size := 0.0, 0.0, 0.0
	for _, s := range steps {
		d, is := s.Pair.(*pair.Discrete)
		if !is {
			return lo, hi, false
		}
		pts := d.Points()
		if len(pts) != 2 {
			return lo, hi, false
		}
		n, low, high := float64(s.Times), pts[0], pts[1]
		shown, impossible := math.IsInf(high.Loss, 1), math.IsInf(low.Loss, -1)
		switch {
		case shown:
			miss += n * math.Log1p(-min(1, high.P))
			if !impossible {
				loss, size = loss+n*low.Loss, size+n*math.Abs(low.Loss)
			}
		case impossible:
			loss, size = loss+n*high.Loss, size+n*math.Abs(high.Loss)
		default:
			return lo, hi, false
		}
	}
	// Sums of len(steps) terms of relative error 1e-15.
	room := 1e-15 * float64(len(steps)+4) * size
	at := func(loss float64) revealing {
		return revealing{hit: math.Log(-math.Expm1(miss)), miss: miss, loss: loss}
	}
	return at(loss - room), at(loss + room), true
}

// RelErr is that of the probabilities: the error of log(1 − hit) moves either by no more than itself, relatively, as long as that is
// not large, and at large ones hit is 1.
func (r revealing) RelErr() float64 { return 1e-12 }

// LogDelta is the formula above.
func (r revealing) LogDelta(eps float64) float64 {
	rest := 0.0
	if excess := r.loss - eps; excess > 0 {
		rest = math.Exp(r.miss) * -math.Expm1(-excess)
	}
	return min(0, math.Log(math.Exp(r.hit)+rest))
}
