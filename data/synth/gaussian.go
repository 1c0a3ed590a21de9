package synth

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Gaussian is a normal distribution on R^d. Its covariance may be singular.
type Gaussian struct {
	mean []float64
	cov  *mat.SymDense
	root *mat.Dense // root·rootᵀ = cov
}

// NewGaussian returns the normal distribution with the given mean [d] and
// covariance [d, d], both copied; a nil mean is zero. It returns an error when
// the sizes differ, a value is not finite, or the covariance has an eigenvalue
// that is negative beyond rounding. Cost O(d³).
func NewGaussian(mean []float64, cov mat.Symmetric) (*Gaussian, error) {
	d := cov.SymmetricDim()
	if d == 0 {
		return nil, fmt.Errorf("synth: cov is empty")
	}
	if mean == nil {
		mean = make([]float64, d)
	}
	if len(mean) != d {
		return nil, fmt.Errorf("synth: mean has %d entries and cov is %d×%d: want the same", len(mean), d, d)
	}
	for i, m := range mean {
		if math.IsNaN(m) || math.IsInf(m, 0) {
			return nil, fmt.Errorf("synth: mean[%d] = %v: must be finite", i, m)
		}
	}
	root, err := squareRoot(cov)
	if err != nil {
		return nil, err
	}
	g := &Gaussian{mean: append([]float64(nil), mean...), cov: mat.NewSymDense(d, nil), root: root}
	g.cov.CopySym(cov)
	return g, nil
}

// squareRoot returns U·√S for the eigendecomposition cov = U·S·Uᵀ.
func squareRoot(cov mat.Symmetric) (*mat.Dense, error) {
	d := cov.SymmetricDim()
	for i := range d {
		for j := range i + 1 {
			if v := cov.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("synth: cov[%d, %d] = %v: must be finite", i, j, v)
			}
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(cov, true) {
		return nil, fmt.Errorf("synth: cov: the eigenvalues of a %d×%d matrix did not converge", d, d)
	}
	values := eigen.Values(nil) // ascending
	// Backward error of the symmetric eigenproblem: some d·2⁻⁵² of the norm.
	tiny := float64(d) * 0x1p-50 * math.Max(math.Abs(values[0]), math.Abs(values[d-1]))
	root := &mat.Dense{}
	eigen.VectorsTo(root)
	for j, v := range values {
		if v < -tiny {
			return nil, fmt.Errorf("synth: cov has the eigenvalue %v: must not be negative", v)
		}
		for i := range d {
			root.Set(i, j, root.At(i, j)*math.Sqrt(max(v, 0)))
		}
	}
	return root, nil
}

// Dim returns the dimension d.
func (g *Gaussian) Dim() int { return len(g.mean) }

// Mean returns a copy of the mean [d].
func (g *Gaussian) Mean() []float64 { return append([]float64(nil), g.mean...) }

// Cov returns a copy of the covariance [d, d].
func (g *Gaussian) Cov() *mat.SymDense {
	cov := mat.NewSymDense(g.Dim(), nil)
	cov.CopySym(g.cov)
	return cov
}

// Sample draws n points [n, d]. It returns an error when n is negative. Cost O(n·d²).
func (g *Gaussian) Sample(rng *rand.Rand, n int) (*mat.Dense, error) {
	white, err := Normal(rng, n, g.Dim())
	if err != nil || n == 0 {
		return white, err
	}
	points := mat.NewDense(n, g.Dim(), nil)
	points.Mul(white, g.root.T())
	for i := range n {
		row := points.RawRowView(i)
		for j, m := range g.mean {
			row[j] += m
		}
	}
	return points, nil
}

// Normal draws n points [n, d] from the standard normal distribution, row by
// row. It returns an error when n is negative or d is not positive.
func Normal(rng *rand.Rand, n, d int) (*mat.Dense, error) {
	if err := count(n); err != nil {
		return nil, err
	}
	if d < 1 {
		return nil, fmt.Errorf("synth: d = %d: must be positive", d)
	}
	if n == 0 {
		return &mat.Dense{}, nil
	}
	values := make([]float64, n*d)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	return mat.NewDense(n, d, values), nil
}

// GaussianPair draws the problem of the SCONES paper's Table 2: two centred
// normal distributions on R^d whose covariances are drawn independently by
// [RandomCovariance] with eigenvalues uniform in [1, 10]. It returns an error
// when d is not positive.
func GaussianPair(rng *rand.Rand, d int) (source, target *Gaussian, err error) {
	var pair [2]*Gaussian
	for i := range pair {
		cov, err := RandomCovariance(rng, d, 1, 10)
		if err != nil {
			return nil, nil, err
		}
		if pair[i], err = NewGaussian(nil, cov); err != nil {
			return nil, nil, err
		}
	}
	return pair[0], pair[1], nil
}

// RandomCovariance draws a covariance U·diag(s)·Uᵀ [d, d] with U from the Haar
// measure on orthogonal matrices and s independent and uniform in [low, high].
// It returns an error unless d ≥ 1 and 0 ≤ low ≤ high < ∞. Cost O(d³).
func RandomCovariance(rng *rand.Rand, d int, low, high float64) (*mat.SymDense, error) {
	if !(0 <= low && low <= high && high <= math.MaxFloat64) {
		return nil, fmt.Errorf("synth: low = %v, high = %v: want 0 ≤ low ≤ high < ∞", low, high)
	}
	u, err := Haar(rng, d)
	if err != nil {
		return nil, err
	}
	for j := range d {
		s := math.Sqrt(low + (high-low)*rng.Float64())
		for i := range d {
			u.Set(i, j, u.At(i, j)*s)
		}
	}
	cov := &mat.SymDense{}
	cov.SymOuterK(1, u)
	return cov, nil
}

// Haar draws a matrix [d, d] from the Haar measure on the orthogonal group
// O(d): its law does not change under multiplication by any orthogonal matrix.
// It is the factor Q of a matrix of independent normal values, with signs such
// that R has a positive diagonal (Mezzadri 2007, section 5). It returns an
// error when d is not positive. Cost O(d³).
func Haar(rng *rand.Rand, d int) (*mat.Dense, error) {
	if d < 1 {
		return nil, fmt.Errorf("synth: d = %d: must be positive", d)
	}
	ginibre, err := Normal(rng, d, d)
	if err != nil {
		return nil, err
	}
	var qr mat.QR
	qr.Factorize(ginibre)
	var q, r mat.Dense
	qr.QTo(&q)
	qr.RTo(&r)
	for j := range d {
		if r.At(j, j) >= 0 {
			continue
		}
		for i := range d {
			q.Set(i, j, -q.At(i, j))
		}
	}
	return &q, nil
}
