package exact

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/ot"
	"coupling/ot/internal/simplex"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Sliced is the sliced Wasserstein distance SW_P^P, the mean over directions θ of the unit sphere
// of W_P^P between the projections ⟨θ,x⟩ and ⟨θ,y⟩ (Rabin, Peyré, Delon and Bernot 2011), by Monte
// Carlo. The zero value has P = 2 and 100 directions.
type Sliced struct {
	P          float64 // exponent ≥ 1; 0 means 2
	Directions int     // 0 means 100
}

// Value returns SW_P^P between the rows of x (n×d) and of y (m×d) with weights a and b (nil:
// uniform). The standard error over directions falls with the root of their number. Cost:
// Directions × (n+m)(d + log(n+m)).
func (s Sliced) Value(ctx context.Context, rng *rand.Rand, x, y *mat.Dense, a, b []float64) (float64, error) {
	var sum simplex.Wide
	count, err := s.each(ctx, rng, x, y, func(_, px, py *mat.VecDense) error {
		v, err := Line{P: s.P}.Value(px.RawVector().Data, a, py.RawVector().Data, b)
		sum = sum.Add(v)
		return err
	})
	return sum.Hi / float64(count), err
}

// Gradient returns the Value, for the same directions, with its derivative by x, n×d: the mean over
// directions of Σ_j T_ij P|t|^(P−1) sign(t) θ, t = ⟨θ, x_i − y_j⟩, for the plan T of the
// projections (Bonneel, Rabin, Peyré and Pfister 2015). Where projections coincide there is no
// derivative, and this is that with the plan held fixed, and that of |t| at 0 taken as 0.
func (s Sliced) Gradient(ctx context.Context, rng *rand.Rand, x, y *mat.Dense, a, b []float64) (v float64,
	dx *mat.Dense, err error) {
	p := cmp.Or(s.P, 2)
	dx = &mat.Dense{}
	count, err := s.each(ctx, rng, x, y, func(theta, px, py *mat.VecDense) error {
		plan, err := Line{P: p}.Solve(ctx, px.RawVector().Data, a, py.RawVector().Data, b)
		if err != nil {
			return err
		}
		v += plan.Value
		slope := mat.NewVecDense(px.Len(), nil)
		for _, e := range plan.Arcs {
			t := px.AtVec(e.I) - py.AtVec(e.J)
			d := e.Mass * p * power(t, p-1)
			if p == 1 && t == 0 {
				d = 0
			}
			slope.SetVec(e.I, slope.AtVec(e.I)+math.Copysign(d, t))
		}
		if dx.IsEmpty() {
			dx.ReuseAs(x.Dims())
		}
		dx.RankOne(dx, 1, slope, theta)
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	dx.Scale(1/float64(count), dx)
	return v / float64(count), dx, nil
}

// Plan returns the plan, optimal along one of the directions, that costs least at |x−y|^P, and that
// cost: an upper bound of W_P^P (min-SWGG of Mahey et al. 2023, by sampling).
func (s Sliced) Plan(ctx context.Context, rng *rand.Rand, x, y *mat.Dense, a, b []float64) (best []Arc, v float64,
	err error) {
	p := cmp.Or(s.P, 2)
	v = math.Inf(1)
	_, err = s.each(ctx, rng, x, y, func(_, px, py *mat.VecDense) error {
		plan, err := Line{P: p}.Solve(ctx, px.RawVector().Data, a, py.RawVector().Data, b)
		if err != nil {
			return err
		}
		var sum simplex.Wide
		for _, e := range plan.Arcs {
			sum = sum.Add(e.Mass * power(floats.Distance(x.RawRowView(e.I), y.RawRowView(e.J), 2), p))
		}
		if sum.Hi < v {
			best, v = plan.Arcs, sum.Hi
		}
		return nil
	})
	return best, v, err
}

// each calls f with every direction and the projections on it, and returns their number.
func (s Sliced) each(ctx context.Context, rng *rand.Rand, x, y *mat.Dense, f func(theta, px, py *mat.VecDense) error) (
	int, error) {
	if x == nil || y == nil || x.IsEmpty() || y.IsEmpty() || x.RawMatrix().Cols != y.RawMatrix().Cols {
		return 1, fmt.Errorf("ot/exact: x and y must have points of the same dimension: %w", ot.ErrShape)
	}
	if s.Directions < 0 {
		return 1, fmt.Errorf("ot/exact: Directions = %d: must be >= 0 (0 is 100): %w", s.Directions, ot.ErrParameter)
	}
	count := cmp.Or(s.Directions, 100)
	n, d := x.Dims()
	m, _ := y.Dims()
	theta := mat.NewVecDense(d, nil)
	px, py := mat.NewVecDense(n, nil), mat.NewVecDense(m, nil)
	for k := range count {
		if err := simplex.Cancelled(ctx, 64*k); err != nil {
			return count, err
		}
		for i := range d {
			theta.SetVec(i, rng.NormFloat64())
		}
		theta.ScaleVec(1/mat.Norm(theta, 2), theta)
		px.MulVec(x, theta)
		py.MulVec(y, theta)
		if err := f(theta, px, py); err != nil {
			return count, err
		}
	}
	return count, nil
}
