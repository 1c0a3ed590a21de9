package scones

import (
	"cmp"

	"coupling/score/internal/fault"

	"gonum.org/v1/gonum/mat"
)

// checkPoints returns an error for a cloud without points, or with an entry that is not finite or
// whose square, and so a cost, is not.
func checkPoints(name string, m *mat.Dense) error {
	if m == nil || m.IsEmpty() {
		return misfit("%s is empty", name)
	}
	return fault.Finite(bad, name, m, func(v float64) float64 { return v * v }, ", and its square too")
}

// CheckClouds returns an error for two clouds of points, as rows, that are empty, of different
// dimensions, or have an entry that is not finite or has no finite square.
func CheckClouds(x, y *mat.Dense) error {
	if err := cmp.Or(checkPoints("x", x), checkPoints("y", y)); err != nil {
		return err
	}
	_, a := x.Dims()
	_, b := y.Dims()
	if a != b {
		return misfit("points of dimension %d and %d", a, b)
	}
	return nil
}
