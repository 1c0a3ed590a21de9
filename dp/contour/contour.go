package contour

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/dp/internal/check"
	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// Errors of this package. All are pair.ErrNotApplicable.
var (
	// ErrUnsupported marks a pair whose loss this accountant does not handle.
	ErrUnsupported = fmt.Errorf("unsupported pair: %w", pair.ErrNotApplicable)
	// ErrAtoms marks a loss that takes some values with positive probability: its characteristic function does
	// not decay, so that no finite contour determines δ. Use package pld.
	ErrAtoms = fmt.Errorf("privacy loss has atoms: %w", pair.ErrNotApplicable)
	// ErrDecay marks a composition whose characteristic function decays too slowly for its tail to be bounded
	// below the tolerance within the permitted work. Use package pld.
	ErrDecay = fmt.Errorf("characteristic function decays too slowly: %w", pair.ErrNotApplicable)
	// ErrCost marks a composition that needs more quadrature nodes than are permitted.
	ErrCost = fmt.Errorf("too many quadrature nodes: %w", pair.ErrNotApplicable)
)

var bad = check.In("contour").Bad

const ulp = logspace.Ulp

// Accountant composes Gaussian mixture pairs by a contour integral. The zero value is ready to use; it is stateless
// and safe for concurrent use.
type Accountant struct {
	// Tol is the relative width asked of a certified δ, 1e-11 if zero, and at least 1e-13. It
	// decides where the contour is cut off; rounding is always included, and may widen the bounds
	// beyond Tol. A question's Width widens it.
	Tol float64
	// Work limits the evaluations of the integrand, 3e7 (about one second) if zero. Beyond it the answer is ErrDecay.
	Work int
}

// leastWork is the least work, whatever a question's Effort.
const leastWork = 300_000

// Name is "contour".
func (Accountant) Name() string { return "contour" }

// Bound returns certified bounds of the least ε ≥ 0 with δ(ε) ≤ δ, for δ > 0, or of δ(ε) =
// H_{exp(ε)}(P‖Q). The composition is (Upper, δ)-DP in the direction of the pairs, and not (ε,
// δ)-DP for any 0 ≤ ε < Lower. Where δ underflows, Upper is the smallest positive number.
//
// Errors: pair.ErrParameter, ErrUnsupported, ErrAtoms, ErrDecay, ErrCost; the last four are pair.ErrNotApplicable.
// Cost: some 50 to 1,000 nodes of the contour, each a sum over 100 to 1,000 nodes in x per distinct step,
// independent of Times.
func (a Accountant) Bound(ctx context.Context, steps []pair.Step, q pair.Question) (pair.Answer, error) {
	if err := q.Check("contour", steps); err != nil {
		return pair.Answer{}, err
	}
	a.Tol = max(a.Tol, q.Width/8) // of log δ the tolerance is a part
	a.Work = q.Share(a.work(), leastWork)
	out := pair.Answer{By: a.Name()}
	var err error
	switch {
	case !q.Delta && q.At == 0:
		return out, fmt.Errorf("contour: losses of Gaussian mixtures at delta = 0: %w", pair.ErrNotApplicable)
	case !q.Delta:
		out.Interval, out.Order, err = a.epsilonAt(ctx, steps, q)
		return out, err
	}
	tols := []float64{a.tol()}
	if q.Against > 0 {
		tols = []float64{1e-3, 1e-5}
	}
	for _, a.Tol = range tols {
		if out.Interval, out.Order, err = a.deltaAt(ctx, steps, q); err != nil ||
			q.Against > 0 && q.Decides(out.Interval, 0) {
			break
		}
	}
	return out, err
}

func (a Accountant) deltaAt(ctx context.Context, steps []pair.Step,
	q pair.Question) (v pair.Interval, order float64, err error) {
	var leave pair.Trim
	left := 0.0
	if q.Against == 0 {
		leave = trimAt(steps, q.At)
	} else { // what is left out need only be little of what δ is compared with
		slack := max(trimSlack, min(1e-3, a.tol()/10))
		leave, left = pair.TrimTo(steps, logspace.Log(q.Against), slack, q.At), slack*q.Against
	}
	lo, hi, order, err := a.logDelta(ctx, steps, leave, q.At, q.Like.Order)
	if err != nil {
		return v, 0, err
	}
	v = pair.DeltaWithin(lo, hi)
	return pair.Interval{Lower: max(0, v.Lower-left), Upper: min(1, v.Upper+left)}, order, nil
}

