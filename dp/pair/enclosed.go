package pair

import (
	"fmt"
	"math"
)

// Ratios is the law under Q of a likelihood ratio dP/dQ: probability Q[i] at X[i] ≥ 0, and P-mass Far where Q has none.
type Ratios struct {
	X, Q []float64
	Far  float64
}

// Rounding bounds what the numbers of a law may be off: masses by a factor in 1 ± Mass, ratios by a
// factor in 1 ± Ratio.
type Rounding struct{ Mass, Ratio float64 }

// Enclosed is a pair known only through two laws of its likelihood ratio, one above and one below in
// convex order, as that of a random allocation. As a Pair it is the upper one, and Under returns the
// lower.
type Enclosed struct {
	bound
	under bound
	other *Enclosed // (Q, P)
}

// Enclose returns the pair between over and under, whose loss is within the range of a Support.
func Enclose(over, under Ratios, within Support, r Rounding) (*Enclosed, error) {
	if !(r.Mass >= 0 && r.Mass < .1 && r.Ratio >= 0 && r.Ratio < .1) {
		return nil, fmt.Errorf("pair: masses are known to a factor of 1 ± %.2g only: %w", r.Mass, ErrNotApplicable)
	}
	above, err := newBound(over, within, r, 1)
	if err != nil {
		return nil, err
	}
	below, err := newBound(under, within, r, -1)
	if err != nil {
		return nil, err
	}
	e := &Enclosed{bound: above, under: below}
	e.other = &Enclosed{above.swapped(), below.swapped(), e}
	return e, nil
}

// Under returns the pair that p dominates, and whether it is another one: p is Enclosed.
func Under(p Pair) (under Pair, enclosed bool) {
	if e, ok := p.(*Enclosed); ok {
		return &e.under, true
	}
	return p, false
}

// Swap returns the pair between the swapped ones.
func (e *Enclosed) Swap() Pair { return e.other }

// String shows the pair that dominates.
func (e *Enclosed) String() string { return fmt.Sprintf("enclosed by %v", e.there) }

// bound is a bound of δ in both directions, each from a finite pair: losses of both are moved to the safe side, so that
// together they are not the law of a loss.
type bound struct {
	there, back *Discrete
	rel, slack  float64 // of masses, and of both masses and means
	within      Support
}

// newBound moves the ratios of a law up by what they may be off, and down for the other direction,
// or the other way round for side −1, within the range that is known without rounding.
func newBound(l Ratios, within Support, r Rounding, side float64) (b bound, err error) {
	least, most := math.Exp(within.Min), math.Exp(within.Max)
	moved := func(by float64) (p, q []float64) {
		for i, x := range l.X {
			p = append(p, min(max(x*by, least), most)*l.Q[i])
		}
		return append(p, l.Far), append(append(q, l.Q...), 0)
	}
	off := 1e-9 + r.Ratio // by which the mean of the moved ratios is
	p, q := moved(1 + side*r.Ratio)
	if b.there, err = newDiscrete(p, q, off); err != nil {
		return b, err
	}
	p, q = moved(1 - side*r.Ratio)
	if b.back, err = newDiscrete(q, p, off); err != nil {
		return b, err
	}
	b.rel, b.slack, b.within = r.Mass, 4*(r.Mass+r.Ratio), Support{Min: within.Min, Max: within.Max}
	for i, a := range b.there.Points() {
		switch last := i == b.there.Len()-1; {
		case i == 0 && !math.IsInf(within.Min, -1):
			a.Loss = within.Min
		case last && !math.IsInf(within.Max, 1):
			a.Loss = within.Max
		case !math.IsInf(a.Loss, 0):
			continue
		}
		b.within.Atoms = append(b.within.Atoms, a)
	}
	return b, nil
}

func (b bound) swapped() bound { return bound{b.back, b.there, b.rel, b.slack, b.within.swapped()} }

// LogDelta bounds log δ(ε).
func (b *bound) LogDelta(eps float64) float64 {
	switch {
	case eps < 0:
		return reflectDelta(eps, b.back.LogDelta(-eps))
	case eps >= b.within.Max && b.within.Infinite() == 0:
		return math.Inf(-1)
	}
	return b.there.LogDelta(eps)
}

// LogTails returns log P(L > ε) and log Q(L > ε) of the finite pair whose δ(ε) is the bound.
func (b *bound) LogTails(eps float64) (logP, logQ float64) { return b.there.LogTails(eps) }

// LogMoment bounds log ∫ p^α q^(1−α).
func (b *bound) LogMoment(alpha float64) (k, errBound float64) {
	k, errBound = b.there.LogMoment(alpha)
	return k, errBound + alpha*b.slack
}

// Support is the range of the loss, with atoms at ±∞ and at finite ends.
func (b *bound) Support() Support { return b.within }

// RelErr bounds the relative error of δ.
func (b *bound) RelErr() float64 { return b.rel + b.there.RelErr() }

// Swap returns (Q, P).
func (b *bound) Swap() Pair { s := b.swapped(); return &s }
