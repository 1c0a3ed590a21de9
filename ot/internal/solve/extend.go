package solve

import (
	"context"
	"slices"

	"coupling/ot/cost"
	"coupling/ot/internal/rows"
)

// Potentials returns the plan of p at ε that has the KL potentials g of the targets.
func Potentials(p Problem, eps float64, g []float64) (*Result, error) {
	if err := cost.Check(p.Geometry); err != nil {
		return nil, err
	}
	if err := checkEps("eps", eps); err != nil {
		return nil, err
	}
	_, m := p.Geometry.Dims()
	if err := checkStart("g", g, m); err != nil {
		return nil, err
	}
	r, err := begin(context.Background(), p, Control{Eps: eps, Anneal: 1, Start: g, asGiven: true})
	if err != nil {
		return nil, err
	}
	r.evalOnce()
	return r.finish(r.s.DeviceFailure())
}

// Extend returns the plan from new sources of equal weights to the targets of another plan, in the gauge of their
// potentials there.
func Extend(g cost.Geometry, eps float64, b, potential []float64) (*Result, error) {
	out, err := Potentials(Problem{Geometry: g, B: b}, eps, potential)
	if err != nil {
		return nil, err
	}
	p := out.Plan
	j := slices.IndexFunc(p.B, func(b float64) bool { return b > 0 })
	by := potential[j] - p.G[j]
	rows.Shift(p.G, by)
	rows.Shift(p.F, -by)
	return out, nil
}
