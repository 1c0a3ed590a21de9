package freg_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/exact"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
)

// clouds is a problem between two Gaussian clouds with unequal weights, and its mean cost.
func clouds(seed uint64, n, m, d int) (ot.Problem, float64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	cloud := func(k int, at, scale float64) *mat.Dense {
		x := mat.NewDense(k, d, nil)
		x.Apply(func(_, _ int, _ float64) float64 { return at + scale*rng.NormFloat64() }, x)
		return x
	}
	weights := func(k int) []float64 {
		w := make([]float64, k)
		for i := range w {
			w[i] = 0.2 + rng.Float64()
		}
		return scaled(w, 1/sum(w))
	}
	p := ot.Problem{Geometry: ot.Points(cloud(n, 0, 1), cloud(m, 1, 0.5), ot.SqEuclidean), A: weights(n), B: weights(m)}
	return p, 2.25 * float64(d) // E|x−y|² = d(1 + 0.25 + 1)
}

func scaled(v []float64, by float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x * by
	}
	return out
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

func dot(x, y []float64) (s float64) {
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}

// tester is a testing.TB or a rapid.T.
type tester interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// reweighted is the problem with weights changed by edit, and scaled to sum to 1 again.
func reweighted(p ot.Problem, edit func(a, b []float64)) ot.Problem {
	p.A, p.B = slices.Clone(p.A), slices.Clone(p.B)
	edit(p.A, p.B)
	p.A, p.B = scaled(p.A, 1/sum(p.A)), scaled(p.B, 1/sum(p.B))
	return p
}

func solve(t tester, s freg.Solver, p ot.Problem) *freg.Plan {
	t.Helper()
	plan, err := s.Solve(t.Context(), p)
	if err != nil {
		t.Fatalf("%v, λ = %g: %v", s.F, s.Lambda, err)
	}
	if plan.Status != ot.Converged {
		t.Fatalf("%v, λ = %g: %v at %g after %d steps", s.F, s.Lambda, plan.Status, plan.MarginalL1, plan.Iterations)
	}
	return plan
}

// certify holds a plan to everything that is true of every converged plan, from outside.
func certify(t tester, p *freg.Plan) {
	t.Helper()
	name := fmt.Sprintf("%v, λ = %g", p.F, p.Lambda)
	n, m := p.Dims()
	c, tm, fm := ot.Cost(p.Geometry), p.Matrix(), p.Feasible()
	size := math.Max(math.Abs(mat.Max(c)), math.Abs(mat.Min(c))) + p.Lambda
	var off, bad, sharp, primal, dual float64
	col, fcol := make([]float64, m), make([]float64, m)
	dual = dot(p.A, p.Phi) + dot(p.B, p.Psi)
	if d := dot(p.A, p.Phi) - dot(p.B, p.Psi); math.Abs(d) > 1e-12*size {
		t.Errorf("%s: ⟨a,φ⟩ − ⟨b,ψ⟩ = %g", name, d)
	}
	for i := range n {
		row, frow := tm.RawRowView(i), fm.RawRowView(i)
		off += math.Abs(sum(row) - p.A[i])
		bad += math.Abs(sum(frow) - p.A[i])
		for j := range m {
			col[j] += row[j]
			fcol[j] += frow[j]
			w := p.A[i] * p.B[j]
			if w == 0 {
				if row[j] != 0 || frow[j] != 0 {
					t.Fatalf("%s: T[%d,%d] = %g where the weight is 0", name, i, j, row[j])
				}
				continue
			}
			if !(row[j] >= 0 && frow[j] >= 0) {
				t.Fatalf("%s: T[%d,%d] = %g, feasible %g", name, i, j, row[j], frow[j])
			}
			u := (p.Phi[i] + p.Psi[j] - c.At(i, j)) / p.Lambda
			if !(u < p.F.Bound()+1e-12*size/p.Lambda) {
				t.Fatalf("%s: u[%d,%d] = %g is not below %g", name, i, j, u, p.F.Bound())
			}
			// u from the potentials is coarser than what the plan is made of: its rounding,
			// magnified by the slope of M.
			if v := row[j] / w; u < p.F.Bound() && v > 0 && p.Lambda > 1e-3*size {
				tol := 1e-14 * (1 + size/p.Lambda) * (1 + p.F.Curvature(u)/math.Max(v, 1e-300))
				if got := p.F.Compatibility(u); math.Abs(got-v) > tol*(v+1) {
					t.Fatalf("%s: density[%d,%d] = %g, by the potentials %g", name, i, j, v, got)
				}
			}
			sharp += frow[j] * c.At(i, j)
			primal += frow[j]*c.At(i, j) + p.Lambda*w*p.F.F(frow[j]/w)
			dual -= p.Lambda * w * p.F.Conjugate(math.Min(u, p.F.Bound()-1e-300))
		}
	}
	for j := range m {
		off += math.Abs(col[j] - p.B[j])
		bad += math.Abs(fcol[j] - p.B[j])
	}
	const ulps = 1e-13 // some hundreds of roundings, of numbers that sum to 1
	if math.Abs(off-p.MarginalL1) > ulps {
		t.Errorf("%s: MarginalL1 = %g, the matrix's is %g", name, p.MarginalL1, off)
	}
	if bad > ulps {
		t.Errorf("%s: the feasible plan's marginals are off by %g", name, bad)
	}
	if p.Gap < 0 || math.Abs(p.Primal-p.Dual-p.Gap) > 1e-13*size*(1+math.Log1p(size/p.Lambda)) {
		t.Errorf("%s: Primal − Dual = %g, Gap = %g", name, p.Primal-p.Dual, p.Gap)
	}
	for _, v := range []struct {
		name      string
		got, want float64
	}{{"Sharp", p.Sharp, sharp}, {"Primal", p.Primal, primal}} {
		if math.Abs(v.got-v.want) > 1e-12*size {
			t.Errorf("%s: %s = %.17g, from the matrix %.17g", name, v.name, v.got, v.want)
		}
	}
	if p.Lambda > 1e-3*size && math.Abs(p.Dual-dual) > 1e-10*size {
		t.Errorf("%s: Dual = %.17g, from the potentials %.17g", name, p.Dual, dual)
	}
}

