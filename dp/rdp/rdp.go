package rdp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/dp/internal/check"
	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// Conversion turns a Rényi divergence into ε at δ.
type Conversion int

const (
	// Tight is ε = ρ(α) + log(1 − 1/α) − (log δ + log α)/(α−1) (Canonne, Kamath, Steinke 2020).
	Tight Conversion = iota
	// Classical is ε = ρ(α) − log δ/(α−1) (Mironov 2017), for reproducing papers.
	Classical
)

// offset returns c(α) such that (α−1)·ε = K(α) + c(α) − log δ.
func (c Conversion) offset(beta float64) float64 {
	if c == Classical {
		return 0
	}
	// α log(1 − 1/α) − log(α−1) with α = 1 + β, which is β log β − (1+β) log(1+β): without the two
	// large terms that cancel.
	return -beta*math.Log1p(1/beta) - math.Log1p(beta)
}

// Accountant composes pairs by their Rényi divergences. The zero value searches for the best real order with the tight
// conversion. It is stateless and safe for concurrent use.
type Accountant struct {
	Conversion Conversion
	Orders     []float64 // if not empty, only these orders (> 1) are tried, as papers do
}

// Result is an upper bound with the order it was found at.
type Result struct {
	Upper float64 // of ε or of δ
	Order float64 // +Inf for pure differential privacy
}

// Name is "rdp".
func (Accountant) Name() string { return "rdp" }

// Bound returns an upper bound of ε or of δ, and no lower bound. Cost: some 60 moments of each
// step's pair, whatever the number of times. Errors: pair.ErrParameter, pair.ErrUnbounded.
func (a Accountant) Bound(ctx context.Context, steps []pair.Step, q pair.Question) (pair.Answer, error) {
	r, err := a.Search(ctx, steps, q)
	return pair.Answer{Interval: pair.Interval{Upper: r.Upper}, By: a.Name()}, err
}

// Search is Bound with the order of the best bound.
func (a Accountant) Search(ctx context.Context, steps []pair.Step, q pair.Question) (Result, error) {
	err := check.All(q.Check("rdp", steps), ctx.Err())
	for _, alpha := range a.Orders {
		err = check.All(err, check.In("rdp").Order(alpha))
	}
	if err != nil {
		return Result{}, err
	}
	m, lost := finite(steps)
	if q.Delta {
		r := a.delta(ctx, m, q.At, logspace.Log(max(0, q.Against-2*lost)))
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		r.Upper = min(1, r.Upper+lost)
		return r, nil
	}
	r := a.epsilon(ctx, m, max(0, q.At-lost))
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if math.IsInf(r.Upper, 1) || math.IsNaN(r.Upper) || q.At < lost {
		return Result{}, fmt.Errorf("rdp: eps at delta = %v: %w", q.At, pair.ErrUnbounded)
	}
	return r, nil
}

// finite returns the steps given that no loss is +Inf, and the probability, rounded up, that one
// is: all Rényi divergences would be infinite. With that probability P is the mixture of the two,
// so that δ(ε) exceeds that of these steps by no more.
func finite(steps []pair.Step) (m moments, lost float64) {
	m = slices.Clone(steps)
	survive := 0.0
	for i, s := range m {
		if d, ok := s.Pair.(*pair.Discrete); ok {
			m[i].Pair, lost = d.Finite()
			survive += float64(s.Times) * math.Log1p(-lost)
		}
	}
	return m, -math.Expm1(survive) * (1 + 1e-14)
}

// epsilon minimises ε(α), which at δ = 0 is the sum of the largest losses.
func (a Accountant) epsilon(ctx context.Context, m moments, delta float64) Result {
	pure := Result{Upper: pair.LargestLoss(m), Order: math.Inf(1)}
	if delta == 0 {
		return pure
	}
	logDelta := logspace.Log(delta) - 1e-15
	r := a.best(math.Inf(-1), func(beta float64) float64 {
		k := m.at(ctx, 1+beta)
		num := k + a.Conversion.offset(beta) - logDelta
		// Rounding of the sum, in units of its terms.
		return (num + 1e-15*(k+math.Abs(logDelta)+1+beta)) / beta
	})
	if a.Orders == nil && pure.Upper < r.Upper {
		r = pure
	}
	r.Upper = max(0, r.Upper)
	return r
}

// delta minimises δ(α), until it is at most e^enough: log δ(α) = K − βε + c(α) is convex in α.
func (a Accountant) delta(ctx context.Context, m moments, eps, enough float64) Result {
	if a.Orders == nil && pair.LargestLoss(m) <= eps {
		return Result{Order: math.Inf(1)}
	}
	r := a.best(enough-1e-9, func(beta float64) float64 {
		k := m.at(ctx, 1+beta)
		return k - beta*eps + a.Conversion.offset(beta) + 1e-15*(k+beta*eps+1+beta)
	})
	if math.IsNaN(r.Upper) {
		r.Upper = 0
	}
	r.Upper = pair.DeltaWithin(math.Inf(-1), max(r.Upper, -1e3)).Upper
	return r
}

// moments are checked steps.
type moments []pair.Step

// at returns an upper bound of K(α) of the composition, +Inf when ctx is done.
func (m moments) at(ctx context.Context, alpha float64) float64 {
	sum := 0.0
	for _, s := range m {
		if ctx.Err() != nil {
			return math.Inf(1)
		}
		k, bound := s.Pair.LogMoment(alpha)
		if math.IsNaN(k) || math.IsNaN(bound) {
			return math.Inf(1)
		}
		sum += float64(s.Times) * (k + bound)
	}
	return sum * (1 + 4e-16*float64(len(m)+1))
}

// best minimises a quasi-convex objective of β = α − 1, over the given orders or over all. The value is left in Upper.
func (a Accountant) best(enough float64, f func(beta float64) float64) Result {
	if len(a.Orders) > 0 {
		return bestOf(a.Orders, f)
	}
	// β is that of the rounded order, whose moment is taken: where β is 1e-13 the two differ by a
	// thousandth, and a bound from both would be too small.
	t, v := minimise(func(t float64) float64 { return f((1 + math.Exp(t)) - 1) }, logspace.Log(8), enough)
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
// by walking in growing steps until the minimum is bracketed, and golden section. It ends at a value of
// at most enough, and where that is finite once t is known to a hundredth. It returns only evaluated
// points, so the bound holds.
func minimise(f func(t float64) float64, start, enough float64) (t, v float64) {
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
	for step := 2.0; fl < fm && fm > enough && lo > -30; step *= 1.5 {
		hi, fh = mid, fm
		mid, fm = lo, fl
		lo = max(mid-step, -30)
		fl = at(lo)
	}
	for step := 2.0; fh < fm && fm > enough && hi < farthest; step *= 1.5 {
		lo, fl = mid, fm
		mid, fm = hi, fh
		hi = min(mid+step, farthest)
		fh = at(hi)
	}
	t, v = golden(at, lo, mid, hi, fm, enough)
	for _, e := range []struct{ t, v float64 }{{lo, fl}, {hi, fh}} {
		if e.v < v {
			t, v = e.t, e.v
		}
	}
	return t, v
}

// golden narrows lo < mid < hi with f(mid) at most the values at the ends.
func golden(f func(float64) float64, lo, mid, hi, fm, enough float64) (t, v float64) {
	tol := 1e-5
	if !math.IsInf(enough, -1) {
		tol = 1e-2
	}
	const g = 0.3819660112501051
	for hi-lo > tol && fm > enough {
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
