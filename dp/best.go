package dp

import (
	"context"
	"errors"
	"math"

	"coupling/dp/contour"
	"coupling/dp/pair"
	"coupling/dp/pld"
)

// Best is the accountant that asks Profile and then the others, the sharpest first.
type Best struct {
	// Work limits the evaluations of the contour accountant, after which dp/pld takes over; 0 means 1e7 (a third of a second) and four
	// times that where distributions then leave more than a part in 1e5 open, shared among the
	// branches of a relation.
	Work int
	// Width is how wide, relative to the number, an enclosure may be; 0 means as narrow as can be had in about a second: 1e-11 from
	// contours, 1e-6 or so from privacy-loss distributions. Widths of a per cent take some ten milliseconds.
	Width float64

	grid  float64 // the width of privacy-loss distributions, if Width is 0
	cells int     // and their work
	grids bool    // contours refuse
}

const (
	fullWork  = 10_000_000
	leastWork = 1_500_000
	// gridWork and leastGrid are the same for privacy-loss distributions.
	gridWork  = 8_000_000
	leastGrid = 300_000
	// fineGrid is the width that is wanted of them, roughGrid where many answers are wanted, or one is of many branches.
	fineGrid  = 1.2e-6
	roughGrid = 1e-4
	// roughWork is what a distribution that is good to a few per cent costs.
	roughWork = 300_000
)

// shareWork gives every branch its part of the work: the first, mostly the worst, as much as all others together, where
// distributions are needed.
func shareWork(a Accountant, r Relation) (first, other Accountant) {
	n := 1
	if r.Kind == AddRemove {
		n = r.size() + 1
	}
	if p, ok := a.(pld.Accountant); ok && p.Work == 0 {
		first := p
		p.Work = max(leastGrid, gridWork/n)
		if n > 16 && (p.Bins == 0 || p.Bins > 1<<16) {
			p.Bins = 1 << 16
		}
		return first, p
	}
	b, ok := a.(Best)
	if !ok {
		return a, a
	}
	if b.Work == 0 {
		if b.Work = max(leastWork, fullWork/n); b.Width > 0 {
			b.Work = roughWork
		}
	}
	if b.grid == 0 {
		b.grid, b.cells = fineGrid, gridWork
	}
	rest := b
	rest.grid, rest.cells = max(b.grid, roughGrid), max(leastGrid, gridWork/4/n)
	return b, rest
}

// Name is "auto".
func (Best) Name() string { return "auto" }

// Epsilon asks the accountants in turn.
func (b Best) Epsilon(steps []pair.Step, delta float64) (pair.Interval, error) {
	return b.EpsilonContext(context.Background(), steps, delta)
}

// EpsilonContext is Epsilon, ended with the error of ctx when that is done.
func (b Best) EpsilonContext(ctx context.Context, steps []pair.Step, delta float64) (pair.Interval, error) {
	v, _, err := askBest(ctx, b, steps, func(a Accountant) (pair.Interval, error) { return epsilonOf(ctx, a, steps, delta) })
	return v, err
}

// Delta asks the accountants in turn.
func (b Best) Delta(steps []pair.Step, eps float64) (pair.Interval, error) {
	return b.DeltaContext(context.Background(), steps, eps)
}

// DeltaContext is Delta, ended with the error of ctx when that is done.
func (b Best) DeltaContext(ctx context.Context, steps []pair.Step, eps float64) (pair.Interval, error) {
	v, _, err := askBest(ctx, b, steps, func(a Accountant) (pair.Interval, error) { return deltaOf(ctx, a, steps, eps) })
	return v, err
}

// candidates lists accountants by sharpness.
func (b Best) candidates() []Accountant {
	c := contour.Accountant{Work: b.Work}
	if b.Width > 0 { // of log δ the contour's tolerance is a part
		c.Tol = b.Width / 8
	}
	grid := pld.Accountant{Width: b.Width, Work: b.cells}
	if b.Width == 0 {
		grid.Width = b.grid
	}
	if b.grids {
		return []Accountant{Profile{}, grid, RDP{}}
	}
	if b.Width > 0 || b.grid != fineGrid {
		return []Accountant{Profile{}, c, grid, RDP{}}
	}
	patient := c
	patient.Work *= patience
	return []Accountant{Profile{}, c, grid, patient, RDP{}}
}

