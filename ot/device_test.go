package ot_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/ottest"
)

// openDevice opens the device that COUPLING_DEVICE names, else the processor; it is closed, and must hold nothing, when
// the test ends.
func openDevice(tb testing.TB) *device.Device {
	tb.Helper()
	d := must.Get(device.Open(cmp.Or(os.Getenv("COUPLING_DEVICE"), "cpu")))
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// onDevice solves every problem on a device, one at a time.
type onDevice struct {
	ot.Solver
	in *inDevice
}

type inDevice struct {
	sync.Mutex
	dev  *device.Device
	wide bool
}

func (s onDevice) Solve(ctx context.Context, p ot.Problem) (*ot.Plan, error) {
	s.in.Lock()
	defer s.in.Unlock()
	var g *ot.OnDevice
	if c, ok := p.Geometry.(*cost.Cloud); ok {
		g = ot.PointsOn(s.in.dev, c.X(), c.Y(), c.Kind)
	} else {
		g = ot.DenseOn(s.in.dev, ot.Cost(p.Geometry))
	}
	if s.in.wide {
		g.Type = device.Float64
	}
	defer g.Close()
	p.Geometry = g
	return s.Solver.Solve(ctx, p)
}

func (s onDevice) From(g []float64) ot.Solver {
	s.Solver = s.Solver.(ot.WarmStarter).From(g)
	return s
}

// The laws hold on a device to the same tolerance on the marginals, and for the rest to what rounding costs to the
// element type allows.
func TestLawsOnDevice(t *testing.T) {
	d := openDevice(t)
	checks := "25" // a pass over next to nothing takes a device its latency, and the host solves them all anyway
	if testing.Short() {
		checks = "5"
	}
	fewer(t, checks)
	for name, s := range map[string]ottest.New{
		"lbfgs": func(eps, tol float64) ot.Solver { return ot.LBFGS{Eps: eps, Tol: tol} },
		"sinkhorn": func(eps, tol float64) ot.Solver {
			return ot.Sinkhorn{Eps: eps, Tol: tol, Control: ot.Control{MaxIter: 300}}
		},
		"newton": func(eps, tol float64) ot.Solver { return ot.Newton{Eps: eps, Tol: tol} },
	} {
		t.Run(name, func(t *testing.T) {
			in := &inDevice{dev: d}
			ottest.Float32Solver(t, func(eps, tol float64) ot.Solver { return onDevice{s(eps, tol), in} })
		})
	}
	t.Run("float64", func(t *testing.T) {
		in := &inDevice{dev: d, wide: true}
		ottest.Solver(t, func(eps, tol float64) ot.Solver { return onDevice{ot.LBFGS{Eps: eps, Tol: tol}, in} })
	})
}

// fewer has rapid check that many cases, for the length of the test.
func fewer(t *testing.T, checks string) {
	f := flag.Lookup("rapid.checks")
	if f == nil || f.Value.String() != f.DefValue {
		return // asked for
	}
	must.Do(f.Value.Set(checks))
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

// Whatever Tol and ε, the error that a plan reports is that of its float64 matrix, Converged is not said above Tol, and
// the plan is that of the host.
func TestHonestOnDevice(t *testing.T) {
	d := openDevice(t)
	rng := seeded(41, 1)
	n, m := 150, 130
	if testing.Short() {
		n, m = 60, 50
	}
	x, y, a, b := float32Problem(rng, n, m, 3)
	free := ot.MatrixFree(x, y, ot.SqEuclidean)
	c := ot.Cost(free)
	for name, g := range map[string]*ot.OnDevice{
		"points": ot.PointsOn(d, x, y, ot.SqEuclidean), "dense": ot.DenseOn(d, c),
		"held": ot.PointsOn(d, x, y, cost.Radial(func([]float64) {}, nil)),
	} {
		defer g.Close()
		for _, eps := range []float64{1, 0.05, 0.002} {
			want := mustSolve(t, ot.Newton{Eps: eps, Tol: 1e-11}, weighted(free, a, b))
			for _, tol := range []float64{1e-3, 1e-6, 1e-9, 1e-13, 1e-18} {
				got := solved(ot.LBFGS{Eps: eps, Tol: tol, Control: ot.Control{MaxIter: 500}},
					weighted(g, a, b))
				what := fmt.Sprintf("%s, ε = %g, Tol = %g", name, eps, tol)
				// A float64 pass errs by |c|/ε units in the last place, here up to 2e4.
				honest(t, what, got, tol, 0x1p-52*(8+mat.Max(c)/eps))
				if (got.Status == ot.Converged) != (got.MarginalL1 <= tol) ||
					tol == 1e-18 && got.Status == ot.Converged {
					t.Errorf("%s: %v at %g", what, got.Status, got.MarginalL1)
				}
				if tol >= 1e-9 && got.Status != ot.Converged {
					t.Errorf("%s: %v", what, got.Status)
				}
				allowed := 1e-7 // of the tolerance, at these conditions
				if name != "points" {
					allowed += 0x1p-24 * mat.Max(c) / eps
				}
				if l1 := apartL1(got, want); tol == 1e-9 && l1 > allowed {
					t.Errorf("%s: the plan is off by %g in L1, allowed is %g", what, l1, allowed)
				}
			}
		}
	}
}

// Costs that are widened some rows at a time, and evaluations: those in float32 that were not good enough are few.
func TestLargeOnDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("nine million costs")
	}
	d := openDevice(t)
	rng := seeded(46, 1)
	const n, m = 2900, 3000 // more than 1<<23
	x, y := cloud(rng, n, 2, 1, 0), cloud(rng, m, 2, 1, 1)
	host := ot.Dense(rounded(ot.Cost(ot.Points(x, y, ot.SqEuclidean))))
	g := ot.DenseOn(d, ot.Cost(host))
	defer g.Close()
	s := ot.LBFGS{Eps: 0.5, Tol: 1e-9}
	want := mustSolve(t, s, uniform(host))
	got := mustSolve(t, s, uniform(g))
	most := want.Evaluations + want.Evaluations/4 + 5
	if d.Info().Kind != "cpu" { // which begins with steps that copy nothing, more of them than L-BFGS would take
		most += want.Evaluations/2 + 32
	}
	if got.Evaluations > most {
		t.Errorf("%d evaluations, the host takes %d", got.Evaluations, want.Evaluations)
	}
	one := make([]float64, n)
	for i := range one {
		one[i] = 1
	}
	var l1 float64
	for j, v := range got.ApplyT(one) {
		l1 += math.Abs(v - got.B[j])
	}
	if !(l1 <= 1e-9) {
		t.Errorf("Apply's marginals are off by %g, the plan's by %g", l1, got.MarginalL1)
	}
	alike(t, "Barycentric", got.Barycentric(y).RawMatrix().Data, want.Barycentric(y).RawMatrix().Data)
	a, b := got.Value(), want.Value()
	alike(t, "values", []float64{a.Sharp, a.RegKL, a.KL}, []float64{b.Sharp, b.RegKL, b.KL})
}

