package ottest

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"coupling/lab/logspace"
	"coupling/ot"
	"coupling/ot/cost"
)

// New makes the solver under test for an ε and a tolerance on the L1 marginal error.
type New func(eps, tol float64) ot.Solver

// tol is the tolerance that the laws ask of solvers. An L1 marginal error of t changes entries of
// the plan by at most about t, so two plans may differ by a few times this.
const tol = 1e-10

// Solver checks a solver against every law and the small reference cases. Random problems are
// small, with zero weights, weights down to 1e-12, single atoms and coinciding points among them,
// and ε from 0.05 to 10 times the mean cost.
//
// A solve that ends with IterationLimit, or refuses with ErrUnsupported, skips its check: go test -v shows which. The
// test fails if this leaves out more than half of the reference cases, or if too few random problems are left. Give a
// solver that converges slowly an iteration limit of a few thousand: at 100,000 one law may take minutes.
func Solver(t *testing.T, s New) { kit{New: s}.run(t) }

// Basic checks a solver that does not resolve small weights: they are of one order, or 0, and
// potentials of atoms that hardly count in the marginal error are not asked for.
func Basic(t *testing.T, s New) { kit{New: s, basic: true}.run(t) }

// Float32Solver is Solver for solvers that round costs to float32: plans may differ by the effect
// of that rounding.
func Float32Solver(t *testing.T, s New) { kit{New: s, rounding: 0x1p-24}.run(t) }

// kit is a solver under test, the relative rounding of its costs, and whether small weights are left out.
type kit struct {
	New
	rounding float64
	basic    bool
}

func (s kit) run(t *testing.T) {
	for name, law := range map[string]func(*rapid.T){
		"Marginals":      s.marginals,
		"Symmetry":       s.symmetry,
		"CostShift":      s.costShift,
		"CostScale":      s.costScale,
		"Permutation":    s.permutation,
		"DualityGap":     s.dualityGap,
		"MonotoneInEps":  s.monotone,
		"PotentialBound": s.potentialBound,
		"MatrixFree":     s.matrixFree,
		"WarmStart":      s.warmStart,
		"Value":          s.value,
	} {
		if !s.basic || name != "Value" {
			t.Run(name, func(t *testing.T) { rapid.Check(t, law) })
		}
	}
	t.Run("Dirac", func(t *testing.T) { rapid.Check(t, s.dirac) })
	t.Run("Gaussians", s.gaussians)
	t.Run("Workers", s.workers)
	t.Run("Cases", s.cases)
}

// cost bounds the effect of rounding on any of the costs.
func (s kit) cost(cs ...*mat.Dense) float64 {
	var most float64
	for _, c := range cs {
		most = max(most, mat.Max(c), -mat.Min(c))
	}
	return s.rounding * most
}

// entry bounds the difference of two plans for differently rounded costs: by the strong convexity
// of the entropy, each has an L1 distance of at most δ/ε from the plan of the exact costs, where
// cost returns δ.
func (s kit) entry(eps float64, cs ...*mat.Dense) float64 { return 2 * s.cost(cs...) / eps }

// Geometry checks that a geometry has the costs of want (n×m, +Inf where a pair is forbidden), and that solves
// with it, for weights of which some are 0, give the plans of these costs with their products, values and
// derivatives by the weights.
func Geometry(t *testing.T, g cost.Geometry, want *mat.Dense) {
	t.Helper()
	n, m := want.Dims()
	if gn, gm := g.Dims(); gn != n || gm != m {
		t.Fatalf("Dims = %d, %d, want %d, %d", gn, gm, n, m)
	}
	scale := 1e-300
	for _, v := range want.RawMatrix().Data {
		if !math.IsInf(v, 1) {
			scale = max(scale, math.Abs(v))
		}
	}
	buf := make([]float64, m)
	for i := range n {
		for j, v := range g.Row(i, buf) {
			// A cost of points is a sum of d terms; 1e-13 leaves room for d of hundreds in any order.
			if w := want.At(i, j); v != w && !(math.Abs(v-w) <= 1e-13*scale) {
				t.Fatalf("cost[%d,%d] = %v, want %v", i, j, v, w)
			}
		}
	}
	zero := func(n int) []float64 {
		w := slices.Repeat([]float64{1 / float64(max(1, n-1))}, n)
		if n > 1 {
			w[n/2] = 0
		}
		return w
	}
	for _, w := range [][2][]float64{{nil, nil}, {zero(n), zero(m)}} {
		for _, ratio := range []float64{0.3, 0.01} {
			s := ot.LBFGS{Eps: ratio*scale + 1e-300, Tol: tol}
			p := solve(t, s, ot.Problem{Geometry: g, A: w[0], B: w[1]})
			q := solve(t, s, ot.Problem{Geometry: ot.Dense(want), A: w[0], B: w[1]})
			sameResults(t, p, q, scale)
			if ratio > 0.1 { // below, atoms may be coupled too weakly to determine these
				sameDerivatives(t, p, q, scale)
			}
		}
	}
}

