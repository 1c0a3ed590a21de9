package freg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/fdiv"
)

// alternate is generalised Sinkhorn, what Newton's method is there to beat: rows and columns are
// made right in turn, by the solutions of their equations. It stops at an L1 error of tol and
// returns the error, the dual's ψ and the iterations.
func alternate(in *instance, f family, lambda, tol float64, iterations int) (float64, []float64, int) {
	n, m := len(in.a), len(in.b)
	c, ct := mat.NewDense(n, m, nil), mat.NewDense(m, n, nil)
	for i := range n {
		c.SetRow(i, in.costs(i, make([]float64, m), make([]float64, m)))
	}
	ct.Copy(c.T())
	phi, psi, col := make([]float64, n), make([]float64, m), make([]float64, m)
	across, down := newRow(m, m), newRow(n, n)
	gx, gy := make([]float64, n), make([]float64, m)
	for k := 1; ; k++ {
		clear(col)
		for i := range n {
			across.load(f, lambda, psi, c.RawRowView(i))
			across.solve(f, in.b, gx[i])
			gx[i], phi[i] = across.x, lambda*across.x-across.top
			kern.Axpy(col, in.a[i], across.t)
		}
		if err := kern.L1Diff(col, in.b); err <= tol || k == iterations {
			return err, psi, k
		}
		for j := range m {
			down.load(f, lambda, phi, ct.RawRowView(j))
			down.solve(f, in.a, gy[j])
			gy[j], psi[j] = down.x, lambda*down.x-down.top
		}
	}
}

// twoClouds are n points each, and their mean cost.
func twoClouds(n int) (ot.Problem, float64) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, x)
	y.Apply(func(_, _ int, _ float64) float64 { return 1 + rng.NormFloat64()/2 }, y)
	return ot.Problem{Geometry: ot.Dense(ot.Cost(ot.Points(x, y, ot.SqEuclidean)))}, 4.5
}

// Two methods that share the row equation and nothing else find the same potentials.
func TestAlternateAgrees(t *testing.T) {
	p, mean := twoClouds(40)
	in := must.Get(check(p, 1))
	for _, d := range fdiv.All() {
		f, _ := familyOf(d)
		lambda := mean / 4
		off, psi, _ := alternate(in, f, lambda, 1e-12, 20000)
		if off > 1e-12 {
			t.Fatalf("%v: alternation is at %g", d, off)
		}
		plan := must.Get(Solver{F: d, Lambda: lambda, Tol: 1e-12}.Solve(t.Context(), p))
		shift := plan.Psi[0] - psi[0]
		for j, v := range psi {
			if math.Abs(plan.Psi[j]-v-shift) > 1e-9*mean {
				t.Fatalf("%v: ψ[%d] = %g, by alternation %g", d, j, plan.Psi[j]-shift, v)
			}
		}
	}
}

// Alternation, for comparison with BenchmarkSolve: at most 1000 iterations.
func BenchmarkAlternate(b *testing.B) {
	p, mean := twoClouds(200)
	in := must.Get(check(p, 1))
	for _, d := range []fdiv.Divergence{fdiv.KL, fdiv.ReverseKL, fdiv.ChiSquare, fdiv.Hellinger, fdiv.JensenShannon} {
		for _, rel := range []float64{1, 0.1, 0.01} {
			b.Run(fmt.Sprintf("%v/rel=%g", d, rel), func(b *testing.B) {
				f, _ := familyOf(d)
				var off float64
				var k int
				for b.Loop() {
					off, _, k = alternate(in, f, rel*mean, 1e-9, 1000)
				}
				b.ReportMetric(off, "L1")
				b.ReportMetric(float64(k), "iterations")
			})
		}
	}
}
