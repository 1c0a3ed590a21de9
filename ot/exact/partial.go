package exact

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"coupling/ot"
	"coupling/ot/cost"
)

// Partial moves a part of the mass only, at the least cost:
//
//	min ⟨T, C⟩ over T ≥ 0 with T1 ≤ a, Tᵀ1 ≤ b, ΣT = Mass.
//
// It is the transport problem with one atom more on each side, which takes what stays at no cost
// (Caffarelli and McCann 2010; Chapel, Alaya and Gasso 2020); the two are not coupled.
type Partial struct {
	Mass      float64 // > 0, at most the smaller total of the weights
	MaxPivots int     // that of Simplex
}

// Problem returns the problem with one source and one target more, the last ones. An entropic
// solver of package ot takes it too: the first n×m entries of its plan are those of partial
// transport, where ε counts the entropy of what stays as well, and its total is the sum of the
// weights less Mass, divided out. Its values approach that of Solve as ε falls.
func (o Partial) Problem(p ot.Problem) (ot.Problem, error) {
	if err := cost.Check(p.Geometry); err != nil {
		return p, err
	}
	a, b, err := weights(p)
	if err != nil {
		return p, err
	}
	massA, massB := floats.SumCompensated(a), floats.SumCompensated(b)
	if most := min(massA, massB); !(o.Mass > 0) || o.Mass > most*(1+1e-12) {
		return p, fmt.Errorf("ot/exact: Partial: Mass = %g: must be > 0 and at most %g, the smaller total: %w", o.Mass,
			most, ot.ErrWeights)
	}
	a, b = append(a, max(0, massB-o.Mass)), append(b, max(0, massA-o.Mass))
	return ot.Problem{Geometry: extend(p.Geometry), A: a, B: b}, nil
}

// Solve returns an optimal plan. Weights keep their totals, which may differ. Its potentials
// satisfy F_i + G_j ≤ C_ij, and both are at most Price/2, with equality at atoms that keep mass;
// Price is the derivative of Value by Mass. The certificate is that of the problem with the two
// more atoms. Errors are those of Simplex, and ot.ErrInfeasible where pairs that are not forbidden, or the
// rounding of the weights by a Mass far below their totals, change the mass moved by more than 1e-6 of it.
func (o Partial) Solve(ctx context.Context, p ot.Problem) (*Plan, error) {
	all, err := o.Problem(p)
	if err != nil {
		return nil, err
	}
	n, m := p.Geometry.Dims()
	s, err := Simplex{MaxPivots: o.MaxPivots}.Solve(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("%w (target %d stands for what stays of the sources, source %d for what targets lack)",
			err, m, n)
	}
	out := *s
	out.Geometry, out.A, out.B, out.Arcs = p.Geometry, s.A[:n], s.B[:m], nil
	moved := 0.
	for _, e := range s.Arcs {
		if e.I < n && e.J < m {
			out.Arcs, moved = append(out.Arcs, e), moved+e.Mass
		}
	}
	if math.Abs(moved-o.Mass) > massTolerance*o.Mass {
		return nil, fmt.Errorf("ot/exact: Partial: Mass = %g: a plan moves %g, since pairs are forbidden "+
			"or weights round it away: %w", o.Mass, moved, ot.ErrInfeasible)
	}
	out.Price = -s.F[n] - s.G[m]
	shift := (s.G[m] - s.F[n]) / 2
	floats.AddConst(shift, out.F)
	floats.AddConst(-shift, out.G)
	out.F, out.G = out.F[:n], out.G[:m]
	return &out, nil
}

// massTolerance is the relative error of the mass moved above which Solve returns an error.
const massTolerance = 1e-6

// extend returns the geometry with one source and one target more, at no cost to all but each
// other.
func extend(g cost.Geometry) cost.Geometry {
	l, ok := g.(cost.Listed)
	if !ok {
		return extended{g}
	}
	n, m := g.Dims()
	starts, targets, costs := []int{0}, []int(nil), []float64(nil)
	for i := range n {
		to, c := l.Arcs(i)
		for _, j := range to {
			targets = append(targets, int(j))
		}
		targets, costs = append(targets, m), append(append(costs, c...), 0)
		starts = append(starts, len(targets))
	}
	for j := range m {
		targets, costs = append(targets, j), append(costs, 0)
	}
	return cost.Sparse(m+1, append(starts, len(targets)), targets, costs)
}

// extended is a geometry with one source and one target more.
type extended struct{ cost.Geometry }

// Dims returns the numbers of atoms.
func (g extended) Dims() (n, m int) {
	n, m = g.Geometry.Dims()
	return n + 1, m + 1
}

// Row returns row i.
func (g extended) Row(i int, buf []float64) []float64 {
	n, m := g.Geometry.Dims()
	if i < n {
		copy(buf[:m], g.Geometry.Row(i, buf[:m]))
		buf[m] = 0
		return buf
	}
	clear(buf[:m])
	buf[m] = math.Inf(1)
	return buf
}
