package exact

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Cost is an n×m cost that is read a row at a time; every geometry of package ot is one. It must
// give the same numbers each time, since the simplex reads a row each time it prices its arcs.
type Cost interface {
	// Dims returns the numbers of sources n and targets m.
	Dims() (n, m int)
	// Row returns row i, of length m. It may fill and return buf, or return its own storage, which
	// the caller does not change.
	Row(i int, buf []float64) []float64
}

// Matrix is the cost held in a matrix. A matrix with raw storage (such as *mat.Dense) is read in place.
func Matrix(c mat.Matrix) Cost {
	r, ok := c.(mat.RawMatrixer)
	if !ok {
		r = mat.DenseCopyOf(c)
	}
	return dense{r.RawMatrix().Rows, r.RawMatrix().Cols, r.RawMatrix().Stride, r.RawMatrix().Data}
}

type dense struct {
	n, m, stride int
	data         []float64
}

func (d dense) Dims() (n, m int) { return d.n, d.m }

func (d dense) Row(i int, _ []float64) []float64 { return d.data[i*d.stride : i*d.stride+d.m] }

// checkCost reads the whole cost once. Potentials are sums of up to n+m costs and must not overflow.
func checkCost(ctx context.Context, c Cost) error {
	n, m := c.Dims()
	if n <= 0 || m <= 0 {
		return fmt.Errorf("ot/exact: cost is %d×%d: %w", n, m, ErrShape)
	}
	limit := math.MaxFloat64 / 8 / float64(n+m)
	buf := make([]float64, m)
	for i := range n {
		if err := cancelled(ctx, i); err != nil {
			return err
		}
		row := c.Row(i, buf)
		if len(row) != m {
			return fmt.Errorf("ot/exact: len(cost.Row(%d)) = %d, want %d: %w", i, len(row), m, ErrShape)
		}
		for j, v := range row {
			if !(math.Abs(v) <= limit) {
				return fmt.Errorf("ot/exact: cost[%d][%d] = %v: must be at most %.3g in size: %w", i, j, v, limit, ErrCost)
			}
		}
	}
	return nil
}

// cancelled reports the context's error, looking at it for every 64th row only.
func cancelled(ctx context.Context, row int) error {
	if row%64 == 0 && ctx.Err() != nil {
		return fmt.Errorf("ot/exact: stopped: %w", context.Cause(ctx))
	}
	return nil
}
