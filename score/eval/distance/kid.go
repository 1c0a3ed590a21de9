package distance

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"coupling/lab/device/cpu"
	"coupling/lab/device/cpu/dense"
)

// Discrepancy is an estimate of a squared maximum mean discrepancy.
type Discrepancy struct {
	Value    float64 // unbiased, so that it may be negative
	StdError float64
}

// KID returns the unbiased estimate of the squared maximum mean discrepancy (Gretton et al. 2012,
// equation 3) with the kernel k(x, y) = (x·y/d + 1)³ of Bińkowski et al. (2018),
//
//	Σ_{i≠j} k(x_i, x_j)/(n(n−1)) + Σ_{i≠j} k(y_i, y_j)/(m(m−1)) − 2 Σ_ij k(x_i, y_j)/(nm),
//
// from all pairs, where the paper averages over random subsets. The standard error is the
// jackknife's: the spread of the estimates that leave out one row, which row sums of the kernel
// give without computing them anew. It is conservative (Efron and Stein 1981): right to first order
// where the distributions differ, and where they are equal, so that the first order vanishes, up to
// √2 times too large. Each sample has three rows or more. Cost (n + m)²·d, memory (n + m).
func KID(ctx context.Context, x, y *mat.Dense) (Discrepancy, error) {
	if err := pair("x", x, "y", y, 3); err != nil {
		return Discrepancy{}, err
	}
	n, _ := x.Dims()
	m, _ := y.Dims()
	var s sums
	s.xx, s.yy, s.xy, s.yx = make([]float64, n), make([]float64, m), make([]float64, n), make([]float64, m)
	for _, part := range []struct {
		sum  []float64
		a, b *mat.Dense
		own  bool
	}{{s.xx, x, x, true}, {s.yy, y, y, true}, {s.xy, x, y, false}, {s.yx, y, x, false}} {
		if err := kernelSums(ctx, part.sum, part.a, part.b, part.own); err != nil {
			return Discrepancy{}, err
		}
	}
	return s.jackknife(), nil
}

// sums are, for each row, the sums of the kernel over the other rows of its sample and over those of the other sample.
type sums struct {
	xx, yy, xy, yx []float64
}

// jackknife is the estimate with the spread of those that leave out one row.
func (s *sums) jackknife() Discrepancy {
	n, m := float64(len(s.xx)), float64(len(s.yy))
	xx, yy, xy := floats.Sum(s.xx), floats.Sum(s.yy), floats.Sum(s.xy)
	value := xx/(n*(n-1)) + yy/(m*(m-1)) - 2*xy/(n*m)
	// without row i of x, which is in 2·xx_i of the sum over pairs
	variance := leftOut(s.xx, s.xy, func(own, cross float64) float64 {
		return (xx-2*own)/((n-1)*(n-2)) - 2*(xy-cross)/((n-1)*m)
	}) + leftOut(s.yy, s.yx, func(own, cross float64) float64 {
		return (yy-2*own)/((m-1)*(m-2)) - 2*(xy-cross)/(n*(m-1))
	})
	return Discrepancy{Value: value, StdError: math.Sqrt(variance)}
}

// leftOut is (n−1)/n Σ (U_i − mean U)², the jackknife's variance.
func leftOut(own, cross []float64, estimate func(own, cross float64) float64) float64 {
	u := make([]float64, len(own))
	for i := range u {
		u[i] = estimate(own[i], cross[i])
	}
	n := float64(len(u))
	return stat.Variance(u, nil) * (n - 1) * (n - 1) / n
}

const (
	kernelRows = 64
	kernelCols = 1024
)

// kernelSums writes Σ_j k(a_i, b_j), without j = i in one's own sample.
func kernelSums(ctx context.Context, sum []float64, a, b *mat.Dense, own bool) error {
	x, y := dense.View(a), dense.View(b)
	d := float64(x.Cols)
	return cpu.Chunks(ctx, x.Rows, kernelRows, func(_, lo, hi int) {
		var g cpu.Gemm[float64]
		buf := make([]float64, (hi-lo)*kernelCols)
		for at := 0; at < y.Rows && ctx.Err() == nil; at += kernelCols {
			end := min(at+kernelCols, y.Rows)
			c := cpu.Dense(buf[:(hi-lo)*(end-at)], hi-lo, end-at)
			clear(c.Data)
			g.Add(c, 1/d, x.Slice(lo, hi), y.Slice(at, end).T())
			for i := range c.Rows {
				for j, v := range c.Data[i*c.Cols : (i+1)*c.Cols] {
					if !own || lo+i != at+j {
						sum[lo+i] += (v + 1) * (v + 1) * (v + 1)
					}
				}
			}
		}
	})
}