func TestRefusalsOnDevice(t *testing.T) {
	d := openDevice(t)
	one := mat.NewDense(2, 1, []float64{0, 1})
	closed := ot.DenseOn(d, one)
	closed.Close()
	closed.Close()
	for name, c := range map[string]struct {
		g    cost.Geometry
		want error
	}{
		"no cost":  {ot.DenseOn(d, nil), ot.ErrShape},
		"no point": {ot.PointsOn(d, one, nil, ot.L1), ot.ErrShape},
		"NaN":      {ot.DenseOn(d, mat.NewDense(1, 2, []float64{0, math.NaN()})), ot.ErrCost},
		"overflow": {ot.DenseOn(d, mat.NewDense(1, 2, []float64{0, 1e39})), ot.ErrCost},
		"far":      {ot.PointsOn(d, one, mat.NewDense(1, 1, []float64{1e200}), ot.SqEuclidean), ot.ErrCost},
		"nil":      {ot.DenseOn(nil, one), ot.ErrParameter},
		"nil geom": {(*ot.OnDevice)(nil), ot.ErrShape},
		"closed":   {closed, ot.ErrUnsupported},
	} {
		_, err := ot.LBFGS{Eps: 1}.Solve(ctx, uniform(c.g))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if g, ok := c.g.(*ot.OnDevice); ok && g != nil {
			g.Close()
		}
	}
	wrong := ot.DenseOn(d, one)
	wrong.Type = device.Int32
	refused(t, "Type int32", failure((ot.LBFGS{Eps: 1}).Solve(ctx, uniform(wrong))), ot.ErrParameter)
}

