package ot_test

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/ot"
)

// Steps with the potentials on a device come to the plan of the host: relaxed and annealed, between
// points and with costs held, with weights of 0 and weights that are small. On a GPU most
// evaluations copy nothing to it.
func TestResidentOnDevice(t *testing.T) {
	d := openDevice(t)
	rng := seeded(47, 1)
	x, y, a, b := float32Problem(rng, 30, 25, 2)
	a[3], a[7], b[0], b[5] = 0, 1e-9, 0, 1e-7
	for _, w := range [][]float64{a, b} {
		mass := total(w)
		for i := range w {
			w[i] /= mass
		}
	}
	free := ot.MatrixFree(x, y, ot.SqEuclidean)
	for name, g := range map[string]*ot.OnDevice{"points": ot.PointsOn(d, x, y, ot.SqEuclidean),
		"held": ot.DenseOn(d, ot.Cost(free)), "wide": ot.DenseOn(d, ot.Cost(free))} {
		defer g.Close()
		if name == "wide" {
			g.Type = device.Float64
		}
		for _, eps := range []float64{1, .02} {
			const tol = 1e-8
			want := mustSolve(t, ot.Newton{Eps: eps, Tol: 1e-12}, weighted(free, a, b))
			for solver, s := range map[string]ot.Solver{
				"sinkhorn": ot.Sinkhorn{Eps: eps, Tol: tol}, "relaxed": ot.Sinkhorn{Eps: eps, Tol: tol, Relax: 1.5},
				"lbfgs": ot.LBFGS{Eps: eps, Tol: tol},
			} {
				before := d.Traffic()
				p, err := s.Solve(ctx, weighted(g, a, b))
				asked := d.Traffic().Minus(before)
				at := fmt.Sprintf("%s, %s, ε = %g", name, solver, eps)
				if err != nil || p.Status != ot.Converged || p.MarginalL1 > tol {
					t.Fatalf("%s: %v, %v", at, p, err)
				}
				t.Logf("%s: %d iterations, %d evaluations, %d uploads, %d waits", at, p.Iterations, p.Evaluations,
					asked.Uploads, asked.Waits)
				if solver == "sinkhorn" && d.Info().Kind != "cpu" && asked.Uploads > 60+int64(p.Evaluations)/2 {
					t.Errorf("%s: %d uploads in %d evaluations", at, asked.Uploads, p.Evaluations)
				}
				var off mat.Dense
				off.Sub(p.Matrix(), want.Matrix())
				allowed := 100. * tol // what an error of the marginals is to the plan, at these conditions
				if name == "held" {
					allowed += 0x1p-24 * mat.Max(ot.Cost(free)) / eps
				}
				if l1 := mat.Norm(mat.NewVecDense(30*25, off.RawMatrix().Data), 1); l1 > allowed {
					t.Errorf("%s: the plan is off by %g in L1, allowed is %g", at, l1, allowed)
				}
			}
		}
	}
}