// row returns a vector as a matrix, for near.
func row(v []float64) *mat.Dense { return mat.NewDense(1, len(v), v) }

// sameResults fails unless two plans of the same costs, up to scale, agree in their products and values.
func sameResults(t *testing.T, p, q *ot.Plan, scale float64) {
	t.Helper()
	near(t, "plan on the geometry and on its matrix", p.Matrix(), q.Matrix(), 10*tol)
	n, m := q.Dims()
	ones, sines := slices.Repeat([]float64{1}, n), make([]float64, m)
	for j := range sines {
		sines[j] = math.Sin(float64(3 * j))
	}
	near(t, "Apply", row(p.Apply(sines)), row(q.Apply(sines)), 10*tol)
	near(t, "ApplyT", row(p.ApplyT(ones)), row(q.ApplyT(ones)), 10*tol)
	values := func(p *ot.Plan) *mat.Dense {
		v := p.Value()
		unit := scale / p.Eps // of logarithms
		return row([]float64{v.Sharp / scale, v.RegKL / scale, v.KL / unit, v.SumPlogP / unit, v.Mass})
	}
	near(t, "values", values(p), values(q), 100*tol)
}

// sameDerivatives fails unless the derivatives by weights agree.
func sameDerivatives(t *testing.T, p, q *ot.Plan, scale float64) {
	t.Helper()
	for _, loss := range []ot.Loss{ot.RegKL, ot.Sharp} {
		gp, err := p.Grad(loss)
		if err != nil {
			t.Fatalf("%v", err)
		}
		gq, err := q.Grad(loss)
		if err != nil {
			t.Fatalf("%v", err)
		}
		pa, pb, errP := gp.Weights()
		qa, qb, errQ := gq.Weights()
		if errors.Is(errP, ot.ErrUndetermined) || errors.Is(errQ, ot.ErrUndetermined) {
			continue
		}
		near(t, "derivative by a", row(pa), row(qa), 1e-5*scale)
		near(t, "derivative by b", row(pb), row(qb), 1e-5*scale)
	}
}

// Problem draws a small problem with points and an ε for it.
func Problem(t *rapid.T) (ot.Problem, float64) { return kit{}.problem(t) }

func (s kit) problem(t *rapid.T) (ot.Problem, float64) {
	n, m := rapid.IntRange(1, 12).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "m")
	d := rapid.IntRange(1, 3).Draw(t, "d")
	kind := rapid.SampledFrom([]cost.PointCost{ot.SqEuclidean, ot.L1, ot.Euclidean, cost.SqEuclideanL1(0.7),
		cost.Power(1.5)}).Draw(t, "cost")
	g := ot.Points(points(t, "x", n, d), points(t, "y", m, d), kind)
	p := ot.Problem{Geometry: g, A: s.weights(t, "a", n), B: s.weights(t, "b", m)}
	mean := mat.Sum(ot.Cost(g))/float64(n*m) + 0.01
	return p, mean * math.Pow(10, rapid.Float64Range(-1.3, 1).Draw(t, "log10 eps"))
}

// points draws points on a coarse grid, so that some coincide.
func points(t *rapid.T, name string, n, d int) *mat.Dense {
	v := rapid.SliceOfN(rapid.IntRange(-8, 8), n*d, n*d).Draw(t, name)
	x := mat.NewDense(n, d, nil)
	for k, c := range v {
		x.Set(k/d, k%d, float64(c)/4)
	}
	return x
}

// weights draws weights, some of them 0, that sum to 1 before rounding; or weights over twelve
// decades, unless the kit is basic; or nil.
func (s kit) weights(t *rapid.T, name string, n int) []float64 {
	kinds := []string{"uniform", "some zero", "tiny"}
	if s.basic {
		kinds = kinds[:2]
	}
	switch rapid.SampledFrom(kinds).Draw(t, name+" kind") {
	case "uniform":
		return nil
	case "tiny":
		return tinyWeights(t, name, n)
	}
	w := make([]float64, n)
	for i, k := range rapid.SliceOfN(rapid.IntRange(0, 9), n, n).Draw(t, name) {
		w[i] = float64(k)
	}
	w[0]++
	floats.Scale(1/floats.Sum(w), w)
	return w
}

