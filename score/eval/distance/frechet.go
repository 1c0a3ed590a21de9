package distance

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/score/internal/fault"
)

// ErrArgument is wrapped by every error about an argument.
var ErrArgument = errors.New("bad argument")

var bad = fault.In("distance", ErrArgument)

// Frechet returns the squared Fréchet distance of the Gaussians with means and covariances (divisor n−1)
// of the rows of x and y (Heusel et al. 2017, equation 6),
//
//	|m_x − m_y|² + tr A + tr B − 2 tr (A^½ B A^½)^½,
//
// in the features of Inception the FID. It is gaussian.Wasserstein of gaussian.Empirical, without
// the covariances: with any F and G for which FᵀF = A and GᵀG = B, the last trace is the sum of the
// singular values of FGᵀ, and centred rows over √(n−1) are such an F, or the triangle of their QR
// decomposition where rows are more than columns. So nothing is squared, covariances may be
// singular, and nothing is added to a diagonal. Its accuracy is 1e-15 of tr A + tr B. It needs two
// rows each; it is biased upwards at finite n, so compare at equal n. Cost: n d² + m d² and the
// singular values of a matrix of at most d×d: seconds for 2,048 features.
func Frechet(x, y *mat.Dense) (float64, error) {
	if err := pair("x", x, "y", y, 2); err != nil {
		return 0, err
	}
	f, mean := factor(x)
	g, other := factor(y)
	var product mat.Dense
	product.Mul(f, g.T())
	var svd mat.SVD
	if !svd.Factorize(&product, mat.SVDNone) {
		return 0, bad("singular values of the product of %d×%d features did not converge",
			x.RawMatrix().Rows, x.RawMatrix().Cols)
	}
	fidelity := floats.Sum(svd.Values(nil))
	apart := floats.Distance(mean, other, 2)
	return max(apart*apart+square(f)+square(g)-2*fidelity, 0), nil
}

// factor returns F with FᵀF the covariance of the rows of x, and their mean.
func factor(x *mat.Dense) (f mat.Matrix, mean []float64) {
	n, d := x.Dims()
	mean = make([]float64, d)
	for i := range n {
		floats.AddScaled(mean, 1/float64(n), x.RawRowView(i))
	}
	centred := mat.DenseCopyOf(x)
	for i := range n {
		floats.Sub(centred.RawRowView(i), mean)
	}
	centred.Scale(1/math.Sqrt(float64(n-1)), centred)
	if n <= d {
		return centred, mean
	}
	var qr mat.QR
	qr.Factorize(centred)
	var r mat.Dense
	qr.RTo(&r)
	return r.Slice(0, d, 0, d), mean
}

// square is the sum of the squares of all elements.
func square(a mat.Matrix) float64 {
	norm := mat.Norm(a, 2)
	return norm * norm
}

// pair refuses samples of different width, of fewer rows than so many and with values that are not
// finite or whose powers might not be.
func pair(nameX string, x *mat.Dense, nameY string, y *mat.Dense, least int) error {
	if x.IsEmpty() || y.IsEmpty() {
		return bad("%s or %s is empty", nameX, nameY)
	}
	n, d := x.Dims()
	m, e := y.Dims()
	if d != e || min(n, m) < least {
		return bad("%s is %d×%d, %s %d×%d: must have equal columns and %d rows or more",
			nameX, n, d, nameY, m, e, least)
	}
	return errors.Join(fault.InFloat32(bad, nameX, x), fault.InFloat32(bad, nameY, y))
}
