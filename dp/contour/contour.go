package contour

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"coupling/dp/pair"
)

// Accountant composes Gaussian mixture pairs by a contour integral. The zero value is ready to use; it is stateless
// and safe for concurrent use.
type Accountant struct {
	// Tol is the relative width wanted of a certified δ, 1e-11 if zero, and at least 1e-13. It steers where the
	// contour is cut off; rounding is always counted, and widens the bounds beyond Tol where it must.
	Tol float64
	// Work limits the evaluations of the integrand, 3e7 (about one second) if zero. Beyond it the answer is ErrDecay.
	Work int
	// Order is where to look for the saddle point first, 1 if zero: that of a similar composition, see Accountant.Saddle. It saves time only.
	Order float64
}

// Name is "contour".
func (Accountant) Name() string { return "contour" }

// Delta returns certified bounds of δ(ε) = H_{exp(ε)}(P‖Q) of the composition of steps, for finite ε ≥ 0, in the
// direction of the pairs: the guarantee of a symmetric relation is the larger of the two directions.
//
// Where δ underflows, Upper is the smallest positive number. Errors: ErrInvalid, ErrUnsupported, ErrAtoms, ErrDecay, ErrCost.
// Cost: some 50 to 1,000 nodes of the contour, each a sum over 100 to 1,000 nodes in x per distinct step,
// independent of Times.
func (a Accountant) Delta(steps []pair.Step, eps float64) (pair.Interval, error) {
	return a.DeltaContext(context.Background(), steps, eps)
}

// DeltaContext is Delta, ended with the error of ctx when that is done.
func (a Accountant) DeltaContext(ctx context.Context, steps []pair.Step, eps float64) (pair.Interval, error) {
	if eps < 0 {
		return pair.Interval{}, fmt.Errorf("contour: eps = %v: must be at least 0 (LogDelta takes any): %w", eps, ErrInvalid)
	}
	lo, hi, err := a.logDelta(ctx, steps, eps)
	if err != nil {
		return pair.Interval{}, err
	}
	return pair.Interval{
		Lower: min(1, math.Exp(lo)*(1-4*ulp)),
		Upper: max(math.SmallestNonzeroFloat64, min(1, math.Exp(hi)*(1+4*ulp))),
	}, nil
}

// LogDelta is Delta in logarithms, for δ below the range of float64, and for any finite ε, negative too. Lower may be −Inf.
func (a Accountant) LogDelta(steps []pair.Step, eps float64) (pair.Interval, error) {
	lo, hi, err := a.logDelta(context.Background(), steps, eps)
	return pair.Interval{Lower: lo, Upper: min(hi, 0)}, err
}

func (a Accountant) logDelta(ctx context.Context, steps []pair.Step, eps float64) (lo, hi float64, err error) {
	if math.IsNaN(eps) || math.IsInf(eps, 0) {
		return 0, 0, fmt.Errorf("contour: eps = %v: must be finite: %w", eps, ErrInvalid)
	}
	parts, err := a.parts(steps, negligibleAt(steps, eps))
	if err != nil {
		return 0, 0, err
	}
	s, err := a.saddle(parts, eps)
	if err != nil {
		return 0, 0, err
	}
	c, err := newContour(ctx, parts, s, eps, a.tol(), a.work())
	if err != nil {
		return 0, 0, err
	}
	lo, hi = c.log(eps)
	return lo, hi, checkBounds(lo, hi)
}

// checkBounds refuses what rounding has made meaningless.
func checkBounds(lo, hi float64) error {
	if math.IsNaN(hi) || math.IsNaN(lo) || math.IsInf(hi, 0) || lo > hi {
		return fmt.Errorf("contour: log δ in [%v, %v] after rounding: %w", lo, hi, ErrCost)
	}
	return nil
}

