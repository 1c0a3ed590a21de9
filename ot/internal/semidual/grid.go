package semidual

import (
	"math"
	"slices"

	"coupling/lab/logspace"
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
)

// gridPass goes along the axes of a separable geometry, which adds up every pair in float64.
type gridPass struct{ geometry.Separable }

func (gridPass) Certifies() bool { return true }

// Separate returns the geometry if its cost is a sum over axes, else nil.
func Separate(g cost.Geometry) geometry.Separable {
	x, _ := g.(geometry.Separable)
	return x
}

func (p gridPass) Eval(s *Function, beta []float64) float64 {
	inv, workers := 1/s.Eps, len(s.Rows.Scratch)
	kern.Scale(s.H, inv, beta)
	lse, _ := geometry.Expect(p.Axes(false), s.H, nil, inv, false, workers)
	clear(s.RowL1)
	exact := s.Marginals == nil && s.Relax == 1
	for i, v := range lse {
		switch {
		case s.A[i] == 0:
			s.Alpha[i], lse[i] = math.Inf(-1), math.Inf(-1)
		case exact:
			lse[i] = s.LogA[i] - v
			s.Alpha[i] = s.Eps * lse[i]
		default:
			lse[i] = logspace.Log(s.SetAlpha(0, i, s.Eps*v)) - v
		}
	}
	col, _ := geometry.Expect(p.Axes(true), lse, nil, inv, false, workers)
	kern.Axpy(col, 1, s.H)
	kern.Exp(s.Col, col)
	return s.Error()
}

// Expect returns log Σⱼ exp((vⱼ−cᵢⱼ)/ε) for every source i of a separable geometry, or for every target where
// transposed, and the mean under these weights of a field, where not nil, plus that of the cost where withCost.
func Expect(g geometry.Separable, v, field []float64, eps float64, transposed, withCost bool,
	workers int) (lse, mean []float64) {
	h := make([]float64, len(v))
	kern.Scale(h, 1/eps, v)
	return geometry.Expect(g.Axes(transposed), h, field, 1/eps, withCost, workers)
}

// gridSoftmin returns −ε log Σⱼ exp((vⱼ−cᵢⱼ)/ε) for every source i of a separable geometry, or for every target where
// transposed.
func (s *Function) gridSoftmin(v []float64, transposed bool) []float64 {
	lse, _ := Expect(s.grid, v, nil, s.Eps, transposed, false, len(s.Rows.Scratch))
	kern.Scale(lse, -s.Eps, lse)
	return lse
}

// GridSoftmin returns −ε log Σⱼ exp((βⱼ−cᵢⱼ)/ε) for every source i where the cost is separable and
// a source has no weight, else nil.
func (s *Function) GridSoftmin(beta []float64) []float64 {
	if s.grid.Separable == nil || !slices.Contains(s.A, 0) {
		return nil
	}
	return s.gridSoftmin(beta, false)
}
