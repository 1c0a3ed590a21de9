package gaussian

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// A spectrum is the eigendecomposition V diag(value) Vᵀ of a covariance, values ascending. Values
// up to d·2^−52 of the largest, which may be rounding of the entries, are set to zero, since
// distances depend on their square roots.
type spectrum struct {
	value  []float64
	vector *mat.Dense
}

// negligible is the size, relative to the largest, up to which a negative eigenvalue counts as
// rounding.
const negligible = 1e-10

// decompose decomposes the covariance of this name, or returns an error if it is not a covariance.
func decompose(name string, a mat.Symmetric) (spectrum, error) {
	d := a.SymmetricDim()
	for i := range d {
		for j := i; j < d; j++ {
			if v := a.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return spectrum{}, fmt.Errorf("ot/gaussian: %s[%d][%d] = %v: %w", name, i, j, v, ErrCovariance)
			}
		}
	}
	var e mat.EigenSym
	if !e.Factorize(a, true) {
		return spectrum{}, fmt.Errorf("ot/gaussian: %s: eigenvalues did not converge: %w", name, ErrCovariance)
	}
	s := spectrum{value: e.Values(nil), vector: new(mat.Dense)}
	e.VectorsTo(s.vector)
	if low, high := s.value[0], s.value[d-1]; low < -negligible*math.Abs(high) {
		return spectrum{}, fmt.Errorf("ot/gaussian: %s has the eigenvalue %v (largest %v): %w", name, low, high,
			ErrCovariance)
	}
	for i, v := range s.value {
		if v <= float64(d)*0x1p-52*s.value[d-1] {
			s.value[i] = 0
		}
	}
	return s, nil
}

// sqrt returns V diag(√value) Vᵀ.
func (s spectrum) sqrt() *mat.SymDense { return rebuild(s.vector, s.value, math.Sqrt) }

// rebuild returns V diag(f(value)) Vᵀ.
func rebuild(vector *mat.Dense, value []float64, f func(float64) float64) *mat.SymDense {
	scaled := mat.DenseCopyOf(vector)
	scaled.Apply(func(_, j int, v float64) float64 { return v * f(value[j]) }, scaled)
	var full mat.Dense
	full.Mul(scaled, vector.T())
	return symmetric(&full, len(value))
}

// A product is the singular value decomposition U diag(σ) Vᵀ of A^½ B^½. Its singular values are
// the square roots of the eigenvalues of A^½ B A^½ = U σ² Uᵀ and B^½ A B^½ = V σ² Vᵀ, with twice
// the digits of an eigendecomposition of these.
type product struct {
	rootA, rootB *mat.SymDense
	σ            []float64
	u, v         mat.Dense
}

func multiply(nameA string, a *mat.SymDense, nameB string, b *mat.SymDense) (*product, error) {
	sa, err := decompose(nameA, a)
	if err != nil {
		return nil, err
	}
	sb, err := decompose(nameB, b)
	if err != nil {
		return nil, err
	}
	return multiplyRoots(sa.sqrt(), sb.sqrt())
}

// multiplyRoots returns the product of two roots.
func multiplyRoots(a, b *mat.SymDense) (*product, error) {
	p := &product{rootA: a, rootB: b}
	var r mat.Dense
	r.Mul(a, b)
	var svd mat.SVD
	if !svd.Factorize(&r, mat.SVDFull) {
		return nil, fmt.Errorf("ot/gaussian: singular values of a product of roots did not converge: %w",
			ErrCovariance)
	}
	p.σ = svd.Values(nil)
	svd.UTo(&p.u)
	svd.VTo(&p.v)
	return p, nil
}

// between returns A^½ U diag(h(σ) σ) Vᵀ B^½.
func (p *product) between(h func(σ float64) float64) *mat.Dense {
	scaled := mat.DenseCopyOf(&p.u)
	scaled.Apply(func(_, j int, v float64) float64 { return v * h(p.σ[j]) * p.σ[j] }, scaled)
	var c mat.Dense
	c.Mul(p.rootA, scaled)
	c.Mul(&c, p.v.T())
	c.Mul(&c, p.rootB)
	return &c
}

// symmetric returns the symmetric part.
func symmetric(a mat.Matrix, d int) *mat.SymDense {
	s := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			s.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	return s
}

// sandwich returns R A R for symmetric R and A.
func sandwich(r, a mat.Symmetric) *mat.SymDense {
	var ra, rar mat.Dense
	ra.Mul(r, a)
	rar.Mul(&ra, r)
	return symmetric(&rar, r.SymmetricDim())
}