// Epsilon returns certified bounds of the least ε ≥ 0 with δ(ε) ≤ delta of the composition of steps, for delta in (0, 1).
// The composition is (Upper, delta)-DP in the direction of the pairs, and not (ε, delta)-DP for any 0 ≤ ε < Lower.
//
// Errors and cost are those of Delta.
func (a Accountant) Epsilon(steps []pair.Step, delta float64) (pair.Interval, error) {
	return a.EpsilonContext(context.Background(), steps, delta)
}

// EpsilonContext is Epsilon, ended with the error of ctx when that is done.
func (a Accountant) EpsilonContext(ctx context.Context, steps []pair.Step, delta float64) (pair.Interval, error) {
	if !(delta > 0 && delta < 1) {
		return pair.Interval{}, fmt.Errorf("contour: delta = %v: must be in (0, 1): %w", delta, ErrInvalid)
	}
	want := math.Log(delta)
	parts, err := a.parts(steps, negligibleFor(steps, want))
	if err != nil {
		return pair.Interval{}, err
	}
	v, err := a.epsilon(ctx, parts, want)
	if trimmed(parts) && (err != nil || v.Upper > mostTrimmed) {
		if parts, err = a.parts(steps, nothing); err != nil {
			return pair.Interval{}, err
		}
		return a.epsilon(ctx, parts, want)
	}
	return v, err
}

func (a Accountant) parts(steps []pair.Step, n negligible) ([]part, error) {
	if !(a.Tol >= 0) || a.Tol >= 1 || a.Work < 0 {
		return nil, fmt.Errorf("contour: Tol = %v, Work = %v: Tol must be in [0, 1), Work at least 0: %w", a.Tol, a.Work, ErrInvalid)
	}
	if !(a.Order >= 0) || math.IsInf(a.Order, 1) {
		return nil, fmt.Errorf("contour: Order = %v: must be at least 0 and finite: %w", a.Order, ErrInvalid)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("contour: steps is empty: %w", ErrInvalid)
	}
	var parts []part
	var failed []error
	for i, t := range steps {
		if t.Times < 1 || t.Times > 1e12 {
			return nil, fmt.Errorf("contour: steps[%d].Times = %d: must be in [1, 1e12]: %w", i, t.Times, ErrInvalid)
		}
		p, err := newScaled(t.Pair, n)
		if err != nil {
			failed = append(failed, fmt.Errorf("steps[%d]: %w", i, err))
			continue
		}
		if i := slices.IndexFunc(parts, func(o part) bool { return o.pair.same(p) }); i >= 0 {
			parts[i].times += float64(t.Times)
			continue
		}
		parts = append(parts, part{pair: p, times: float64(t.Times)})
	}
	for i := range parts {
		parts[i].digits = a.digits() + math.Log(parts[i].times)
	}
	return parts, errors.Join(failed...)
}

// digits is the accuracy (−log) that ΣT·K needs; that of the quadrature is counted in the bounds.
func (a Accountant) digits() float64 {
	if a.Tol >= 1e-4 {
		return 11 - math.Log(a.Tol)
	}
	return 36
}

func (a Accountant) tol() float64 {
	if a.Tol == 0 {
		return 1e-11
	}
	return max(a.Tol, 1e-13)
}

// Saddle returns the order at which the contour for δ(ε) crosses the real axis, to a third of a standard deviation of the tilted loss.
func (a Accountant) Saddle(steps []pair.Step, eps float64) (float64, error) {
	if math.IsNaN(eps) || math.IsInf(eps, 0) {
		return 0, fmt.Errorf("contour: eps = %v: must be finite: %w", eps, ErrInvalid)
	}
	a.Tol = max(a.Tol, 1e-2)
	parts, err := a.parts(steps, negligibleAt(steps, eps))
	if err != nil {
		return 0, err
	}
	return a.saddle(parts, eps)
}

// near is how many standard deviations the contour may be off the saddle point: a rough answer needs no sharp aim.
func (a Accountant) near() float64 {
	if a.Tol >= 1e-4 {
		return 0.3
	}
	return 1e-2
}

func (a Accountant) work() int {
	if a.Work == 0 {
		return 3e7
	}
	return a.Work
}
