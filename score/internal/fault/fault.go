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

// NotFinite returns "[i,j] = v" for the first entry v of m of which of(v) is not a number or infinite; "" for none.
func NotFinite(m *mat.Dense, of func(v float64) float64) string {
	n, _ := m.Dims()
	for i := range n {
		for j, v := range m.RawRowView(i) {
			if s := of(v); s-s != 0 {
				return fmt.Sprintf("[%d,%d] = %g", i, j, v)
			}
		}
	}
	return ""
}