// tester is what *testing.T and *rapid.T share.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

func solve(t tester, s ot.Solver, p ot.Problem) *ot.Plan {
	t.Helper()
	plan, err := s.Solve(context.Background(), p)
	if errors.Is(err, ot.ErrUnsupported) {
		t.Skipf("Solve: %v", err) // kernel scaling may refuse
	}
	if err != nil {
		t.Fatalf("Solve: %v", err)
	}
	if plan.Status == ot.Converged {
		within := math.Sqrt(tol) + 1e-11 // for rounding, relative to potentials of 1e4 ε
		for j, got := range plan.ApplyT(slices.Repeat([]float64{1}, len(plan.A))) {
			if b := plan.B[j]; !(math.Abs(got-b) <= within*b) {
				t.Fatalf("Solve: converged, but column %d has mass %g, not within √Tol of its weight %g", j, got, b)
			}
		}
		return plan
	}
	// A first-order method may be too slow for a problem, if its Status and MarginalL1 say so.
	if got := L1Error(plan); plan.Status != ot.IterationLimit || math.Abs(got-plan.MarginalL1) > 1e-12+1e-6*got {
		t.Fatalf("Solve: %v at L1 error %g after %d iterations; the plan's L1 error is %g", plan.Status,
			plan.MarginalL1, plan.Iterations, got)
	}
	t.Skipf("Solve: %v at L1 error %g after %d iterations", plan.Status, plan.MarginalL1, plan.Iterations)
	return nil
}

// L1Error returns Σ|T1−a| + Σ|Tᵀ1−b| of the plan's matrix.
func L1Error(p *ot.Plan) float64 {
	T := p.Matrix()
	n, m := T.Dims()
	var l1 float64
	for i := range n {
		l1 += math.Abs(mat.Sum(T.RowView(i)) - p.A[i])
	}
	for j := range m {
		l1 += math.Abs(mat.Sum(T.ColView(j)) - p.B[j])
	}
	return l1
}

// near fails unless two matrices agree within an absolute error.
func near(t tester, what string, got, want *mat.Dense, within float64) {
	t.Helper()
	n, m := want.Dims()
	for i := range n {
		for j := range m {
			if g, w := got.At(i, j), want.At(i, j); !(math.Abs(g-w) <= within) {
				t.Fatalf("%s: entry %d,%d is %v, want %v within %g", what, i, j, g, w, within)
			}
		}
	}
}

// solve returns the plan of the solver under test.
func (s kit) solve(t tester, eps float64, p ot.Problem) *ot.Plan { return solve(t, s.New(eps, tol), p) }

func (s kit) marginals(t *rapid.T) {
	p, eps := s.problem(t)
	plan := s.solve(t, eps, p)
	T := plan.Matrix()
	if l1 := L1Error(plan); l1 > tol+1e-13 {
		t.Fatalf("L1 error of the matrix is %g, want ≤ %g", l1, tol)
	}
	if mat.Min(T) < 0 {
		t.Fatalf("negative entry %g", mat.Min(T))
	}
	for i, a := range plan.A {
		for j, b := range plan.B {
			if a*b == 0 && T.At(i, j) != 0 {
				t.Fatalf("mass %g at %d,%d of zero weight", T.At(i, j), i, j)
			}
		}
	}
}

// Swapping source and target transposes the plan.
func (s kit) symmetry(t *rapid.T) {
	p, eps := s.problem(t)
	g := p.Geometry.(*cost.Cloud)
	T := s.solve(t, eps, p).Matrix()
	U := s.solve(t, eps, ot.Problem{Geometry: ot.Points(g.Y(), g.X(), g.Kind), A: p.B, B: p.A}).Matrix()
	near(t, "transposed problem", mat.DenseCopyOf(U.T()), T, 4*tol+s.entry(eps, ot.Cost(g)))
}