// logDelta leaves out negligible components, searches the saddle point from the order start, if
// that is not 0, and returns the order it used.
func (a Accountant) logDelta(ctx context.Context, steps []pair.Step, cut pair.Trim,
	eps, start float64) (lo, hi, order float64, err error) {
	if math.IsNaN(eps) || math.IsInf(eps, 0) {
		return 0, 0, 0, bad("eps = %v: must be finite", eps)
	}
	parts, err := a.parts(steps, cut)
	if err != nil {
		return 0, 0, 0, err
	}
	at, err := a.saddle(parts, eps, start)
	if err != nil {
		return 0, 0, 0, err
	}
	c, err := newContour(ctx, parts, at, eps, a.tol(), a.work())
	if err != nil {
		return 0, 0, 0, err
	}
	lo, hi = c.log(eps)
	return lo, hi, at.s, checkBounds(lo, hi)
}

// checkBounds refuses bounds that rounding has made meaningless.
func checkBounds(lo, hi float64) error {
	if math.IsNaN(hi) || math.IsNaN(lo) || math.IsInf(hi, 0) || lo > hi {
		return fmt.Errorf("contour: log δ in [%v, %v] after rounding: %w", lo, hi, ErrCost)
	}
	return nil
}

// epsilonAt leaves out negligible components, unless ε turns out so large that they are not.
func (a Accountant) epsilonAt(ctx context.Context, steps []pair.Step,
	q pair.Question) (v pair.Interval, order float64, err error) {
	want := logspace.Log(q.At)
	parts, err := a.parts(steps, pair.TrimTo(steps, want, trimSlack, mostTrimmed))
	if err != nil {
		return v, 0, err
	}
	v, order, err = a.epsilon(ctx, parts, want)
	switch cut := trimmed(parts); {
	case cut && err == nil && v.Lower > mostTrimmed && q.Far > 0 && q.Far < mostTrimmed: // so it is for all components
		return pair.Interval{Lower: mostTrimmed, Upper: math.MaxFloat64}, order, nil
	case cut && (err != nil || v.Upper > mostTrimmed):
		if parts, err = a.parts(steps, pair.NoTrim); err != nil {
			return v, 0, err
		}
		return a.epsilon(ctx, parts, want)
	}
	return v, order, err
}

// maxTimes is how often a step may be repeated.
const maxTimes = 1_000_000_000_000

func (a Accountant) parts(steps []pair.Step, cut pair.Trim) ([]part, error) {
	if !(a.Tol >= 0) || a.Tol >= 1 || a.Work < 0 {
		return nil, bad("Tol = %v, Work = %v: Tol must be in [0, 1), Work at least 0", a.Tol, a.Work)
	}
	var parts []part
	var failed []error
	for i, t := range steps {
		if t.Times > maxTimes {
			return nil, bad("steps[%d].Times = %d: must be at most 1e12", i, t.Times)
		}
		p, err := newScaled(t.Pair, cut)
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
		parts[i].pair.ratios = float64(a.work())
		parts[i].digits = a.digits() + logspace.Log(parts[i].times)
	}
	return parts, check.All(failed...)
}

// digits is the accuracy (−log) that ΣT·K needs; that of the quadrature is counted in the bounds.
func (a Accountant) digits() float64 {
	if a.Tol >= 1e-4 {
		return 11 - logspace.Log(a.Tol)
	}
	return 36
}

func (a Accountant) tol() float64 { return max(cmp.Or(a.Tol, 1e-11), 1e-13) }

// saddleTol is how many standard deviations the contour may be from the saddle point, more for a
// rough answer.
func (a Accountant) saddleTol() float64 {
	if a.Tol >= 1e-4 {
		return 0.3
	}
	return 1e-2
}

func (a Accountant) work() int { return cmp.Or(a.Work, 30_000_000) }

const (
	// trimSlack is the relative error of δ that leaving out components may cause; every bound of
	// log δ is widened by it.
	trimSlack = 1e-12
	// mostTrimmed is the largest ε for which weights of Q were left out.
	mostTrimmed = 64.0
)

// trimAt returns the Trim for ε.
func trimAt(steps []pair.Step, eps float64) pair.Trim {
	if !(eps >= 0) {
		return pair.NoTrim
	}
	return pair.TrimTo(steps, pair.MostPrivate(steps, eps), trimSlack, eps)
}

func trimmed(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.pair.trimmed })
}

// leftOut bounds the error of log δ caused by components left out.
func leftOut(parts []part) float64 {
	if trimmed(parts) {
		return trimSlack
	}
	return 0
}
