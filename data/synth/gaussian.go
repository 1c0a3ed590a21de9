package synth

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

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

// RandomCovariance draws a covariance U·diag(s)·Uᵀ [d, d] with U from the Haar
// measure on orthogonal matrices and s independent and uniform in [low, high]:
// in SCONES' Table 2 from 1 to 10. Package ot/gaussian samples such a Gaussian.
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