// The two-by-two problem of fdiv's documentation: densities 1 + t on the diagonal and 1 − t off it,
// where the slopes differ by the cost, f′(1+t) − f′(1−t) = 1/λ.
func TestTwoByTwo(t *testing.T) {
	p := ot.Problem{Geometry: ot.Dense(mat.NewDense(2, 2, []float64{0, 1, 1, 0}))}
	for _, d := range fdiv.All() {
		for _, lambda := range []float64{100, 1, 0.3, 0.1} {
			lo, hi := 0.0, 1.0
			for range 100 {
				mid := (lo + hi) / 2
				if d.Slope(1+mid)-d.Slope(1-mid) < 1/lambda {
					lo = mid
				} else {
					hi = mid
				}
			}
			plan := solve(t, freg.Solver{F: d, Lambda: lambda, Tol: 1e-13}, p)
			certify(t, plan)
			got := plan.Matrix()
			for _, e := range []struct{ got, want float64 }{{got.At(0, 0), (1 + lo) / 4},
				{got.At(0, 1), (1 - lo) / 4}} {
				if math.Abs(e.got-e.want) > 1e-14 {
					t.Errorf("%v, λ = %g: T = %v, want diagonal %g", d, lambda, mat.Formatted(got), (1+lo)/4)
				}
			}
		}
	}
	plan := solve(t, freg.Solver{F: fdiv.ChiSquare, Lambda: 1}, p)
	if math.Abs(plan.Phi[0]-1.25) > 1e-15 || math.Abs(plan.Psi[1]-1.25) > 1e-15 || math.Abs(plan.Dual-0.4375) > 1e-15 {
		t.Errorf("φ = %v, ψ = %v, value %g, want 1.25 and 0.4375", plan.Phi, plan.Psi, plan.Dual)
	}
	plan = solve(t, freg.Solver{F: fdiv.Pearson, Lambda: 0.24}, p)
	if diff := cmp.Diff([]float64{0.5, 0, 0, 0.5}, plan.Matrix().RawMatrix().Data); diff != "" {
		t.Errorf("λ < ¼ (−want +got):\n%s", diff)
	}
}

