package exact

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/ot"
	"coupling/ot/internal/simplex"

	"gonum.org/v1/gonum/mat"
)

// Sliced is the sliced Wasserstein distance SW_P^P, the mean over directions θ of the unit sphere of W_P^P between the
// projections ⟨θ,x⟩ and ⟨θ,y⟩ (Rabin, Peyré, Delon and Bernot 2011), by Monte Carlo. The zero value has P = 2 and 100
// directions.
type Sliced struct {
	P          float64 // exponent ≥ 1; 0 means 2
	Directions int     // 0 means 100
}

// Value returns SW_P^P between the rows of x (n×d) and of y (m×d) with weights a and b (nil:
// uniform). The standard error over directions falls with the root of their number. Cost:
// Directions × (n+m)(d + log(n+m)).
func (s Sliced) Value(ctx context.Context, rng *rand.Rand, x, y *mat.Dense, a, b []float64) (float64, error) {
	if x == nil || y == nil || x.IsEmpty() || y.IsEmpty() || x.RawMatrix().Cols != y.RawMatrix().Cols {
		return 0, fmt.Errorf("ot/exact: x and y must have points of the same dimension: %w", ot.ErrShape)
	}
	if s.Directions < 0 {
		return 0, fmt.Errorf("ot/exact: Directions = %d: must be >= 0 (0 is 100): %w", s.Directions, ot.ErrCost)
	}
	count := cmp.Or(s.Directions, 100)
	n, d := x.Dims()
	m, _ := y.Dims()
	theta := mat.NewVecDense(d, nil)
	px, py := mat.NewVecDense(n, nil), mat.NewVecDense(m, nil)
	var sum simplex.Wide
	for k := range count {
		if err := simplex.Cancelled(ctx, 64*k); err != nil {
			return 0, err
		}
		for i := range d {
			theta.SetVec(i, rng.NormFloat64())
		}
		theta.ScaleVec(1/mat.Norm(theta, 2), theta)
		px.MulVec(x, theta)
		py.MulVec(y, theta)
		v, err := Line{P: s.P}.Value(px.RawVector().Data, a, py.RawVector().Data, b)
		if err != nil {
			return 0, err
		}
		sum = sum.Add(v)
	}
	return sum.Hi / float64(count), nil
}
