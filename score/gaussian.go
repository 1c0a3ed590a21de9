package score

import (
	"math"
	"slices"
	"sync/atomic"

	"coupling/lab/device/cpu/dense"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Gaussian is the exact field of N(m, S):
//
//	∇ log p_σ(x) = −(S + σ²I)⁻¹ (x − m).
//
// Immutable and safe for concurrent use.
type Gaussian struct {
	mean      []float64
	values    []float64  // eigenvalues of S
	vectors   *mat.Dense // their eigenvectors as columns
	precision *mat.Dense // S⁻¹; nil where S is singular
	recent    atomic.Pointer[[]noised]
}

// smallest is a variance whose inverse is just finite.
const smallest = 0x1p-1022

// noised is a precision (S + σ²I)⁻¹. The last eight are kept, since a chain takes many steps at one
// noise level, and the training of a network on this base asks for a few levels in turn.
type noised struct {
	sigma     float64
	precision *mat.Dense
}

// NewGaussian returns the field of a normal distribution. A nil mean is zero. The covariance may be
// singular; the field is then defined for σ > 0 only. Cost O(d³).
func NewGaussian(mean []float64, cov mat.Symmetric) (*Gaussian, error) {
	if cov == nil || cov.SymmetricDim() == 0 {
		return nil, misfit("the covariance is empty")
	}
	d := cov.SymmetricDim()
	if mean == nil {
		mean = make([]float64, d)
	}
	if len(mean) != d {
		return nil, misfit("a mean of length %d with a covariance of %d rows", len(mean), d)
	}
	var eig mat.EigenSym
	if slices.ContainsFunc(mean, func(v float64) bool { return v-v != 0 }) || !eig.Factorize(cov, true) {
		return nil, bad("mean or covariance is not finite")
	}
	g := &Gaussian{mean: append([]float64(nil), mean...), values: eig.Values(nil), vectors: new(mat.Dense)}
	eig.VectorsTo(g.vectors)
	least, most := g.values[0], g.values[d-1]
	if !(most >= 0) || math.IsInf(most, 1) || least < -1e-10*most {
		return nil, bad("the covariance has eigenvalues from %g to %g: must be ≥ 0", least, most)
	}
	for i, v := range g.values {
		g.values[i] = max(v, 0)
	}
	if least > max(float64(d)*0x1p-52*most, smallest) {
		g.precision = g.inverse(0)
	}
	return g, nil
}

// inverse is (S + σ²I)⁻¹.
func (g *Gaussian) inverse(sigma float64) *mat.Dense {
	d := len(g.mean)
	scaled := mat.NewDense(d, d, nil)
	scaled.Apply(func(_, j int, v float64) float64 { return v / math.Sqrt(g.values[j]+sigma*sigma) }, g.vectors)
	out := mat.NewDense(d, d, nil)
	out.Mul(scaled, scaled.T())
	return out
}

// Dim returns d.
func (g *Gaussian) Dim() int { return len(g.mean) }

// at returns the precision at a noise level.
func (g *Gaussian) at(sigma float64) (*mat.Dense, error) {
	switch {
	case sigma > 0 && g.values[0]+sigma*sigma > smallest:
		var known []noised
		if l := g.recent.Load(); l != nil {
			known = *l
		}
		for _, l := range known {
			if l.sigma == sigma {
				return l.precision, nil
			}
		}
		list := append([]noised{{sigma, g.inverse(sigma)}}, known[:min(len(known), 7)]...)
		g.recent.Store(&list)
		return list[0].precision, nil
	case sigma > 0 || g.precision == nil:
		return nil, bad("sigma = %g with a singular covariance: the score does not exist", sigma)
	}
	return g.precision, nil
}

// Score implements Field. Cost 2·N·d², and d³ if σ > 0 is not one of the last eight.
func (g *Gaussian) Score(dst, x *mat.Dense, sigma float64) error {
	if err := CheckBatch(g.Dim(), dst, x, sigma); err != nil {
		return err
	}
	p, err := g.at(sigma)
	if err != nil {
		return err
	}
	dense.Multiply(dst, centred(x, g.mean), p)
	dst.Scale(-1, dst)
	return nil
}

// LogDensity implements Density, with the constant. Cost 2·N·d².
func (g *Gaussian) LogDensity(dst []float64, x *mat.Dense, sigma float64) error {
	if err := checkDensity(g.Dim(), dst, x, sigma); err != nil {
		return err
	}
	p, err := g.at(sigma)
	if err != nil {
		return err
	}
	c := centred(x, g.mean)
	y := mat.NewDense(len(dst), g.Dim(), nil)
	dense.Multiply(y, c, p)
	constant := 0.0
	for _, v := range g.values {
		constant -= .5 * math.Log(2*math.Pi*(v+sigma*sigma))
	}
	for i := range dst {
		q := 0.0
		for k, v := range y.RawRowView(i) {
			q += v * c.At(i, k)
		}
		dst[i] = constant - q/2
	}
	return nil
}

// centred returns the rows of x less m.
func centred(x *mat.Dense, m []float64) *mat.Dense {
	c := mat.DenseCopyOf(x)
	for i := range c.RawMatrix().Rows {
		floats.Sub(c.RawRowView(i), m)
	}
	return c
}
