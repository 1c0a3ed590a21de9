package distance

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu/dense"
	"coupling/score/eval/neighbour"
)

// Coverage measures the parts of one distribution that the other reaches. With B(x) the closed ball
// around a row that reaches its K-th neighbour in its own sample, for N real rows x_i and M
// generated rows y_j,
//
//	Precision = |{j : y_j ∈ ∪_i B(x_i)}|/M      generated rows that lie among real ones
//	Recall    = |{i : x_i ∈ ∪_j B(y_j)}|/N      real rows that lie among generated ones
//	Density   = Σ_j |{i : y_j ∈ B(x_i)}|/(K·M)  the same as Precision, with each ball counted; may exceed 1
//	Coverage  = |{i : B(x_i) holds some y_j}|/N
//
// (Kynkäänniemi et al. 2019, equations 1 and 2; Naeem et al. 2020, equations 3 and 5). For equal distributions and
// N = M the last two are expected at 1 and 1 − (N−1)…(N−K)/((2N−1)…(2N−K)), about 1 − 2^−K; the first two depend on
// the dimension. One outlier among the real rows has a ball that may hold everything, which Precision does not forgive
// and Density does: look at both.
type Coverage struct {
	Precision, Recall float64
	Density, Coverage float64
}

// Neighbours selects the neighbour that the balls reach. The zero value takes the third, as
// Kynkäänniemi et al.; Naeem et al. take the fifth.
type Neighbours struct {
	K int // 0: 3
}

// Coverage compares two samples of more than K rows each. Cost 4·n·m·d, memory n + m.
func (k Neighbours) Coverage(ctx context.Context, real, generated *mat.Dense) (Coverage, error) {
	if k.K == 0 {
		k.K = 3
	}
	if k.K < 0 {
		return Coverage{}, bad("K = %d: must be ≥ 1", k.K)
	}
	if err := pair("real", real, "generated", generated, k.K+1); err != nil {
		return Coverage{}, err
	}
	x, y := dense.View(real), dense.View(generated)
	among := neighbour.Search[float64]{K: k.K, Self: true}
	realBalls, err := among.Find(ctx, x, x)
	if err != nil {
		return Coverage{}, err
	}
	generatedBalls, err := among.Find(ctx, y, y)
	if err != nil {
		return Coverage{}, err
	}
	inReal, err := neighbour.Cover(ctx, y, x, realBalls.Furthest())
	if err != nil {
		return Coverage{}, err
	}
	inGenerated, err := neighbour.Cover(ctx, x, y, generatedBalls.Furthest())
	if err != nil {
		return Coverage{}, err
	}
	nearest, err := neighbour.Search[float64]{}.Find(ctx, x, y)
	if err != nil {
		return Coverage{}, err
	}
	covered, radii := 0, realBalls.Furthest()
	for i, d := range nearest.Square {
		if d <= radii[i] {
			covered++
		}
	}
	balls := 0
	for _, c := range inReal {
		balls += c
	}
	n, m := float64(x.Rows), float64(y.Rows)
	return Coverage{
		Precision: positive(inReal) / m, Recall: positive(inGenerated) / n,
		Density: float64(balls) / (float64(k.K) * m), Coverage: float64(covered) / n,
	}, nil
}

// positive returns the number of positive counts.
func positive(counts []int) (n float64) {
	for _, c := range counts {
		if c > 0 {
			n++
		}
	}
	return n
}