// Where the device fails, a solve ends with what it said and no panic, nothing of it is left, and the geometry works
// again when the device does.
func TestFailuresOnDevice(t *testing.T) {
	rng := seeded(44, 1)
	x, y := cloud(rng, 40, 2, 1, 0), cloud(rng, 50, 2, 1, 1)
	for name, fail := range map[string]func(d *device.Device){
		"memory": func(d *device.Device) { d.New(device.Float32, 1<<30, 1<<30, 1<<2) },
		"closed": func(d *device.Device) { _ = d.Close() }, // which says that there are arrays
	} {
		for solver, s := range map[string]func(trace func(ot.Step) error) ot.Solver{
			"lbfgs": func(f func(ot.Step) error) ot.Solver {
				return ot.LBFGS{Eps: 0.05, Control: ot.Control{Trace: f}}
			},
			"sinkhorn": func(f func(ot.Step) error) ot.Solver {
				return ot.Sinkhorn{Eps: 0.05, Control: ot.Control{Trace: f}}
			},
			"unbalanced": func(f func(ot.Step) error) ot.Solver {
				return ot.Unbalanced{Eps: 0.05, RhoA: 1, RhoB: 1, Control: ot.Control{Trace: f}}
			},
		} {
			d := must.Get(device.Open(cmp.Or(os.Getenv("COUPLING_DEVICE"), "cpu")))
			g := ot.PointsOn(d, x, y, ot.SqEuclidean)
			good := must.Get(s(nil).Solve(ctx, uniform(g)))
			_, err := s(func(st ot.Step) error {
				if st.Evaluation == 3 {
					fail(d)
				}
				return nil
			}).Solve(ctx, uniform(g))
			if err == nil || name == "memory" && !errors.Is(err, device.ErrMemory) {
				t.Errorf("%s, %s: %v", name, solver, err)
			}
			if n, _, _ := d.Live(); n != 0 {
				t.Errorf("%s, %s: %d arrays live on", name, solver, n)
			}
			// What the plan computes is as right without the device.
			v := make([]float64, 50)
			v[7] = 1
			if col := good.Apply(v); !(total(col) > 0) {
				t.Errorf("%s, %s: a column of the plan is %v", name, solver, col)
			}
			if name == "memory" {
				if err := d.Recover(); !errors.Is(err, device.ErrMemory) {
					t.Errorf("%s, %s: the device's own error is %v", name, solver, err)
				}
				again, err := s(nil).Solve(ctx, uniform(g))
				if err != nil {
					t.Errorf("%s, %s: after Recover: %v", name, solver, err)
				} else {
					alike(t, "the plan after a failure", again.Beta, good.Beta)
				}
			}
			g.Close()
			if err := d.Close(); err != nil {
				t.Errorf("%s, %s: Close: %v", name, solver, err)
			}
		}
	}
}

