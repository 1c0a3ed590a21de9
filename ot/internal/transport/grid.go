package transport

import (
	"math"

	"coupling/lab/logspace"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
)

// Separable reports whether products go along the axes of a grid.
func (p *Plan) Separable() bool { return semidual.Separate(p.Geometry) != nil }

// Expect returns Σⱼ T_ij (v_j + c_ij)/Σⱼ T_ij for every source i, or for every target where
// transposed, c left out unless withCost.
func (p *Plan) Expect(v []float64, transposed, withCost bool) []float64 {
	from := p.Own
	if transposed {
		from = p.OwnAlpha
	}
	_, mean := semidual.Expect(semidual.Separate(p.Geometry), from, v, p.Eps, transposed, withCost, 0)
	return mean
}

// weighted returns w∘v.
func weighted(w, v []float64) []float64 {
	out := make([]float64, len(v))
	kern.Mul(out, w, v)
	return out
}

// Columns returns Tᵀ1 of a separable geometry.
func (p *Plan) Columns() []float64 {
	col := make([]float64, len(p.B))
	lse, _ := semidual.Expect(semidual.Separate(p.Geometry), p.OwnAlpha, nil, p.Eps, true, false, 0)
	for j, b := range p.Own {
		if p.B[j] > 0 {
			col[j] = math.Exp(b/p.Eps + lse[j])
		}
	}
	return col
}

// gridSums is Sums along the axes of a separable geometry.
func (p *Plan) gridSums() (v Sums) {
	less, logB, logA := make([]float64, len(p.B)), make([]float64, len(p.B)), make([]float64, len(p.A))
	v.Sharp = rows.Dot(p.Mass, p.Expect(less, false, true))
	v.Mass = rows.Dot(p.Mass, Ones(len(p.A)))
	for j, b := range p.B {
		if b > 0 {
			logB[j] = logspace.Log(b)
			less[j] = p.Eps*logB[j] - p.Own[j]
		}
	}
	// ε log(T/ab) = f − (c − g), f and g but for a constant: its mean in a row of T is as small as its largest entries.
	means := p.Expect(less, false, true)
	for i, a := range p.A {
		logA[i] = logspace.Log(a)
		means[i] = p.OwnAlpha[i] - p.Eps*logA[i] - means[i]
	}
	v.KL = rows.Dot(p.Mass, means) / p.Eps
	v.SumPlogP = v.KL + rows.Dot(p.Mass, logA) + rows.Dot(p.Mass, p.Expect(logB, false, false))
	return v
}

// gridConnected is Connected by the entries between each atom and those next to where it goes, or
// comes from, on average: true is certain, and false is not.
func (p *Plan) gridConnected(mass float64, forest *components, left int) bool {
	n := len(p.A)
	for _, transposed := range []bool{false, true} {
		axes := semidual.Separate(p.Geometry).Axes(transposed)
		own, other, weight := p.OwnAlpha, p.Own, p.B
		if transposed {
			own, other, weight = p.Own, p.OwnAlpha, p.Mass
		}
		near := p.averages(axes, transposed)
		for i, potential := range own {
			for code := range int(math.Pow(3, float64(len(axes)))) { // its digits are the steps along the axes, plus 1
				j, stride, from, logT := 0, 1, i, potential
				for k := len(axes) - 1; k >= 0; k-- {
					rows, columns := axes[k].Cost().Dims()
					at := min(max(0, int(math.Round(near[k][i]))+code%3-1), columns-1)
					logT -= axes[k].Cost().At(from%rows, at)
					j, stride, from, code = j+at*stride, stride*columns, from/rows, code/3
				}
				source, target := i, j
				if transposed {
					source, target = j, i
				}
				t := math.Exp((logT + other[j]) / p.Eps) // 0 where either has no weight
				if weight[j] > 0 && t >= mass && forest.join(source, n+target, t) {
					left--
				}
			}
		}
	}
	return left == 0
}

// averages returns, for each axis, the mean coordinate of each source's targets, or of each
// target's sources.
func (p *Plan) averages(axes []*geometry.Axis, transposed bool) [][]float64 {
	out, stride := make([][]float64, len(axes)), 1
	for k := len(axes) - 1; k >= 0; k-- {
		_, columns := axes[k].Cost().Dims()
		at := make([]float64, len(p.B))
		if transposed {
			at = make([]float64, len(p.A))
		}
		for j := range at {
			at[j] = float64(j / stride % columns)
		}
		out[k], stride = p.Expect(at, transposed, false), stride*columns
	}
	return out
}
