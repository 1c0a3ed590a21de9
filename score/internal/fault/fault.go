// Package fault makes the errors of packages about their arguments.
package fault

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// In returns a function like fmt.Errorf, whose errors begin with the name of a package and wrap kind.
func In(name string, kind error) func(format string, args ...any) error {
	return func(format string, args ...any) error {
		return fmt.Errorf(name+": "+format+": %w", append(args, kind)...)
	}
}

// Finite returns bad's error about the first entry v of m of which of(v) is not a number or
// infinite; too says what of is.
func Finite(bad func(string, ...any) error, name string, m *mat.Dense, of func(v float64) float64, too string) error {
	n, _ := m.Dims()
	for i := range n {
		for j, v := range m.RawRowView(i) {
			if s := of(v); s-s != 0 {
				return bad("%s[%d,%d] = %g: must be finite%s", name, i, j, v, too)
			}
		}
	}
	return nil
}

// InFloat32 is Finite of what networks see.
func InFloat32(bad func(string, ...any) error, name string, m *mat.Dense) error {
	return Finite(bad, name, m, func(v float64) float64 { return float64(float32(v)) }, ", in float32 too")
}
