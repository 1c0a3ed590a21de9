package exact_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/exact"
)

const timing = "../../../shared/refs/ot-bench"

// timingProblem reads a timing problem: weights, and points as rows of length d.
func timingProblem(tb testing.TB, n, d int) (a, b, x, y []float64) {
	tb.Helper()
	read := func(what string) []float64 {
		raw, err := os.ReadFile(filepath.Join(timing, fmt.Sprintf("n%d_d%d_%s.f64", n, d, what)))
		if err != nil {
			tb.Skipf("no timing problems: %v", err)
		}
		v := make([]float64, len(raw)/8)
		for i := range v {
			v[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		}
		return v
	}
	return read("a"), read("b"), read("x"), read("y")
}

// squared is the cost |x−y|² computed on demand.
func squared(x, y []float64, d int) exact.Rows {
	return exact.Rows{N: len(x) / d, M: len(y) / d, Fill: func(dst []float64, i int) {
		p := x[i*d : (i+1)*d]
		for j := range dst {
			q := y[j*d : j*d+d]
			s := 0.
			for k, v := range p {
				s += (v - q[k]) * (v - q[k])
			}
			dst[j] = s
		}
	}}
}

// held evaluates a cost into a matrix.
func held(c exact.Rows) *mat.Dense {
	t := mat.NewDense(c.N, c.M, nil)
	for i := range c.N {
		c.Fill(t.RawRowView(i), i)
	}
	return t
}

func BenchmarkSimplex(b *testing.B) {
	for _, n := range []int{256, 1024, 2048, 4096} {
		for _, d := range []int{2, 32} {
			b.Run(fmt.Sprintf("n=%d/d=%d", n, d), func(b *testing.B) {
				wa, wb, x, y := timingProblem(b, n, d)
				benchmark(b, wa, wb, ot.Dense(held(squared(x, y, d))))
			})
		}
	}
	for _, n := range []int{1024, 2048} {
		b.Run(fmt.Sprintf("rows/n=%d/d=2", n), func(b *testing.B) {
			wa, wb, x, y := timingProblem(b, n, 2)
			benchmark(b, wa, wb, squared(x, y, 2))
		})
	}
}

func benchmark(b *testing.B, wa, wb []float64, cost cost.Geometry) {
	var sol *exact.Plan
	for b.Loop() {
		var err error
		if sol, err = (exact.Simplex{}).Solve(b.Context(), ot.Problem{Geometry: cost, A: wa, B: wb}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(sol.Pivots), "pivots")
	b.ReportMetric(sol.Certificate.Bound()/sol.Value, "relative-gap")
}

func BenchmarkLine(b *testing.B) {
	for _, n := range []int{1000, 100000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i], y[i] = math.Sin(float64(i)), math.Cos(3*float64(i))
			}
			var sol *exact.Plan
			for b.Loop() {
				sol, _ = exact.Line{}.Solve(b.Context(), x, nil, y, nil)
			}
			b.ReportMetric(sol.Certificate.Bound()/sol.Value, "relative-gap")
		})
	}
}
