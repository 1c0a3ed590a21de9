package closed

import (
	"math"

	"coupling/dp/pair"
)

// A walk is the composition of a pair on three points of losses −a, 0 and a with itself, such as randomised response on batches of fixed
// size under substitution: the loss of T steps is a·m, where m is a random walk,
//
//	δ(ε) = Σ_{m > ε/a} c_m (1 − e^{ε−a·m}),   Σ_m c_m x^m = (r/x + q + p·x)^T.
//
// With g = r + q·x + p·x², f = g^T satisfies f′·g = T·g′·f, which is a recurrence of the c_m; from the top down to m = 0 all its terms are
// positive:
//
//	(T−m)·p·c_{m} … (T−m+1)·p·c_{m−1} = m·q·c_m + (T+m+1)·r·c_{m+1}.
type walk struct {
	times    float64
	loss     float64 // a
	shift    float64 // of ε, for the rounding of losses: to either side
	first    int     // m of the first mass
	mass     []float64
	block    []int32 // masses are to be multiplied by 2^(blockBits·block)
	logScale float64
	rel      float64
}

const (
	blockBits = 512
	// maxWalk keeps the recurrence within half a second.
	maxWalk = 50_000_000
)

// asWalk recognises such a composition, and returns two profiles that enclose its own.
func asWalk(steps []pair.Step) (lo, hi walk, ok bool) {
	first, times := onePair(steps, maxWalk)
	if first == nil {
		return lo, hi, false
	}
	pts := first.Points()
	if len(pts) != 3 || pts[1].Loss != 0 || math.IsInf(pts[2].Loss, 0) {
		return lo, hi, false
	}
	a, b := pts[2].Loss, -pts[0].Loss
	if !(math.Abs(a-b) <= 1e-14*a) || !(pts[0].P > 0 && pts[1].P > 0 && pts[2].P > 0) {
		return lo, hi, false
	}
	hi = newWalk(times, a, pts[2].P, pts[1].P, pts[0].P)
	hi.shift = -2e-14 * a * float64(times)
	lo = hi
	lo.shift = -hi.shift
	return lo, hi, true
}

// newWalk follows the recurrence, and keeps the masses within at least 40 standard deviations.
func newWalk(times int, loss, p, q, r float64) walk {
	n := float64(times)
	mean, sd := n*(p-r), math.Sqrt(n*(p+r-(p-r)*(p-r)))
	low := int(max(0, math.Floor(mean-40*sd-800)))
	high := int(min(n, math.Ceil(mean+40*sd+800)))
	w := walk{times: n, loss: loss, first: low, logScale: n * math.Log(p)}
	w.mass, w.block = make([]float64, max(0, high-low+1)), make([]int32, max(0, high-low+1))
	const up, down = 0x1p+512, 0x1p-512
	c, above, block := 1.0, 0.0, int32(0)
	for m := times; m >= low; m-- {
		if m <= high {
			w.mass[m-low], w.block[m-low] = c, block
		}
		x := float64(m)
		c, above = (x*q*c+(n+x+1)*r*above)/((n-x+1)*p), c
		if c > up {
			c, above, block = c*down, above*down, block+1
		}
	}
	// Every step of the recurrence has six roundings, and so have the probabilities.
	w.rel = 1e-13 + n*1.2e-16*(10+2*math.Abs(math.Log(p)))
	return w
}

// RelErr is that of the recurrence: its terms are positive.
func (w walk) RelErr() float64 { return w.rel }

// LogDelta sums from the first m whose loss exceeds ε, or from where the probabilities below are less than e^−800.
func (w walk) LogDelta(eps float64) float64 {
	eps += w.shift
	at := max(w.first, int(min(math.Floor(eps/w.loss), w.times))) // one term too early is 0
	if at-w.first >= len(w.mass) {
		if w.first+len(w.mass) > int(w.times) {
			return math.Inf(-1)
		}
		if w.shift > 0 {
			return math.Inf(-1)
		}
		return -790 // beyond 40 standard deviations
	}
	sum, base := 0.0, w.block[at-w.first]
	small := 0
	for i := at - w.first; i < len(w.mass); i++ {
		c := w.mass[i]
		if d := w.block[i] - base; d != 0 {
			if d < -2 {
				break
			}
			c = math.Ldexp(c, blockBits*int(d))
		}
		term := 0.0
		if excess := w.loss*float64(w.first+i) - eps; excess > 0 {
			term = -c * math.Expm1(-excess)
		}
		sum += term
		if small++; term > 1e-22*sum {
			small = 0
		}
		if small > 3 && sum > 0 {
			break
		}
	}
	return min(0, w.logScale+blockBits*math.Ln2*float64(base)+math.Log(sum))
}
