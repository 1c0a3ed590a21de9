package distance

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/gaussian"
)

// ErrArgument is wrapped by every error about an argument.
var ErrArgument = errors.New("bad argument")

// Frechet is the squared Fréchet distance of the Gaussians with means and covariances (divisor n−1) of the rows of x and
// y (Heusel et al. 2017, equation 6),
//
//	|m_x − m_y|² + tr A + tr B − 2 tr (A^½ B A^½)^½,
//
// in the features of Inception what is called FID. Covariances may be singular: there are no inverses, and nothing is
// added to a diagonal. Its accuracy is 1e-15 of tr A + tr B. It needs two rows each; it is biased upwards at finite n,
// so compare at equal n. O(n d² + d³): about a minute for d = 2,048.
func Frechet(x, y *mat.Dense) (float64, error) {
	if err := pair("x", x, "y", y, 2); err != nil {
		return 0, err
	}
	p, err := gaussian.Empirical(x)
	if err != nil {
		return 0, fmt.Errorf("distance: x: %w", err)
	}
	q, err := gaussian.Empirical(y)
	if err != nil {
		return 0, fmt.Errorf("distance: y: %w", err)
	}
	return gaussian.Wasserstein(p, q)
}

// pair refuses samples of different width, of fewer rows than so many and with values that are not finite.
func pair(nameX string, x *mat.Dense, nameY string, y *mat.Dense, least int) error {
	if x.IsEmpty() || y.IsEmpty() {
		return fmt.Errorf("distance: %s or %s is empty: %w", nameX, nameY, ErrArgument)
	}
	n, d := x.Dims()
	m, e := y.Dims()
	if d != e || min(n, m) < least {
		return fmt.Errorf("distance: %s is %d×%d, %s %d×%d: must have equal columns and %d rows or more: %w",
			nameX, n, d, nameY, m, e, least, ErrArgument)
	}
	return errors.Join(finite(nameX, x), finite(nameY, y))
}

func finite(name string, x *mat.Dense) error {
	n, _ := x.Dims()
	for i := range n {
		for j, v := range x.RawRowView(i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("distance: %s[%d][%d] = %v: must be finite: %w", name, i, j, v, ErrArgument)
			}
		}
	}
	return nil
}
