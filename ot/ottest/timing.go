package ottest

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
)

// Timing is one of the shared timing problems, with its mean cost |x−y|² under a⊗b.
type Timing struct {
	X, Y     *mat.Dense
	A, B     []float64
	MeanCost float64
}

// LoadTiming reads the timing problem with n points in dimension d; it skips where the files are absent.
func LoadTiming(tb testing.TB, n, d int) *Timing {
	tb.Helper()
	dir := Dir(tb, "ot-bench")
	get := func(which string, size int) []float64 {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("n%d_d%d_%s.f64", n, d, which)))
		if err != nil {
			tb.Fatal(err)
		}
		if len(data) != 8*size {
			tb.Fatalf("timing problem %d/%d %s: %d bytes, want %d", n, d, which, len(data), 8*size)
		}
		v := make([]float64, size)
		for i := range v {
			v[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		}
		return v
	}
	t := &Timing{X: mat.NewDense(n, d, get("x", n*d)), Y: mat.NewDense(n, d, get("y", n*d)), A: get("a", n), B: get("b", n)}
	row := make([]float64, n)
	g := ot.MatrixFree(t.X, t.Y, ot.SqEuclidean)
	for i, a := range t.A {
		for j, c := range g.Row(i, row) {
			t.MeanCost += a * t.B[j] * c
		}
	}
	return t
}
