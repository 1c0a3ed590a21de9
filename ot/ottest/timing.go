package ottest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
)

// Timing is one of the shared timing problems, with its mean cost |x−y|² under a⊗b.
type Timing struct {
	X, Y     *mat.Dense
	A, B     []float64
	MeanCost float64
}

// ReadTiming reads the timing problem with n points in dimension d from a folder.
func ReadTiming(dir string, n, d int) (*Timing, error) {
	x, y := make([]float64, n*d), make([]float64, n*d)
	t := &Timing{A: make([]float64, n), B: make([]float64, n)}
	for name, v := range map[string][]float64{"x": x, "y": y, "a": t.A, "b": t.B} {
		path := filepath.Join(dir, fmt.Sprintf("n%d_d%d_%s.f64", n, d, name))
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if k, err := binary.Decode(data, binary.LittleEndian, v); err != nil || k != len(data) {
			return nil, fmt.Errorf("%s: %d bytes, want %d", path, len(data), 8*len(v))
		}
	}
	t.X, t.Y = mat.NewDense(n, d, x), mat.NewDense(n, d, y)
	row := make([]float64, n)
	g := ot.MatrixFree(t.X, t.Y, ot.SqEuclidean)
	for i, a := range t.A {
		for j, c := range g.Row(i, row) {
			t.MeanCost += a * t.B[j] * c
		}
	}
	return t, nil
}
