package rdp

import (
	"math"
)

// best minimises a quasi-convex objective of β = α − 1, over the given orders or over all. The value is left in Upper.
func (a Accountant) best(f func(beta float64) float64) Result {
	if len(a.Orders) > 0 {
		return bestOf(a.Orders, f)
	}
	t, v := minimise(func(t float64) float64 { return f(math.Exp(t)) }, math.Log(8))
	return Result{Upper: v, Order: 1 + math.Exp(t)}
}

// bestOf tries given orders.
func bestOf(orders []float64, f func(beta float64) float64) Result {
	r := Result{Upper: math.Inf(1), Order: orders[0]}
	for _, alpha := range orders {
		if v := f(alpha - 1); v < r.Upper {
			r = Result{Upper: v, Order: alpha}
		}
	}
	return r
}

// farthest bounds |t|: β from 1e-13 to 1e26, beyond which 1 + β or the moments have no digits left.
const farthest = 60

// minimise finds the least value of a quasi-convex function of t, which may be +Inf to the right,
// by walking in growing steps until the minimum is bracketed, and golden section. It returns only
// evaluated points, so the bound holds.
func minimise(f func(t float64) float64, start float64) (t, v float64) {
	at := func(t float64) float64 {
		v := f(t)
		if math.IsNaN(v) {
			return math.Inf(1)
		}
		return v
	}
	mid, fm := start, at(start)
	for math.IsInf(fm, 1) && mid > -30 { // moments may exist only near order 1
		mid -= 1.5
		fm = at(mid)
	}
	lo, hi := mid-1, mid+1
	fl, fh := at(lo), at(hi)
	for step := 2.0; fl < fm && lo > -30; step *= 1.5 {
		hi, fh = mid, fm
		mid, fm = lo, fl
		lo = max(mid-step, -30)
		fl = at(lo)
	}
	for step := 2.0; fh < fm && hi < farthest; step *= 1.5 {
		lo, fl = mid, fm
		mid, fm = hi, fh
		hi = min(mid+step, farthest)
		fh = at(hi)
	}
	t, v = golden(at, lo, mid, hi, fm)
	for _, e := range []struct{ t, v float64 }{{lo, fl}, {hi, fh}} {
		if e.v < v {
			t, v = e.t, e.v
		}
	}
	return t, v
}

// golden narrows lo < mid < hi with f(mid) at most the values at the ends.
func golden(f func(float64) float64, lo, mid, hi, fm float64) (t, v float64) {
	const g = 0.3819660112501051
	for hi-lo > 1e-5 {
		var x float64
		if hi-mid > mid-lo {
			x = mid + g*(hi-mid)
		} else {
			x = mid - g*(mid-lo)
		}
		fx := f(x)
		switch {
		case fx < fm && x > mid:
			lo, mid, fm = mid, x, fx
		case fx < fm:
			hi, mid, fm = mid, x, fx
		case x > mid:
			hi = x
		default:
			lo = x
		}
	}
	return mid, fm
}
