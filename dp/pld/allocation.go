package pld

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"coupling/dp/pair"
	"coupling/lab/logspace"
	"coupling/lab/root"
)

const (
	// FineLaw is the number of cells of a law's grid where the law is to be sharp.
	FineLaw = 3328
	// largestLog bounds the logs of ratios that a law holds.
	largestLog = 150
	// mostSummed bounds the number of ratios.
	mostSummed = 100_000_000
)

// Allocated encloses the pair of a random allocation: a record takes part in one of t steps, which is drawn uniformly
// and independently of other records, and each step has the pair p = (P₀, Q₀) for the removal of one record. With
// W = dP₀/dQ₀ under Q₀ the pair is the law of
//
//	M = (W₁ + … + W_t)/t,   W_i independent.
//
// It dominates any mechanism, adaptive or not, and it is tight for the sum of a query with Gaussian
// noise. Proof. Fix the steps of all other records, which are independent of the record's; δ is
// jointly convex. Then dP/dQ = (1/t)Σ r_i, where r_i is the ratio of step i, in convex order at
// most W given the steps before, as p dominates for all real ε in both directions. The order passes
// through sums by induction. ∎ (Choquette-Choo et al. 2024, Chua et al. 2024, Feldman and Shenfeld
// 2025.)
//
// The sum is computed in convex order from above and from below, on grids of n cells: see
// operation.power. Widths fall with the square of n; for FineLaw they are some 1e-5 of ε for removal
// and 1e-4 for insertion. Errors: pair.ErrNotApplicable for a pair that is known by its moments, or of
// losses beyond 150; pair.ErrParameter. Cost: for FineLaw half a second, little more for a million
// steps; it falls with the square of n too.
//
// Rounding. By combine's argument each of t − 1 sums multiplies masses by 1 ± κ and each of 2·log₂
// t levels values by 1 ± 2κ, and both carry through later sums; so do two passes of each ratio to
// coarser grids and the 4K sums, K levels deep, for jumps: masses are off by as much as power returns,
// values by 1 ± 4κ(2·log₂ t + K + 5). The law that connectDots returns for W has the wanted δ for all
// ε, but total mass and mean only up to some η, so that E f ≥ E f(W) − f(1)η − |f′(1)|η for a convex
// f ≥ 0. Since E f(W) is at least f(1) and |f′(1)|·E(W − 1)₊, that is a factor of 1 − η(1 +
// 1/δ_p(0)), for each of t. The returned pair accounts for these factors in its RelErr and in its ratios, once more for
// the division by the computed mass.
func Allocated(p pair.Pair, t, n int) (pair.Pair, error) {
	if t < 1 || t > mostSummed {
		return nil, bad("steps = %d: must be in 1..100,000,000", t)
	}
	if n < FineLaw/16 || n > 16*FineLaw {
		return nil, bad("cells = %d: must be in %d..%d", n, FineLaw/16, 16*FineLaw)
	}
	if !(p.RelErr() < 1) {
		return nil, fmt.Errorf("pld: %v is known by its moments only: %w", p, pair.ErrNotApplicable)
	}
	if t == 1 || math.IsInf(p.LogDelta(0), -1) { // P = Q
		return p, nil
	}
	one, wrong, err := ratios(p, 2*n)
	if err != nil {
		return nil, err
	}
	if one.over.x[len(one.over.x)-1] == 0 { // no outcome of Q is one of P
		return p, nil
	}
	all, rounding, err := sum.power(one, t, fineness{n, n, n})
	if err != nil {
		return nil, err
	}
	kappa := roundingOf(max(len(one.over.x), 2*n))
	levels := float64(2*bits.Len(uint(t)) + mostJumps + 5)
	rel := 2 * (float64(t)*wrong + rounding)
	return pair.Enclose(spread(all.over.mean(t), one.over.least, one.over.most), all.under.mean(t), p.Support(),
		pair.Rounding{Mass: rel, Ratio: 1e-13 + 4*kappa*levels})
}

// mean is the law of the mean of t ratios whose sum has the law l, with total mass 1.
func (l law) mean(t int) pair.Ratios {
	m := pair.Ratios{X: slices.Clone(l.x), Q: slices.Clone(l.q), Far: l.far / float64(t)}
	total := 0.0
	for _, q := range l.q {
		total += q
	}
	for i := range m.X {
		m.X[i] /= float64(t)
		m.Q[i] /= total
	}
	return m
}

// spread adds what was left out, at the ends.
func spread(m pair.Ratios, least, most float64) pair.Ratios {
	m.X, m.Q = append(m.X, least), append(m.Q, leftOut)
	if math.IsInf(most, 1) {
		m.Far += leftOut
	} else {
		m.X, m.Q = append(m.X, most), append(m.Q, leftOut/most)
	}
	return m
}

// ratios returns an upper and a lower law of dP/dQ under Q, on about n cells, and the share by
// which later numbers may be off since its mass and mean are not exactly one.
func ratios(p pair.Pair, n int) (bracket, float64, error) {
	l := lossOf(p)
	right, ok := l.right.grid(n / 2)
	left, ok2 := l.left.grid(n / 2)
	if !ok || !ok2 {
		return bracket{}, 0, fmt.Errorf("pld: %v: losses beyond %d matter: %w", p, largestLog, pair.ErrNotApplicable)
	}
	high, low := l.connectDots(right, left)
	s := p.Support()
	least, most := math.Exp(s.Min), math.Exp(s.Max)
	b := bracket{high.ratios(l.left.above(left[len(left)-1]), least, most),
		low.ratios(l.under.left.inf*(1-1e-12), least, most)}
	distance := math.Exp(p.LogDelta(0) - p.RelErr())
	wrong := 0.0
	for _, l := range [...]law{b.over, b.under} {
		mass, mean := 0.0, l.far
		for i, q := range l.q {
			mass, mean = mass+q, mean+q*l.x[i]
		}
		wrong = max(wrong, math.Abs(mass-1)+math.Abs(mean-1))
	}
	wrong += 8 * ulp * float64(n)
	return b, wrong * (1 + 1/distance), nil
}

// ratios turns masses under P at losses into those under Q at ratios between least and most; zero
// is the mass of Q where P has none.
func (m measure) ratios(zero, least, most float64) law {
	l := law{far: m.inf, least: least, most: most}
	l.add(0, zero)
	for i, p := range m.mass {
		l.add(min(max(math.Exp(m.loss[i]), least), most), p*math.Exp(-m.loss[i]))
	}
	return l
}

// grid divides the losses that matter into n cells, with the atoms among their ends if these are few.
func (f *profile) grid(n int) ([]float64, bool) {
	past := func(e float64) bool { return f.pair.LogDelta(e) <= max(logspace.Log(negligibleMass), f.logInf+1e-9) }
	switch end := f.max; {
	case f.flat || past(0):
		return []float64{0, 1}, true
	case end <= largestLog && !past(.9*end):
		return f.divided(end, n), true
	case past(largestLog):
		return f.divided(root.Bisect(past, 0, largestLog), n), true
	}
	return nil, false
}

// divided divides [0, end].
func (f *profile) divided(end float64, n int) []float64 {
	nodes := make([]float64, n+1)
	for k := range nodes {
		nodes[k] = end * (float64(k) / float64(n))
	}
	atoms := f.pair.Support().Atoms
	if len(atoms) <= n {
		for _, a := range atoms {
			if a.Loss > 0 && a.Loss <= end {
				nodes = append(nodes, a.Loss)
			}
		}
	}
	slices.Sort(nodes)
	return slices.CompactFunc(nodes, func(a, b float64) bool { return math.Abs(b-a) <= 1e-12*b })
}