func total(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

// Geometries on one device may be solved at the same time, each its own result: what the race detector looks at.
func TestSharedOnDevice(t *testing.T) {
	d := openDevice(t)
	rng := seeded(46, 1)
	x, y := cloud(rng, 40, 2, 1, 0), cloud(rng, 50, 2, 1, 1)
	some := func() []*ot.OnDevice {
		return []*ot.OnDevice{ot.PointsOn(d, x, y, ot.SqEuclidean), ot.DenseOn(d, ot.Cost(ot.Points(x, y, ot.L1))),
			ot.PointsOn(d, y, x, ot.Euclidean)}
	}
	solve := func(g *ot.OnDevice) []float64 {
		defer g.Close()
		p, err := ot.LBFGS{Eps: 0.1, Tol: 1e-9}.Solve(ctx, uniform(g))
		if err != nil {
			t.Error(err)
			return nil
		}
		return append(p.Apply(p.Beta), p.Beta...)
	}
	together := make([][]float64, len(some()))
	var all sync.WaitGroup
	for i, g := range some() {
		all.Go(func() { together[i] = solve(g) })
	}
	all.Wait()
	for i, g := range some() {
		if alone := solve(g); !slices.Equal(alone, together[i]) {
			t.Errorf("geometry %d: %v, together with others %v", i, alone, together[i])
		}
	}
}

// A device that has no memory for the costs says so, and is as it was.
func TestNoMemoryOnDevice(t *testing.T) {
	d := openDevice(t)
	if d.Info().Kind == "cpu" {
		t.Skip("the processor lends memory that it does not have")
	}
	noMemory(t, d)
}

func noMemory(t *testing.T, d *device.Device) {
	_, total := must.Get2(d.Memory())
	// All but a little of the memory, then costs that do not fit.
	var hoard []*device.Array
	for size := total / 4; size > 1<<18; {
		a := d.New(device.Float32, int(size/4))
		if d.Recover() != nil {
			size /= 2
			continue
		}
		hoard = append(hoard, a)
	}
	g := ot.DenseOn(d, mat.NewDense(600, 600, nil))
	_, err := ot.LBFGS{Eps: 1}.Solve(ctx, uniform(g))
	if !errors.Is(err, device.ErrMemory) {
		t.Errorf("%v, want ErrMemory", err)
	}
	for _, a := range hoard {
		a.Free()
	}
	if n, bytes, _ := d.Live(); n != 0 {
		t.Errorf("%d arrays of %d bytes live on", n, bytes)
	}
	if _, err = (ot.LBFGS{Eps: 1}).Solve(ctx, uniform(g)); err != nil {
		t.Errorf("with memory: %v", err)
	}
	g.Close()
}

// Points lose nothing to float32, nor do costs that are held in float64: the reference cases ask
// for every digit of both. A machine without the folder of references has those that travel with
// the package.
func TestReferencesOnDevice(t *testing.T) {
	d := openDevice(t)
	t.Run("embedded", func(t *testing.T) { referencesOn(t, d, ottest.Embedded(t)) })
	t.Run("folder", func(t *testing.T) { referencesOn(t, d, ottest.References(t)) })
}

func referencesOn(t *testing.T, d *device.Device, cases []*ottest.Case) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			dense := ot.DenseOn(d, ottest.Dense(c.M))
			dense.Type = device.Float64
			geometries := []*ot.OnDevice{dense}
			if c.X != nil {
				geometries = append(geometries, ot.PointsOn(d, ottest.Dense(c.X), ottest.Dense(c.Y), c.PointCost()))
			}
			for _, g := range geometries {
				for name, s := range solvers(c.Eps, 1e-12) {
					p, err := s.Solve(ctx, weighted(g, c.A, c.B))
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					ottest.Check(t, c, p)
				}
				g.Close()
			}
		})
	}
}

// The whole CUDA path without a GPU: the emulator, which is slow.
func TestEmulatedOnDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("the solvers on the emulator")
	}
	if os.Getenv("COUPLING_DEVICE") != "" {
		t.Skip("COUPLING_DEVICE names a device, which the other tests use")
	}
	t.Setenv("PTXSIM_MEMORY", "33554432")
	path, err := exec.Command("go", "run", "coupling/lab/device/ptxsim").Output()
	if err != nil {
		t.Skipf("the emulator is built by go and a C++20 compiler: %v", err)
	}
	d := must.Get(device.CUDA{Driver: strings.TrimSpace(string(path)), CuBLAS: "none"}.Open())
	t.Run("references", func(t *testing.T) { referencesOn(t, d, ottest.Embedded(t)) })
	t.Run("plan", func(t *testing.T) {
		planOn(t, d, 3, cost.SqEuclideanL1(0.5))
		planOn(t, d, 17, ot.SqEuclidean)
		planOn(t, d, 2, cost.Power(1.5))
	})
	t.Run("no memory", func(t *testing.T) { noMemory(t, d) })
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
