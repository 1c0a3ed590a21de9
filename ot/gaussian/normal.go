package gaussian

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"coupling/lab/device/cpu"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/rows"
)

// The kinds of error of this package, for errors.Is; all are kinds of package ot.
var (
	// ErrShape reports dimensions that do not fit each other or are zero.
	ErrShape = fault.ErrShape
	// ErrCovariance reports a covariance that is not finite or not positive semidefinite.
	ErrCovariance = fault.Sub("not a covariance", fault.ErrParameter)
	// ErrSingular reports a covariance that must be invertible, or have a positive trace, and does
	// not.
	ErrSingular = fault.Sub("singular covariance", fault.ErrParameter)
	// ErrParameter reports another argument out of range.
	ErrParameter = fault.ErrParameter
)

// Normal is a Gaussian N(Mean, Cov) on ℝᵈ. A nil Mean is zero.
type Normal struct {
	Mean []float64     // length d, or nil
	Cov  *mat.SymDense // d×d, positive semidefinite
}

// Dim returns d.
func (p Normal) Dim() int {
	if p.Cov == nil {
		return 0
	}
	return p.Cov.SymmetricDim()
}

// mean returns Mean_i, or 0 where Mean is nil.
func (p Normal) mean(i int) float64 {
	if p.Mean == nil {
		return 0
	}
	return p.Mean[i]
}

// check checks dimensions and that the mean is finite. Covariances are checked where they are
// decomposed.
func (p Normal) check(name string) error {
	if p.Dim() == 0 {
		return fmt.Errorf("ot/gaussian: %s.Cov is 0×0: %w", name, ErrShape)
	}
	if p.Mean != nil && len(p.Mean) != p.Dim() {
		return fmt.Errorf("ot/gaussian: len(%s.Mean) = %d, want %d: %w", name, len(p.Mean), p.Dim(), ErrShape)
	}
	for i, v := range p.Mean {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("ot/gaussian: %s.Mean[%d] = %v: %w", name, i, v, ErrParameter)
		}
	}
	return nil
}

func checkPair(p, q Normal) error {
	if err := errors.Join(p.check("p"), q.check("q")); err != nil {
		return err
	}
	if p.Dim() != q.Dim() {
		return fmt.Errorf("ot/gaussian: p has dimension %d, q %d: %w", p.Dim(), q.Dim(), ErrShape)
	}
	return nil
}

// Sample returns n draws as rows.
func (p Normal) Sample(rng *rand.Rand, n int) (*mat.Dense, error) {
	if err := p.check("p"); err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, fmt.Errorf("ot/gaussian: n = %d: must be positive: %w", n, ErrParameter)
	}
	root, err := decompose("p.Cov", p.Cov)
	if err != nil {
		return nil, err
	}
	x := mat.NewDense(n, p.Dim(), nil)
	x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, x)
	x.Mul(x, root.sqrt())
	x.Apply(func(_, j int, v float64) float64 { return v + p.mean(j) }, x)
	return x, nil
}

// Empirical returns the weighted mean m = Σ wᵢxᵢ and the unbiased covariance Σ wᵢ(xᵢ−m)(xᵢ−m)ᵀ/(1 −
// Σ wᵢ²) of the rows of x, whose weights are divided by their sum. Nil weights are equal: the
// divisor is then the usual n−1. Weights are importances, not counts, and at least two must be
// positive.
func Empirical(x mat.Matrix, w []float64) (Normal, error) {
	n, d := x.Dims()
	if n < 2 || d == 0 {
		return Normal{}, fmt.Errorf("ot/gaussian: x is %d×%d: needs two rows and a column: %w", n, d, ErrShape)
	}
	w, err := weights(w, n, "rows")
	if err != nil {
		return Normal{}, err
	}
	rest := 1 - floats.Dot(w, w)
	if !(rest > 0) {
		return Normal{}, fmt.Errorf("ot/gaussian: w: only one is positive: %w", fault.ErrWeights)
	}
	mean, centred := make([]float64, d), mat.DenseCopyOf(x)
	for j := range d {
		mean[j] = stat.Mean(mat.Col(nil, j, x), w)
	}
	for i := range n {
		floats.Sub(centred.RawRowView(i), mean)
	}
	floats.Scale(1/rest, w)
	cov := make([]float64, d*d)
	var gemm cpu.Gemm[float64]
	gemm.AddGram(cpu.Dense(cov, d, d), w, cpu.Dense(centred.RawMatrix().Data, n, d))
	if err := errors.Join(inRange(mean...), inRange(cov...)); err != nil {
		return Normal{}, err
	}
	return Normal{Mean: mean, Cov: mat.NewSymDense(d, cov)}, nil
}

// weights returns w divided by its sum, equal weights for nil.
func weights(w []float64, n int, what string) ([]float64, error) {
	bad := func(kind error, format string, args ...any) error {
		return fault.New("ot/gaussian", kind, format, args...)
	}
	w, _, err := rows.Weights(make([]float64, n), "w", w, what, bad)
	return w, err
}