// Every certificate holds, for every divergence and λ, on problems that are ordinary but awkward.
func TestCertificates(t *testing.T) {
	base, mean := clouds(3, 25, 18, 2)
	outlier := ot.Cost(base.Geometry)
	outlier.Set(3, 4, 1e6)
	zeros := reweighted(base, func(a, b []float64) { a[0], a[7], b[17] = 0, 0, 0 })
	light := reweighted(base, func(_, b []float64) { b[2], b[5] = 1e-11, 1e-5 })
	negative := ot.Cost(base.Geometry)
	negative.Apply(func(_, _ int, v float64) float64 { return -v }, negative)
	blocks := mat.NewDense(20, 20, nil)
	blocks.Apply(func(i, j int, _ float64) float64 { return math.Abs(float64(i-j)) + 1e3*math.Abs(float64(i/10-j/10)) },
		blocks)
	for name, p := range map[string]ot.Problem{
		"clouds": base, "zero weights": zeros, "light weights": light,
		"outlier":    {Geometry: ot.Dense(outlier), A: base.A, B: base.B},
		"negative":   {Geometry: ot.Dense(negative), A: base.A, B: base.B},
		"blocks":     {Geometry: ot.Dense(blocks)},
		"coinciding": {Geometry: ot.Dense(mat.NewDense(6, 4, nil))},
		"one source": {Geometry: ot.Dense(mat.NewDense(1, 3, []float64{1, 5, -2}))},
		"one target": {Geometry: ot.Dense(mat.NewDense(3, 1, []float64{1, 5, -2})), A: []float64{1, 0, 3}},
		"one atom":   {Geometry: ot.Dense(mat.NewDense(1, 1, []float64{7}))},
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range fdiv.All() {
				for _, rel := range []float64{100, 1, 0.1, 0.01, 0.001} {
					certify(t, solve(t, freg.Solver{F: d, Lambda: mean * rel}, p))
				}
			}
		})
	}
}

// KL is package ot's plan and RegKL, with φ = f + λ/2.
func TestKLIsEntropic(t *testing.T) {
	p, mean := clouds(4, 30, 40, 3)
	p = reweighted(p, func(a, _ []float64) { a[3] = 0 })
	for _, rel := range []float64{10, 1, 0.1, 0.02} {
		eps := rel * mean
		want := must.Get(ot.LBFGS{Eps: eps, Tol: 1e-12}.Solve(t.Context(), p))
		got := solve(t, freg.Solver{Lambda: eps, Tol: 1e-12}, p)
		var d mat.Dense
		d.Sub(got.Matrix(), want.Matrix())
		if e := mat.Max(&d) - mat.Min(&d); e > 2e-12 { // an L1 error of 1e-12 each
			t.Errorf("λ = %g mean: plans differ by %g", rel, e)
		}
		if math.Abs(got.Dual-want.RegKL()) > 1e-12*mean || math.Abs(got.Sharp-want.Sharp()) > 1e-10*mean {
			t.Errorf("λ = %g mean: value %.15g, sharp %.15g; ot: %.15g, %.15g", rel, got.Dual, got.Sharp, want.RegKL(),
				want.Sharp())
		}
		for i, f := range want.F {
			if math.Abs(got.Phi[i]-f-eps/2) > 1e-9*mean {
				t.Fatalf("λ = %g mean: φ[%d] = %g, want f + λ/2 = %g", rel, i, got.Phi[i], f+eps/2)
			}
		}
		for j, g := range want.G {
			if math.Abs(got.Psi[j]-g-eps/2) > 1e-9*mean {
				t.Fatalf("λ = %g mean: ψ[%d] = %g, want g + λ/2 = %g", rel, j, got.Psi[j], g+eps/2)
			}
		}
	}
}

// Divergences that agree on probability measures have one plan, and potentials and values that differ by constants.
func TestSamePlans(t *testing.T) {
	p, mean := clouds(5, 20, 30, 2)
	for _, rel := range []float64{1, 0.1} {
		l := rel * mean
		for _, pair := range []struct {
			f, g          fdiv.Divergence
			shift, values float64
		}{{fdiv.ChiSquare, fdiv.Pearson, 2, 0}, {fdiv.JensenShannon, fdiv.GAN, math.Ln2, 2 * math.Ln2}} {
			f, g := solve(t, freg.Solver{F: pair.f, Lambda: l}, p), solve(t, freg.Solver{F: pair.g, Lambda: l}, p)
			if diff := cmp.Diff(f.Matrix().RawMatrix().Data, g.Matrix().RawMatrix().Data); diff != "" {
				t.Errorf("%v and %v: plans differ (one family, so to the bit):\n%s", pair.f, pair.g, diff)
			}
			for i := range f.Phi {
				if d := f.Phi[i] - g.Phi[i]; math.Abs(d-l*pair.shift/2) > 1e-13*mean {
					t.Fatalf("%v and %v: φ differ by %g λ, want %g", pair.f, pair.g, d/l, pair.shift/2)
				}
			}
			if d := f.Dual - g.Dual; math.Abs(d-l*pair.values) > 1e-13*mean {
				t.Errorf("%v and %v: values differ by %g λ, want %g", pair.f, pair.g, d/l, pair.values)
			}
		}
	}
}

