package ot_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"

	"gonum.org/v1/gonum/mat"
)

// A solver and a geometry in a module of their own compile and do what ours do.
func TestForeignModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module")
	}
	root := must.Get(filepath.Abs(".."))
	dir := t.TempDir()
	read := func(name string) string {
		b := must.Get(os.ReadFile(name))
		return string(b)
	}
	mod := strings.Replace(read(filepath.Join(root, "go.mod")), "module coupling", "module foreign", 1)
	mod += "\nrequire coupling v0.0.0\nreplace coupling => " + root + "\n"
	for name, text := range map[string]string{
		"go.mod": mod, "go.sum": read(filepath.Join(root, "go.sum")),
		"foreign_test.go": read("testdata/foreign/foreign_test.go"),
	} {
		must.Do(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	cmd := exec.Command("go", "test", "-mod=mod", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-trimpath", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// plain has the two methods of a geometry and nothing else of what it is made from.
type plain struct{ of cost.Geometry }

func (p plain) Dims() (n, m int)                   { return p.of.Dims() }
func (p plain) Row(i int, buf []float64) []float64 { return p.of.Row(i, buf) }

// BenchmarkWrapped solves with a matrix in a type of the user's own, in multiples of the time with the matrix as it is.
func BenchmarkWrapped(b *testing.B) {
	tm := loadTiming(b, 4096, 2)
	dense := ot.Dense(ot.Cost(ot.Points(tm.X, tm.Y, ot.SqEuclidean)))
	solve := func(g cost.Geometry) func() error {
		return func() error {
			_, err := ot.LBFGS{Eps: 0.1 * tm.MeanCost, Tol: 1e-6, Control: oneWorker}.Solve(ctx,
				weighted(g, tm.A, tm.B))
			return err
		}
	}
	least := inTurns(b, map[string]func() error{"dense": solve(dense), "wrapped": solve(plain{dense})})
	b.ReportMetric(least["dense"].Seconds()*1e3, "cpu-ms/op")
	b.ReportMetric(float64(least["wrapped"])/float64(least["dense"]), "×dense")
}

// A function of the user's own is called once for each coordinate of each pair, in a solve of many passes without a
// matrix of the user's too: calls bound the speed of such costs, while passes over what was computed are those of any.
func TestOwnCostIsCalledOnce(t *testing.T) {
	const n, m, d = 60, 70, 5
	rng := seeded(1, 2)
	x, y := cloud(rng, n, d, 1, 0), cloud(rng, m, d, 0.8, 0.5)
	for name, points := range map[string]func(x, y *mat.Dense, c cost.PointCost) *cost.Cloud{
		"Points": ot.Points, "MatrixFree": ot.MatrixFree,
	} {
		var calls atomic.Int64
		huber := cost.Separable(func(v []float64) {
			calls.Add(int64(len(v)))
			for k, t := range v {
				c := max(-1, min(1, t))
				v[k] = c * (t - c/2)
			}
		}, nil)
		plan := solved(ot.LBFGS{Eps: 0.1}, uniform(points(x, y, huber)))
		if got := calls.Load(); plan.Evaluations < 5 || got != n*m*d {
			t.Errorf("%s: %d calls in %d evaluations, want %d", name, got, plan.Evaluations, n*m*d)
		}
	}
}

// BenchmarkOwnCost fills 1024 rows of costs in 64 dimensions by Huber's function with and without an if, in multiples
// of the time of L1, which is built in.
func BenchmarkOwnCost(b *testing.B) {
	rng := seeded(1, 2)
	x, y := cloud(rng, 1024, 64, 1, 0), cloud(rng, 1024, 64, 1, 0.5)
	fill := func(c cost.PointCost) func() error {
		return func() error { ot.Cost(ot.MatrixFree(x, y, c)); return nil }
	}
	least := inTurns(b, map[string]func() error{
		"L1": fill(ot.L1),
		"huber": fill(cost.Separable(func(v []float64) {
			for j, t := range v {
				a := min(math.Abs(t), 1)
				v[j] = a * (math.Abs(t) - a/2)
			}
		}, nil)),
		"if": fill(cost.Separable(func(v []float64) {
			for j, t := range v {
				if v[j] = math.Abs(t) - 0.5; math.Abs(t) < 1 {
					v[j] = t * t / 2
				}
			}
		}, nil)),
	})
	b.ReportMetric(least["L1"].Seconds()*1e9/(1<<26), "cpu-ns/coordinate")
	b.ReportMetric(float64(least["huber"])/float64(least["L1"]), "huber×")
	b.ReportMetric(float64(least["if"])/float64(least["L1"]), "if×")
}

// One conditional law of a plan in a type of the user's own is the plan's.
func TestWrappedGeometry(t *testing.T) {
	x, y := mat.NewDense(4, 1, []float64{0, 1, 2, 3}), mat.NewDense(3, 1, []float64{0, 2, 4})
	g := ot.Points(x, y, ot.SqEuclidean)
	want := solved(ot.LBFGS{Eps: 0.5}, uniform(g))
	// What embeds a geometry has its gradients.
	got := solved(ot.LBFGS{Eps: 0.5}, uniform(struct{ *cost.Cloud }{g}))
	if !mat.Equal(must.Get(got.GradX()), must.Get(want.GradX())) {
		t.Error("the gradient of an embedded geometry is not that of the geometry")
	}
}
