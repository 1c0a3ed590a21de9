package scones

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// checkPoints returns an error for a cloud without points, or with an entry that is not finite or
// whose square, and so a cost, is not.
func checkPoints(name string, m *mat.Dense) error {
	if m == nil || m.IsEmpty() {
		return fmt.Errorf("scones: %s is empty: %w", name, ErrShape)
	}
	n, _ := m.Dims()
	for i := range n {
		for j, v := range m.RawRowView(i) {
			if s := v * v; math.IsNaN(s) || math.IsInf(s, 0) {
				return fmt.Errorf("scones: %s[%d,%d] = %g: must be finite, and its square too: %w", name, i, j, v,
					ErrParameter)
			}
		}
	}
	return nil
}

// CheckClouds returns an error for two clouds of points, as rows, that are empty, of different
// dimensions, or have an entry that is not finite or has no finite square.
func CheckClouds(x, y *mat.Dense) error {
	if err := checkPoints("x", x); err != nil {
		return err
	}
	if err := checkPoints("y", y); err != nil {
		return err
	}
	_, a := x.Dims()
	_, b := y.Dims()
	if a != b {
		return fmt.Errorf("scones: points of dimension %d and %d: %w", a, b, ErrShape)
	}
	return nil
}