// As λ → ∞ plans tend to a⊗b, as 1/λ; as λ → 0 the sharp value tends to that of exact transport, from above.
func TestLimits(t *testing.T) {
	p, mean := clouds(6, 20, 15, 2)
	c := ot.Cost(p.Geometry)
	best := must.Get(exact.Simplex{}.Solve(t.Context(), ot.Problem{Geometry: ot.Dense(c), A: p.A, B: p.B}))
	for _, d := range fdiv.All() {
		plan := solve(t, freg.Solver{F: d, Lambda: 1e6 * mean}, p)
		tm := plan.Matrix()
		for i, a := range plan.A {
			for j, b := range plan.B {
				if math.Abs(tm.At(i, j)-a*b) > 1e-5*a*b {
					t.Fatalf("%v: T[%d,%d] = %g for λ → ∞, want %g", d, i, j, tm.At(i, j), a*b)
				}
			}
		}
		last := math.Inf(1)
		for _, rel := range []float64{1, 1e-2, 1e-4, 1e-6} {
			plan := solve(t, freg.Solver{F: d, Lambda: rel * mean}, p)
			if plan.Sharp < best.Value-1e-12 || plan.Sharp > last {
				t.Errorf("%v, λ = %g mean: sharp %g after %g, exact %g", d, rel, plan.Sharp, last, best.Value)
			}
			last = plan.Sharp
		}
		// No divergence exceeds the χ² of a permutation-like plan, at most 1/min(a) here: 1e-6·100 mean.
		if last > best.Value+1e-4*mean {
			t.Errorf("%v: sharp %g for λ → 0, exact %g", d, last, best.Value)
		}
	}
}

// Tiny problems have few degrees of freedom: a generic minimiser finds the same value and not a better one.
func TestBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 3 {
		const n, m = 2, 3
		c := mat.NewDense(n, m, nil)
		c.Apply(func(_, _ int, _ float64) float64 { return rng.Float64()*2 - 0.5 }, c)
		a, b := []float64{0.3, 0.7}, []float64{0.2, 0.5, 0.3}
		for _, d := range fdiv.All() {
			for _, lambda := range []float64{1, 0.1} {
				objective := func(x []float64) float64 {
					row := []float64{x[0], x[1], a[0] - x[0] - x[1]}
					var v float64
					for j, t0 := range row {
						for i, ti := range []float64{t0, b[j] - t0} {
							if ti < 0 {
								return math.Inf(1)
							}
							w := a[i] * b[j]
							v += ti*c.At(i, j) + lambda*w*d.F(ti/w)
						}
					}
					return v
				}
				x := []float64{a[0] * b[0], a[0] * b[1]}
				best := objective(x)
				for range 4 { // restarts: the simplex of Nelder and Mead collapses
					r := must.Get(optimize.Minimize(optimize.Problem{Func: objective}, x, &optimize.Settings{
						Converger: &optimize.FunctionConverge{Absolute: 1e-15, Iterations: 300},
					}, &optimize.NelderMead{SimplexSize: 0.01}))
					x, best = r.X, r.F
				}
				plan := solve(t, freg.Solver{F: d, Lambda: lambda, Tol: 1e-12},
					ot.Problem{Geometry: ot.Dense(c), A: a, B: b})
				certify(t, plan)
				if plan.Dual > best+1e-13 || plan.Primal < best-1e-8 {
					t.Errorf("%v, λ = %g: primal %.12g, dual %.12g, brute force %.12g", d, lambda, plan.Primal,
						plan.Dual, best)
				}
				tm := plan.Matrix()
				if math.Abs(tm.At(0, 0)-x[0])+math.Abs(tm.At(0, 1)-x[1]) > 1e-5 { // the root of the value's precision
					t.Errorf("%v, λ = %g: T = %v, brute force %v", d, lambda, mat.Formatted(tm), x)
				}
			}
		}
	}
}

// Work is dealt out by problem, not by processor: the same bits for any number of workers.
func TestDeterminism(t *testing.T) {
	p, mean := clouds(9, 300, 280, 2)
	for _, d := range []fdiv.Divergence{fdiv.KL, fdiv.ReverseKL, fdiv.ChiSquare} {
		one := solve(t, freg.Solver{F: d, Lambda: mean / 50, Workers: 1}, p)
		four := solve(t, freg.Solver{F: d, Lambda: mean / 50, Workers: 4}, p)
		if diff := cmp.Diff(one.Psi, four.Psi); diff != "" {
			t.Errorf("%v: ψ depends on the number of workers:\n%s", d, diff)
		}
		if diff := cmp.Diff([]float64{one.Dual, one.Primal, one.Gap, one.MarginalL1},
			[]float64{four.Dual, four.Primal, four.Gap, four.MarginalL1}); diff != "" {
			t.Errorf("%v: values depend on the number of workers:\n%s", d, diff)
		}
	}
}

