package ot

import "fmt"

// Coupling is the weakest link of a plan: a cut of the atoms in two sides that exchange almost no
// mass. Potentials of one side are determined relative to those of the other by that mass alone.
type Coupling struct {
	// Sources and Targets are the atoms of the lighter side.
	Sources, Targets []int
	// Mass is what the sides exchange, and Of is the weight of the lighter side, Σ aᵢ + Σ bⱼ over its atoms.
	Mass, Of float64
	// Error is how far the potentials of one side may be off against those of the other: ε|x| for
	// the x by which the side must move so that what leaves and what enters it, T(I,Jᶜ)eˣ −
	// T(Iᶜ,J)e⁻ˣ, differ by Σ aᵢ − Σ bⱼ, which is known to its rounding, 2⁻⁵²·Of. It is +Inf where
	// nothing crosses.
	Error float64

	eps, rounding float64
}

const (
	// undetermined is how far, in ε, rounding may leave potentials open.
	undetermined = 1e-3
	// wellCoupled is the range of the costs, in ε, up to which no cut is weak: with cᵢⱼ − min c ≤ r
	// ε every entry of T is at least aᵢbⱼ e^(−2r), so that every cut exchanges at least e^(−2r)/2 =
	// 5e-8 of its lighter side.
	wellCoupled = 8
	// strongLink is an entry of T against which rounding of sides of weight 1, 2⁻⁵², is less than undetermined, where
	// it is more than twice the L1 error: what leaves a side less what enters is then known not to be 0.
	strongLink = 1e-12
)

// Undetermined reports whether rounding alone lets the potentials of the sides move by more than a
// thousandth of ε. F, G, Alpha, Beta and derivatives by weights are then arbitrary between them;
// the plan, its values, and gradients by costs and points are as right as MarginalL1 says. Where
// only Error is large, a lower Tol reduces it.
func (c Coupling) Undetermined() bool { return c.rounding > undetermined }

// String names the lighter side, what crosses, and what follows.
func (c Coupling) String() string {
	return fmt.Sprintf("%s and %s exchange %.3g of their weight %.3g with the others, "+
		"so that potentials and derivatives by weights are determined to %.2g ε between them",
		some("source", c.Sources), some("target", c.Targets), c.Mass, c.Of, c.Error/c.eps)
}

// some names a few atoms.
func some(what string, atoms []int) string {
	const few = 3
	if len(atoms) > few {
		return fmt.Sprintf("%d %ss (%d, %d, …)", len(atoms), what, atoms[0], atoms[1])
	}
	return fmt.Sprintf("%ss %v", what, atoms)
}

// Coupling returns the weakest coupling of the plan. Of the cuts by one link of the maximum
// spanning tree of T it is that whose link, the largest entry that crosses, is the smallest part of
// the weight of the lighter side. The first call takes a few passes. Without
// atoms on both sides of any cut, Error is 0.
func (p *Plan) Coupling() Coupling {
	p.coupledOnce.Do(func() {
		cut := p.t.WeakestCut()
		shift, rounding := cut.Shift()
		p.coupled = Coupling{cut.Sources, cut.Targets, cut.Out + cut.In, cut.Of, p.Eps * shift, p.Eps, rounding}
	})
	return p.coupled
}

// determined returns an error where derivatives by weights are arbitrary. It takes no pass where
// the costs exclude that.
func (p *Plan) determined(what string) error {
	if s := p.t.Cost; p.penalties != nil || !s.Forbidden && s.Max-s.Min <= wellCoupled*p.Eps {
		return nil
	}
	if p.t.Connected(max(strongLink, 2*p.MarginalL1)) {
		return nil
	}
	if c := p.Coupling(); c.Undetermined() {
		return bad(ErrUndetermined, "%s: %v: raise Eps", what, c)
	}
	return nil
}