// Adding u ⊕ v to the costs changes no plan, and the value by <a,u> + <b,v>.
func (s kit) costShift(t *rapid.T) {
	p, eps := s.problem(t)
	c := ot.Cost(p.Geometry)
	n, m := c.Dims()
	shifted := mat.NewDense(n, m, nil)
	shifted.Apply(func(i, j int, v float64) float64 { return v + eps*(math.Sin(float64(i))-3*math.Cos(float64(j))) }, c)
	one, two := s.solve(t, eps, p), s.solve(t, eps, ot.Problem{Geometry: ot.Dense(shifted), A: p.A, B: p.B})
	near(t, "shifted costs", two.Matrix(), one.Matrix(), 4*tol+s.entry(eps, c, shifted))
	want := one.RegKL()
	for i, a := range one.A {
		want += a * eps * math.Sin(float64(i))
	}
	for j, b := range one.B {
		want -= b * eps * 3 * math.Cos(float64(j))
	}
	scale := eps + mat.Max(c)
	if got := two.RegKL(); math.Abs(got-want) > 1e-9*scale+2*s.cost(c, shifted) {
		t.Fatalf("shifted value %v, want %v", got, want)
	}
}

// Multiplying costs and ε by the same number changes no plan, and multiplies every value.
func (s kit) costScale(t *rapid.T) {
	p, eps := s.problem(t)
	f := math.Pow(10, rapid.Float64Range(-6, 6).Draw(t, "log10 factor"))
	c := ot.Cost(p.Geometry)
	c.Scale(f, c)
	one, two := s.solve(t, eps, p), s.solve(t, f*eps, ot.Problem{Geometry: ot.Dense(c), A: p.A, B: p.B})
	near(t, "scaled costs", two.Matrix(), one.Matrix(), 4*tol+s.entry(f*eps, c))
	if got, want := two.Sharp(),
		f*one.Sharp(); math.Abs(got-want) > 1e-8*mat.Max(c)+1e-12*f+2*s.cost(c)+mat.Max(c)*s.entry(f*eps, c) {
		t.Fatalf("scaled sharp loss %v, want %v", got, want)
	}
}

// Permuting sources and targets permutes the plan.
func (s kit) permutation(t *rapid.T) {
	p, eps := s.problem(t)
	c := ot.Cost(p.Geometry)
	n, m := c.Dims()
	one := s.solve(t, eps, p)
	ri, rj := rapid.Permutation(upTo(n)).Draw(t, "rows"), rapid.Permutation(upTo(m)).Draw(t, "columns")
	pc, want := mat.NewDense(n, m, nil), mat.NewDense(n, m, nil)
	a, b := make([]float64, n), make([]float64, m)
	T := one.Matrix()
	for i, oi := range ri {
		a[i] = one.A[oi]
		for j, oj := range rj {
			b[j] = one.B[oj]
			pc.Set(i, j, c.At(oi, oj))
			want.Set(i, j, T.At(oi, oj))
		}
	}
	two := s.solve(t, eps, ot.Problem{Geometry: ot.Dense(pc), A: a, B: b})
	near(t, "permuted problem", two.Matrix(), want, 4*tol+s.entry(eps, c))
}

func upTo(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}
	return v
}

// The dual value bounds the value of any feasible plan from below; the value of the plan itself,
// made feasible, is close to it.
func (s kit) dualityGap(t *rapid.T) {
	p, eps := s.problem(t)
	plan := s.solve(t, eps, p)
	c := ot.Cost(p.Geometry)
	scale := mat.Max(c) + eps
	dual := plan.RegKL()
	if own := Primal(plan, c); math.Abs(own-dual) > 1e-8*scale+s.cost(c) {
		t.Fatalf("primal value %v, dual value %v", own, dual)
	}
	a, b := mat.NewVecDense(len(plan.A), plan.A), mat.NewVecDense(len(plan.B), plan.B)
	if product := mat.Inner(a, c, b); product < dual-1e-9*scale-s.cost(c) {
		t.Fatalf("the product plan's value %v is below the dual value %v", product, dual)
	}
}

// As ε grows, the sharp loss and the KL-form value do.
func (s kit) monotone(t *rapid.T) {
	p, eps := s.problem(t)
	one, two := s.solve(t, eps, p), s.solve(t, 2*eps, p)
	slack := 1e-8*(mat.Max(ot.Cost(p.Geometry))+eps) + s.cost(ot.Cost(p.Geometry))
	if two.Sharp() < one.Sharp()-slack {
		t.Fatalf("sharp loss fell from %v to %v as ε doubled", one.Sharp(), two.Sharp())
	}
	if two.RegKL() < one.RegKL()-slack {
		t.Fatalf("value fell from %v to %v as ε doubled", one.RegKL(), two.RegKL())
	}
}

