package score

import (
	"errors"
	"math"

	"coupling/score/internal/fault"
	"coupling/score/internal/resume"

	"gonum.org/v1/gonum/mat"
)

// The kinds of error of this package, for errors.Is.
var (
	// ErrShape reports sizes that do not fit each other or are zero.
	ErrShape = errors.New("shape mismatch")
	// ErrParameter reports another argument out of range.
	ErrParameter = resume.ErrParameter
	// ErrNoDensity reports a field whose density is not known.
	ErrNoDensity = errors.New("no density")
	// ErrDiverged reports chains that became infinite, usually because the step is too long.
	ErrDiverged = resume.ErrDiverged
)

var bad, misfit = fault.In("score", ErrParameter), fault.In("score", ErrShape)

// A Field is the score of a density p on R^d, smoothed: p_σ is p convolved with N(0, σ²I), and p itself where σ = 0.
type Field interface {
	// Dim returns d.
	Dim() int
	// Score writes ∇ log p_σ(x_i) to row i of dst, N×d as x, which it may not overlap. A
	// conditional field may have another density for each row.
	Score(dst, x *mat.Dense, sigma float64) error
}

// Prepare returns the field to ask for the scores of n points many times, of the values of f bit
// for bit, and what ends its use. It is f itself, but for fields with a method
//
//	Prepare(n int) (Field, func())
//
// such as networks, which record their pass. Samplers call it.
func Prepare(f Field, n int) (Field, func()) {
	if p, ok := f.(interface{ Prepare(n int) (Field, func()) }); ok {
		return p.Prepare(n)
	}
	return f, func() {}
}

// A Density is a Field with log p_σ too, up to a constant for each row.
type Density interface {
	Field
	// LogDensity writes log p_σ(x_i) to dst, of length N. Its error wraps ErrNoDensity if the
	// density is not known after all.
	LogDensity(dst []float64, x *mat.Dense, sigma float64) error
}

// CheckBatch returns an error for wrong arguments of the Score of a field of dimension d. dst may be nil.
func CheckBatch(d int, dst, x *mat.Dense, sigma float64) error {
	n, k := x.Dims()
	if k != d {
		return misfit("x is %d×%d: must have %d columns", n, k, d)
	}
	if dst != nil {
		if a, b := dst.Dims(); a != n || b != k {
			return misfit("dst is %d×%d, x is %d×%d", a, b, n, k)
		}
	}
	return checkSigma(sigma)
}

// checkDensity returns an error for wrong arguments of a density of dimension d.
func checkDensity(d int, dst []float64, x *mat.Dense, sigma float64) error {
	if n, _ := x.Dims(); len(dst) != n {
		return misfit("dst has length %d, x has %d rows", len(dst), n)
	}
	return CheckBatch(d, nil, x, sigma)
}

func checkSigma(sigma float64) error {
	if !(sigma >= 0) || math.IsInf(sigma, 1) {
		return bad("sigma = %g: must be finite and ≥ 0", sigma)
	}
	return nil
}

// legendre are the nodes on [0, 1] and the weights of Gauss–Legendre quadrature with five points, exact for polynomials
// of degree 9.
var legendre = [5][2]float64{
	{0.04691007703066800, 0.11846344252809454},
	{0.23076534494715845, 0.23931433524968324},
	{0.5, 0.28444444444444444},
	{0.76923465505284155, 0.23931433524968324},
	{0.95308992296933200, 0.11846344252809454},
}

// LogRatio writes log p_σ(y_i) − log p_σ(x_i) to dst: from the field's density where it has one,
// else as the integral of the score along the segment from x_i to y_i, by Gauss–Legendre quadrature
// with five points, which is exact for Gaussians. Cost: two evaluations of the density, or five of
// the score.
func LogRatio(dst []float64, f Field, x, y *mat.Dense, sigma float64) error {
	n, d := x.Dims()
	if len(dst) != n {
		return misfit("dst has length %d, x has %d rows", len(dst), n)
	}
	if err := CheckBatch(d, y, x, sigma); err != nil {
		return err
	}
	if p, ok := f.(Density); ok {
		before := make([]float64, n)
		err := errors.Join(p.LogDensity(before, x, sigma), p.LogDensity(dst, y, sigma))
		if err == nil {
			for i := range dst {
				dst[i] -= before[i]
			}
			return nil
		}
		if !errors.Is(err, ErrNoDensity) {
			return err
		}
	}
	clear(dst)
	at, s := mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
	for _, node := range legendre {
		for i := range n {
			a, b, to := x.RawRowView(i), y.RawRowView(i), at.RawRowView(i)
			for k := range to {
				to[k] = a[k] + node[0]*(b[k]-a[k])
			}
		}
		if err := f.Score(s, at, sigma); err != nil {
			return err
		}
		for i := range n {
			a, b, g := x.RawRowView(i), y.RawRowView(i), s.RawRowView(i)
			for k := range g {
				dst[i] += node[1] * g[k] * (b[k] - a[k])
			}
		}
	}
	return nil
}