const (
	// sharp is the relative width from which on no further accountant is asked, and rough that of a branch that is one of many.
	sharp = 1e-5
	rough = 1e-3
	// patience is how much longer contours may take where distributions were not sharp.
	patience = 4
)

// askBest asks one accountant, or for Best the candidates until the number is known sharply; the least upper bound is taken.
func askBest(ctx context.Context, a Accountant, steps []pair.Step, ask func(Accountant) (pair.Interval, error)) (pair.Interval, string, error) {
	auto, ok := a.(Best)
	if !ok {
		v, err := ask(a)
		return v, a.Name(), err
	}
	if !(auto.Width >= 0 && auto.Width < 1) {
		return pair.Interval{}, a.Name(), bad("Best.Width = %v: must be in [0, 1)", auto.Width)
	}
	var errs []error
	best, name := pair.Interval{Upper: math.Inf(1)}, ""
	wide := max(rough, auto.Width)
	if auto.Width == 0 && auto.grid == fineGrid {
		wide = sharp
	}
	for _, c := range auto.candidates() {
		if err := ctx.Err(); err != nil {
			return pair.Interval{}, a.Name(), err
		}
		v, err := ask(c)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		best.Lower = max(best.Lower, v.Lower)
		if v.Upper < best.Upper {
			best.Upper, name = v.Upper, c.Name()
		}
		if _, known := c.(Profile); known || best.Upper-best.Lower <= wide*best.Upper {
			break
		}
	}
	if name != "" {
		best.Lower = min(best.Lower, best.Upper)
		return best, name, nil
	}
	return pair.Interval{}, a.Name(), errors.Join(errs...)
}

// A decider can tell whether δ(eps) ≤ delta with less work than it takes to know δ. It says no when in doubt.
type decider interface {
	below(ctx context.Context, steps []pair.Step, eps, delta float64, like likeness) bool
}

// deciderOf returns how an accountant compares, if it can.
func deciderOf(a Accountant) (decider, bool) {
	if p, ok := a.(pld.Accountant); ok {
		return comparer{p}, true
	}
	d, ok := a.(decider)
	return d, ok
}

// A comparer asks for distributions no finer than the comparison needs.
type comparer struct{ pld.Accountant }

func (c comparer) below(ctx context.Context, steps []pair.Step, eps, delta float64, _ likeness) bool {
	v, err := c.DeltaAgainst(ctx, steps, eps, min(1, delta))
	return err == nil && v.Upper <= delta
}

// A likeness is what is known of a similar composition.
type likeness struct {
	accountant string  // that answered
	order      float64 // of its saddle point, 0 if unknown
}

// likenessOf finds the order where the contour accountant answered.
func likenessOf(steps []pair.Step, accountant string, eps float64) likeness {
	like := likeness{accountant: accountant}
	if accountant == (contour.Accountant{}).Name() {
		if s, err := (contour.Accountant{}).Saddle(steps, eps); err == nil {
			like.order = s
		}
	}
	return like
}

// below asks for rougher and then sharper enclosures of δ(eps) until delta is on one side.
func (b Best) below(ctx context.Context, steps []pair.Step, eps, delta float64, like likeness) bool {
	if delta >= 1 {
		return true
	}
	if v, err := (Profile{}).Delta(steps, eps); err == nil {
		return v.Upper <= delta
	}
	if like.accountant != (pld.Accountant{}).Name() {
		for _, tol := range [...]float64{1e-2, 1e-5} {
			v, err := contour.Accountant{Tol: tol, Work: roughWork, Order: like.order}.DeltaContext(ctx, steps, eps)
			if err != nil {
				break
			}
			if v.Upper <= delta || v.Lower > delta || tol == 1e-5 { // too close for a distribution to tell
				return v.Upper <= delta
			}
		}
	}
	v, err := pld.Accountant{Width: 1e-3, Bins: 1 << 17, Work: leastGrid}.DeltaAgainst(ctx, steps, eps, delta)
	return err == nil && v.Upper <= delta
}