// |gⱼ − gₖ| ≤ maxᵢ |c_ij − c_ik|, for g is a soft minimum of costs, as far as columns are right:
// with exact rows, g is that soft minimum plus ε log((Tᵀ1)ⱼ/bⱼ). The marginal error does not bound
// the relative error of a column of tiny weight; here it must be at most a thousandth.
func (s kit) potentialBound(t *rapid.T) {
	p, eps := s.problem(t)
	plan := s.solve(t, eps, p)
	c, T := ot.Cost(p.Geometry), plan.Matrix()
	n, m := c.Dims()
	off := make([]float64, m)
	for j, b := range plan.B {
		if b > 0 {
			off[j] = eps * min(1e-3, math.Abs(logspace.Log(mat.Sum(T.ColView(j))/b)))
		}
	}
	for j := range m {
		for k := range j {
			var bound float64
			for i := range n {
				bound = max(bound, math.Abs(c.At(i, j)-c.At(i, k)))
			}
			slack := off[j] + off[k] + 1e-10*(bound+eps) + 2*s.cost(c) // rounding, magnified by the path to an atom
			if d := math.Abs(plan.G[j] - plan.G[k]); !(d <= bound+slack) {
				t.Fatalf("|g[%d]−g[%d]| = %v exceeds %v", j, k, d, bound)
			}
		}
	}
}

// A geometry that computes its rows when asked gives the plan of the matrix.
func (s kit) matrixFree(t *rapid.T) {
	p, eps := s.problem(t)
	g := p.Geometry.(*cost.Cloud)
	one := s.solve(t, eps, ot.Problem{Geometry: ot.Dense(ot.Cost(g)), A: p.A, B: p.B})
	two := s.solve(t, eps, ot.Problem{Geometry: ot.MatrixFree(g.X(), g.Y(), g.Kind), A: p.A, B: p.B})
	near(t, "matrix-free", two.Matrix(), one.Matrix(), 4*tol+s.entry(eps, ot.Cost(g)))
}

// With one atom on a side there is only one plan.
func (s kit) dirac(t *rapid.T) {
	p, eps := s.problem(t)
	g := p.Geometry.(*cost.Cloud)
	x := mat.DenseCopyOf(g.X().Slice(0, 1, 0, g.X().RawMatrix().Cols))
	plan := s.solve(t, eps, ot.Problem{Geometry: ot.Points(x, g.Y(), g.Kind), B: p.B})
	T := plan.Matrix()
	for j, b := range plan.B {
		if math.Abs(T.At(0, j)-b) > tol {
			t.Fatalf("T[0,%d] = %v, want %v", j, T.At(0, j), b)
		}
	}
	if kl := plan.Value().KL; math.Abs(kl) > 10*tol {
		t.Fatalf("KL of a product plan is %v", kl)
	}
}

// The bits do not depend on GOMAXPROCS. The problem is large enough to be cut into spans.
func (s kit) workers(t *testing.T) {
	const n, m = 300, 200
	c := mat.NewDense(n, m, nil)
	c.Apply(func(i, j int, _ float64) float64 {
		d := math.Sin(float64(7*i)) - math.Cos(float64(3*j))
		return d * d
	}, c)
	var plans []*ot.Plan
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		plans = append(plans, s.solve(t, 0.05, ot.Problem{Geometry: ot.Dense(c)}))
		runtime.GOMAXPROCS(old)
	}
	for _, p := range plans[1:] {
		if d := cmp.Diff(plans[0].Beta, p.Beta); d != "" {
			t.Fatalf("potentials depend on GOMAXPROCS (-1 +more):\n%s", d)
		}
		if p.Sharp() != plans[0].Sharp() {
			t.Fatalf("sharp loss depends on GOMAXPROCS: %v and %v", plans[0].Sharp(), p.Sharp())
		}
	}
}

// cases checks the small reference cases that are part of the package. Kernel scaling may refuse a
// case that would underflow.
func (s kit) cases(t *testing.T) {
	cases := Embedded(t)
	var skipped []string
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			defer func() {
				if t.Skipped() {
					skipped = append(skipped, c.Name)
				}
			}()
			c.check(t, s.solve(t, c.Eps, c.Problem()), s.cost(Dense(c.M)))
		})
	}
	if len(skipped) > len(cases)/2 {
		t.Errorf("%d of %d reference cases are not checked, since the solver did not converge or refused them: %q",
			len(skipped), len(cases), skipped)
	}
}