// A warm start takes hardly a step, one far out costs no digits, and the trace sees every evaluation.
func TestWarmStartAndTrace(t *testing.T) {
	p, mean := clouds(10, 60, 50, 2)
	for _, d := range fdiv.All() {
		var steps []ot.Step
		s := freg.Solver{F: d, Lambda: mean / 30, Trace: func(s ot.Step) { steps = append(steps, s) }}
		cold := solve(t, s, p)
		last := steps[len(steps)-1]
		if len(steps) != cold.Evaluations || last.Eps != s.Lambda || last.MarginalL1 != cold.MarginalL1 ||
			last.Iteration != cold.Iterations {
			t.Errorf("%v: %d steps traced, the last %+v, of %d evaluations", d, len(steps), last, cold.Evaluations)
		}
		s.Start, s.Tol = cold.Psi, 1e-8
		if warm := solve(t, s, p); warm.Iterations > 1 {
			t.Errorf("%v: %d steps from the solution", d, warm.Iterations)
		}
		for j := range s.Start {
			s.Start[j] += 1e16
		}
		s.Start[3] = -1e200
		certify(t, solve(t, s, p))
	}
}

// An unconverged solve says so, and its certificate holds all the same.
func TestUnconverged(t *testing.T) {
	p, mean := clouds(11, 40, 40, 2)
	for _, d := range fdiv.All() {
		plan := must.Get(freg.Solver{F: d, Lambda: mean / 100, MaxIter: 2}.Solve(t.Context(), p))
		if plan.Status != ot.IterationLimit || plan.Iterations != 2 || plan.MarginalL1 <= 1e-9 {
			t.Errorf("%v: %v after %d steps at %g", d, plan.Status, plan.Iterations, plan.MarginalL1)
		}
		certify(t, plan)
		full := solve(t, freg.Solver{F: d, Lambda: mean / 100}, p)
		if full.Dual < plan.Dual || full.Primal > plan.Primal || plan.Gap < full.Primal-plan.Dual-1e-13 {
			t.Errorf("%v: value in [%g, %g] is outside of [%g, %g]", d, full.Dual, full.Primal, plan.Dual, plan.Primal)
		}
		plan = must.Get(freg.Solver{F: d, Lambda: mean / 100, Tol: 1e-25}.Solve(t.Context(), p))
		if plan.Status != ot.Stagnated && plan.MarginalL1 > 1e-25 || plan.MarginalL1 > 1e-12 {
			t.Errorf("%v: %v at %g", d, plan.Status, plan.MarginalL1)
		}
	}
}

// Costs of 1e10 λ leave potentials too coarse for the marginals; reduced costs mend that.
func TestCoarsePotentials(t *testing.T) {
	far := ot.Dense(mat.NewDense(2, 1, []float64{1e15, 1e15 + 1}))
	certify(t, solve(t, freg.Solver{F: fdiv.Pearson, Lambda: 1e-4, MaxIter: 9}, ot.Problem{Geometry: far}))
	rng := rand.New(rand.NewPCG(12, 1))
	const n = 30
	u, v := make([]float64, n), make([]float64, n)
	for i := range n {
		u[i], v[i] = 1e9*rng.Float64(), 1e9*rng.Float64()
	}
	c := mat.NewDense(n, n, nil)
	c.Apply(func(i, j int, _ float64) float64 {
		return math.Round(1024*rng.Float64())/1024 + math.Round(u[i]) + math.Round(v[j])
	}, c)
	for _, d := range fdiv.All() {
		plan := must.Get(freg.Solver{F: d, Lambda: 0.1, Tol: 1e-12}.Solve(t.Context(),
			ot.Problem{Geometry: ot.Dense(c)}))
		if plan.Status != ot.Converged {
			t.Errorf("%v: %v at %g", d, plan.Status, plan.MarginalL1)
		}
	}
}

// A cancelled solve returns the context's error.
func TestCancel(t *testing.T) {
	p, mean := clouds(13, 30, 30, 2)
	ctx, cancel := context.WithCancel(t.Context())
	s := freg.Solver{Lambda: mean / 100, Trace: func(s ot.Step) {
		if s.Evaluation == 2 {
			cancel()
		}
	}}
	if plan, err := s.Solve(ctx, p); !errors.Is(err, context.Canceled) || plan != nil {
		t.Errorf("plan %v, err = %v", plan != nil, err)
	}
}