// Check compares a plan with a reference case, with tolerances that follow from its MarginalL1.
func Check(t *testing.T, c *Case, plan *ot.Plan) {
	t.Helper()
	c.check(t, plan, 0)
}

// check is Check for a plan of costs that may have moved by rounding.
func (c *Case) check(t *testing.T, plan *ot.Plan, rounding float64) {
	t.Helper()
	if plan.Status != ot.Converged {
		t.Fatalf("%v at L1 error %g", plan.Status, plan.MarginalL1)
	}
	l1 := plan.MarginalL1 + 1e-14 + rounding/c.Eps
	near(t, "plan", plan.Matrix(), Dense(c.Expected.P), l1)
	M := Dense(c.M)
	span := mat.Max(M) - mat.Min(M)
	size := max(mat.Max(M), -mat.Min(M), c.Eps)
	v := plan.Value()
	within := func(name string, got, want, tol float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tol) {
			t.Errorf("%s = %v, want %v within %g", name, got, want, tol)
		}
	}
	// First-order quantities err by the marginals' error; log T is at most about 50 where T matters.
	within("Sharp", v.Sharp, c.Expected.Sharp, l1*span+1e-13*size)
	within("SumPlogP", v.SumPlogP, c.Expected.SumPlogP, 50*l1+1e-13)
	within("KL", v.KL, c.Expected.KL, 50*l1+1e-13)
	// The dual's values err by the square, and by rounding of potentials.
	second := 1e-13*size + plan.MarginalL1*plan.MarginalL1*size*1e3 + rounding
	within("RegKL", v.RegKL, c.Expected.RegKL, second)
	within("RegEntropy", v.RegEntropy, c.Expected.RegEntropy, second)
	within("RegEntropyMinus1", v.RegEntropyMinus1, c.Expected.RegEntropy1, second)
	if c.Expected.DMin < 1e-10 && c.Targets > 1 {
		return // the duals are not determined in float64
	}
	// A potential moves by ε |error| / λ_min at most.
	pot := 1e-13*size + 2*c.Eps*l1/max(c.Expected.DMin, 1e-10)
	if c.Targets == 1 {
		pot = 1e-13*size + rounding
	}
	for _, x := range []struct {
		name      string
		got, want []float64
	}{{"Alpha", plan.Alpha, c.Expected.Alpha}, {"Beta", plan.Beta, c.Expected.Beta}, {"F", plan.F, c.Expected.F},
		{"G", plan.G, c.Expected.G}} {
		for i, w := range x.want {
			if g := x.got[i]; g != w && !(math.Abs(g-w) <= pot) {
				t.Errorf("%s[%d] = %v, want %v within %g", x.name, i, g, w, pot)
			}
		}
	}
}

// warmStart: from the potentials of its own solution a solver takes less work than from none, or as
// little as it ever does, counted as evaluations, or as iterations where these are as NewPlan leaves
// them; and from any potentials it finds the same plan. Solvers that cannot start from potentials are
// left out.
func (s kit) warmStart(t *rapid.T) {
	p, eps := s.problem(t)
	c := ot.Cost(p.Geometry)
	cold := s.solve(t, eps, p)
	solver, ok := s.New(eps, tol).(ot.WarmStarter)
	if !ok {
		return
	}
	warm := solve(t, solver.From(cold.G), p)
	near(t, "from its own potentials", warm.Matrix(), cold.Matrix(), 4*tol+s.entry(eps, c))
	// Two: one that finds nothing to do, and one in float64 that certifies it; or what a single pair
	// takes, of a solver that looks only now and then. Passes in float32 have an error of the order of
	// their rounding even at a solution.
	work := func(p *ot.Plan) int { return max(p.Evaluations, p.Iterations) }
	least := max(2, work(s.solve(t, eps, ot.Problem{Geometry: ot.Dense(mat.NewDense(1, 1, nil))})))
	if n := work(warm); s.rounding == 0 && n > least && n >= work(cold) {
		t.Fatalf("%d evaluations or iterations from the solution, %d from nothing", n, work(cold))
	}
	size := eps * rapid.SampledFrom([]float64{1, 1e2, 1e4}).Draw(t, "size of the start, in ε")
	_, m := cold.Dims()
	g := rapid.SliceOfN(rapid.Float64Range(-size, size), m, m).Draw(t, "start")
	near(t, "from any potentials", solve(t, solver.From(g), p).Matrix(), cold.Matrix(), 4*tol+s.entry(eps, c))
}
