package ot_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
)

// seeded returns the generator of a seed and a stream.
func seeded(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// weighted and uniform return the problem on a geometry with these weights, and with equal ones.
func weighted(g cost.Geometry, a, b []float64) ot.Problem { return ot.Problem{Geometry: g, A: a, B: b} }
func uniform(g cost.Geometry) ot.Problem                  { return ot.Problem{Geometry: g} }

// failure returns the error of a call, and refused fails unless it is of a kind.
func failure[T any](_ T, err error) error { return err }

func refused(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: err = %v, want %v", what, err, kind)
	}
}

// cloud draws n points of dimension d, normal with the given scale and mean.
func cloud(rng *rand.Rand, n, d int, scale, mean float64) *mat.Dense {
	return filled(n, d, func(_, _ int) float64 { return mean + scale*rng.NormFloat64() })
}

// filled is the n×m matrix of a function, row after row.
func filled(n, m int, of func(i, j int) float64) *mat.Dense {
	a := mat.NewDense(n, m, nil)
	a.Apply(func(i, j int, _ float64) float64 { return of(i, j) }, a)
	return a
}

// lifted is a matrix plus a constant.
func lifted(a *mat.Dense, by float64) *mat.Dense {
	n, m := a.Dims()
	return filled(n, m, func(i, j int) float64 { return a.At(i, j) + by })
}

// simplex draws n weights that sum to 1.
func simplex(rng *rand.Rand, n int) []float64 {
	w := make([]float64, n)
	var s float64
	for i := range w {
		w[i] = rng.ExpFloat64()
		s += w[i]
	}
	for i := range w {
		w[i] /= s
	}
	return w
}

// solveTight solves to rounding, so that finite differences see only their own error.
func solveTight(t *testing.T, p ot.Problem, eps float64) *ot.Plan {
	t.Helper()
	plan := solved(ot.Newton{Eps: eps, Tol: 1e-14}, p)
	if plan.MarginalL1 > 1e-13 {
		t.Fatalf("%v at L1 error %g", plan.Status, plan.MarginalL1)
	}
	return plan
}

// central returns (f(h) − f(−h))/2h. With h = 1e-5 and values right to 1e-15 its own error is about 1e-10.
func central(f func(h float64) float64) float64 {
	const h = 1e-5
	return (f(h) - f(-h)) / (2 * h)
}

const fdTol = 3e-8

// differences compares d with finite differences of value by each number of at, in steps of scale·h.
func differences(t *testing.T, what string, at, d []float64, scale float64, value func() float64) {
	t.Helper()
	for i, v := range at {
		fd := central(func(h float64) float64 { at[i] = v + scale*h; return value() }) / scale
		if at[i] = v; math.Abs(d[i]-fd) > fdTol/scale {
			t.Errorf("∂/∂%s[%d] = %v, finite differences say %v", what, i, d[i], fd)
		}
	}
}

// pointDifferences is differences by the elements of a matrix.
func pointDifferences(t *testing.T, what string, at, d *mat.Dense, scale float64, value func() float64) {
	t.Helper()
	differences(t, what, at.RawMatrix().Data, d.RawMatrix().Data, scale, value)
}

// each applies f to every element.
func each(f func(float64) float64) func(v []float64) {
	return func(v []float64) {
		for j, x := range v {
			v[j] = f(x)
		}
	}
}

func kinds() map[string]cost.PointCost {
	return map[string]cost.PointCost{
		"sqeuclidean": ot.SqEuclidean,
		"l1":          ot.L1,
		"euclidean":   ot.Euclidean,
		"cosine":      ot.Cosine,
		"mixed":       cost.SqEuclideanL1(0.6),
		"power":       cost.Power(1.7),
		"radial":      cost.Radial(each(math.Log1p), each(func(s float64) float64 { return 1 / (1 + s) })),
		"inner":       cost.Inner(each(math.Exp), each(math.Exp)),
		"separable":   cost.Separable(each(math.Expm1), each(math.Exp)), // not symmetric
		"func": cost.CostFunc{
			Value: func(x, y []float64) float64 { return math.Cosh(x[0]-2*y[0]) + x[1]*y[1] },
			Gradient: func(dx, dy []float64, w float64, x, y []float64) {
				s := w * math.Sinh(x[0]-2*y[0])
				if dx != nil {
					dx[0] += s
					dx[1] += w * y[1]
				}
				if dy != nil {
					dy[0] -= 2 * s
					dy[1] += w * x[1]
				}
			},
		},
	}
}

func TestPointGradients(t *testing.T) {
	for name, kind := range kinds() {
		for _, loss := range []ot.Loss{ot.Sharp, ot.RegKL, ot.RegEntropy} {
			t.Run(name+"/"+loss.String(), func(t *testing.T) {
				rng := seeded(1, 2)
				x, y := cloud(rng, 5, 2, 1, 0), cloud(rng, 7, 2, 0.8, 0.5)
				a, b := simplex(rng, 5), simplex(rng, 7)
				value := func() float64 {
					return loss.Of(solveTight(t, weighted(ot.Points(x, y, kind), a, b), 0.3))
				}
				g := must.Get(solveTight(t, weighted(ot.Points(x, y, kind), a, b), 0.3).Grad(loss))
				dx, dy := must.Get2(g.XY())
				pointDifferences(t, "x", x, dx, 1, value)
				pointDifferences(t, "y", y, dy, 1, value)
			})
		}
	}
}

// shapes covers both sides of the elimination and every method.
func shapes() map[string]ot.Backward {
	return map[string]ot.Backward{
		"eliminate": {Method: ot.Eliminate}, "cholesky": {Method: ot.Cholesky}, "cg": {Method: ot.CG},
	}
}

func TestCostGradient(t *testing.T) {
	for _, dims := range [][2]int{{6, 4}, {4, 6}} {
		for name, b := range shapes() {
			t.Run(fmt.Sprintf("%dx%d/%s", dims[0], dims[1], name), func(t *testing.T) {
				rng := seeded(3, 4)
				c := cloud(rng, dims[0], dims[1], 1, 0)
				p := weighted(ot.Dense(c), simplex(rng, dims[0]), simplex(rng, dims[1]))
				g := must.Get(b.Gradient(ctx, solveTight(t, p, 0.4), ot.Sharp))
				value := func() float64 { return solveTight(t, p, 0.4).Sharp() }
				pointDifferences(t, "c", c, g.Cost(), 1, value)
			})
		}
	}
}

// Weights move along differences e_i − e_k, which keep the mass; a zero weight can only grow.
func TestWeightGradients(t *testing.T) {
	rng := seeded(5, 6)
	c := cloud(rng, 5, 6, 1, 0)
	a, b := simplex(rng, 5), simplex(rng, 6)
	a[1], b[4] = 0, 0
	for _, loss := range []ot.Loss{ot.Sharp, ot.RegKL} {
		value := func(w []float64, grow, shrink int, h float64) float64 {
			old := slices.Clone(w)
			defer copy(w, old)
			// The solver normalises: undo the loss of mass 1 that b or a lacks after its own normalisation.
			var s float64
			for _, v := range w {
				s += v
			}
			w[grow] += h * s
			w[shrink] -= h * s
			return loss.Of(solveTight(t, weighted(ot.Dense(c), scaleTo1(a), scaleTo1(b)), 0.5))
		}
		g := must.Get(solveTight(t, weighted(ot.Dense(c), scaleTo1(a), scaleTo1(b)), 0.5).Grad(loss))
		da, db, _ := g.Weights()
		for _, v := range []struct {
			name string
			w, d []float64
			zero int
		}{{"a", a, da, 1}, {"b", b, db, 4}} {
			for k := range v.w {
				if k == 0 {
					continue
				}
				got := v.d[k] - v.d[0]
				if k == v.zero {
					// One-sided, and the KL form is not differentiable at 0 but for its softmin extension's slope of
					// the transport part: checked for the sharp loss to first order in h.
					if loss == ot.Sharp {
						const h = 1e-7
						want := (value(v.w, k, 0, h) - value(v.w, k, 0, 0)) / h
						if math.Abs(got-want) > 1e-5 {
							t.Errorf("%v: ∂/∂%s[%d] − ∂/∂%s[0] = %v at weight 0, finite differences say %v", loss,
								v.name, k, v.name, got, want)
						}
					}
					continue
				}
				want := central(func(h float64) float64 { return value(v.w, k, 0, h) })
				if math.Abs(got-want) > fdTol {
					t.Errorf("%v: ∂/∂%s[%d] − ∂/∂%s[0] = %v, finite differences say %v", loss, v.name, k,
						v.name, got, want)
				}
			}
		}
	}
}

func scaleTo1(w []float64) []float64 {
	var s float64
	for _, v := range w {
		s += v
	}
	out := make([]float64, len(w))
	for i, v := range w {
		out[i] = v / s
	}
	return out
}

func TestPlanDerivatives(t *testing.T) {
	for _, dims := range [][2]int{{6, 4}, {4, 7}} {
		for name, back := range shapes() {
			t.Run(fmt.Sprintf("%dx%d/%s", dims[0], dims[1], name), func(t *testing.T) {
				n, m := dims[0], dims[1]
				rng := seeded(7, 8)
				c, dc, v := cloud(rng, n, m, 1, 0), cloud(rng, n, m, 1, 0), cloud(rng, n, m, 1, 0)
				a, b := simplex(rng, n), simplex(rng, m)
				da, db := change(rng, a), change(rng, b)
				plan := solveTight(t, weighted(ot.Dense(c), a, b), 0.4)
				moved := func(h float64) *mat.Dense {
					ch := mat.NewDense(n, m, nil)
					ch.Apply(func(i, j int, x float64) float64 { return x + h*dc.At(i, j) }, c)
					return solveTight(t, weighted(ot.Dense(ch), plus(a, h, da), plus(b, h, db)),
						0.4).Matrix()
				}
				const h = 1e-5
				up, down := moved(h), moved(-h)
				vjp := must.Get(back.VJP(ctx, plan, v))
				var left, right float64
				for i := range n {
					right += vjp.A[i] * da[i]
					for j := range m {
						left += v.At(i, j) * (up.At(i, j) - down.At(i, j)) / (2 * h)
						right += vjp.Cost.At(i, j) * dc.At(i, j)
					}
				}
				for j := range m {
					right += vjp.B[j] * db[j]
				}
				if math.Abs(left-right) > 10*fdTol { // of some 25 entries
					t.Errorf("<v, dT> = %v by finite differences, %v by the product", left, right)
				}
			})
		}
	}
}

// change draws a change of weights that keeps their sum.
func change(rng *rand.Rand, w []float64) []float64 {
	d, s := make([]float64, len(w)), 0.0
	for i := range d {
		d[i] = 0.1 * rng.NormFloat64()
		s += d[i]
	}
	for i := range d {
		d[i] -= s / float64(len(d))
	}
	return d
}

func plus(w []float64, h float64, d []float64) []float64 {
	out := make([]float64, len(w))
	for i := range w {
		out[i] = w[i] + h*d[i]
	}
	return out
}

// The sharp loss's gradient is the plan's own derivative: T + VJP of the costs themselves.
func TestGradientIsVJP(t *testing.T) {
	rng := seeded(9, 9)
	c := cloud(rng, 8, 5, 1, 0)
	plan := solveTight(t, uniform(ot.Dense(c)), 0.3)
	v := must.Get(ot.Backward{}.VJP(ctx, plan, c))
	want := plan.Matrix()
	want.Add(want, v.Cost)
	if got := must.Get(plan.GradCost()); !mat.EqualApprox(got, want, 1e-13) {
		t.Errorf("gradient of the sharp loss %v, T + VJP %v", mat.Formatted(got), mat.Formatted(want))
	}
}

// Large enough for the automatic choice to leave elimination, on a plan with weak pivots for Cholesky to find.
func TestMethodsAgree(t *testing.T) {
	rng := seeded(13, 1)
	g := ot.Points(cloud(rng, 160, 2, 1, 0), cloud(rng, 150, 2, 1, 1), ot.SqEuclidean)
	plan := solveTight(t, uniform(g), 0.05)
	want := must.Get(ot.Backward{Method: ot.Eliminate}.Gradient(ctx, plan, ot.Sharp))
	w := want.Cost()
	for name, b := range map[string]ot.Backward{"automatic": {}, "cholesky": {Method: ot.Cholesky},
		"cg": {Method: ot.CG}} {
		g := must.Get(b.Gradient(ctx, plan, ot.Sharp))
		if got := g.Cost(); !mat.EqualApprox(got, w, 1e-10*mat.Max(w)) {
			t.Errorf("%s (%v): gradient differs from elimination's", name, g.Method)
		}
	}
}

func TestGradientRefusals(t *testing.T) {
	rng := seeded(15, 1)
	x, y := cloud(rng, 4, 2, 1, 0), cloud(rng, 3, 2, 1, 0)
	dense := solveTight(t, uniform(ot.Dense(cloud(rng, 4, 3, 1, 0))), 0.5)
	g := must.Get(dense.Grad(ot.Sharp))
	refused(t, "X on a cost matrix", failure(g.X()), ot.ErrUnsupported)
	if g, err := dense.GradX(); g != nil || !errors.Is(err, ot.ErrUnsupported) {
		t.Errorf("GradX on a cost matrix: err = %v, want ErrUnsupported", err)
	}
	f := cost.CostFunc{Value: func(x, y []float64) float64 { return x[0] * y[0] }}
	noGrad := solveTight(t, uniform(ot.Points(x, y, f)), 0.5)
	if _, err := noGrad.GradX(); !errors.Is(err, ot.ErrUnsupported) || must.Get(noGrad.GradCost()) == nil {
		t.Errorf("a cost without gradient: err = %v, want ErrUnsupported of GradX alone", err)
	}
	refused(t, "Loss(9)", failure(dense.Grad(ot.Loss(9))), ot.ErrParameter)
	refused(t, "VJP of a 3×3 field on a 4×3 plan", failure((ot.Backward{}).VJP(ctx, dense, mat.NewDense(3, 3, nil))),
		ot.ErrShape)
	nan := mat.NewDense(4, 3, nil)
	nan.Set(2, 1, math.NaN())
	zero := mat.NewDense(4, 3, nil)
	for _, bad := range []struct {
		b     ot.Backward
		v     *mat.Dense
		kind  error
		names string
	}{
		{ot.Backward{}, nan, ot.ErrParameter, "[2,1] = NaN"},
		{ot.Backward{Method: 9}, zero, ot.ErrParameter, "Backward.Method = 9"},
		{ot.Backward{Tol: -1}, zero, ot.ErrParameter, "Backward.Tol = -1"},
		{ot.Backward{MaxIter: -2}, zero, ot.ErrParameter, "Backward.MaxIter = -2"},
	} {
		if _, err := bad.b.VJP(ctx, dense, bad.v); !errors.Is(err, bad.kind) ||
			!strings.Contains(err.Error(), bad.names) {
			t.Errorf("VJP by %+v: err = %v, want one naming %s", bad.b, err, bad.names)
		}
	}
	loose := must.Get(ot.Unbalanced{Eps: 0.5, RhoA: 1, RhoB: 1}.Solve(ctx, uniform(ot.Dense(zero))))
	refused(t, "VJP of an unbalanced plan", failure((ot.Backward{}).VJP(ctx, loose, zero)), ot.ErrUnsupported)
	// CG that is cut short says so.
	cut := must.Get(ot.Backward{Method: ot.CG, MaxIter: 1}.Gradient(ctx, dense, ot.Sharp))
	if cut.Status != ot.IterationLimit || cut.Residual == 0 {
		t.Errorf("CG after one iteration: %v at residual %g, want the iteration limit", cut.Status, cut.Residual)
	}
}

// Potentials in v change no derivative with respect to the costs, however large they are against the rest, by any
// method, and those with respect to the weights by themselves.
func TestShiftInvariance(t *testing.T) {
	rng := seeded(8, 15)
	const n, m = 150, 140
	x, y := cloud(rng, n, 2, 1, 0), cloud(rng, m, 2, 1, 1)
	p := weighted(ot.Points(x, y, ot.SqEuclidean), simplex(rng, n), simplex(rng, m))
	for _, eps := range []float64{1, 0.05} {
		plan := solveTight(t, p, eps)
		// Multiples of 2⁻²⁰, so that shifts of up to 2³⁰ are added without rounding.
		v := filled(n, m, func(_, _ int) float64 { return math.Round(0x1p20*rng.NormFloat64()) / 0x1p20 })
		for _, size := range []float64{1e3, 1e6, 1e9} {
			shifted := mat.NewDense(n, m, nil)
			rows, cols := make([]float64, n), make([]float64, m)
			for i := range rows {
				rows[i] = math.Round(size * rng.NormFloat64() / 4)
			}
			for j := range cols {
				cols[j] = math.Round(size * rng.NormFloat64() / 4)
			}
			shifted.Apply(func(i, j int, v float64) float64 { return v + rows[i] + cols[j] }, v)
			for _, b := range []ot.Backward{{}, {Method: ot.Eliminate}, {Method: ot.Cholesky}, {Method: ot.CG}} {
				one := must.Get(b.VJP(ctx, plan, v))
				two := must.Get(b.VJP(ctx, plan, shifted))
				tol := 1e-11 // of direct methods
				if one.Method == ot.CG {
					tol = 1e-8 // residuals of 1e-13 times the condition of D, at ε = 0.05 some 1e4
				}
				var d mat.Dense
				d.Sub(one.Cost, two.Cost)
				if off := mat.Norm(&d, 2) / mat.Norm(one.Cost, 2); !(off < tol) {
					t.Errorf("ε = %g, %v: a shift of %g changes the derivative by %.2g of itself", eps,
						b.Method, size, off)
				}
				// <A,da> + <B,db> for changes of the weights grows by what the shift does.
				da, db := change(rng, plan.A), change(rng, plan.B)
				var got, want float64
				for i, w := range da {
					got, want = got+(two.A[i]-one.A[i])*w, want+rows[i]*w
				}
				for j, w := range db {
					got, want = got+(two.B[j]-one.B[j])*w, want+cols[j]*w
				}
				if !(math.Abs(got-want) <= 1e-9*size*float64(n)/float64(m)) {
					t.Errorf("ε = %g, %v: a shift of %g changes the weights' derivative by %g, want %g", eps, b.Method,
						size, got, want)
				}
			}
		}
	}
}

// The gradients of the unbalanced objective are those of its value, by weights of 0 one-sided.
func TestUnbalancedGradient(t *testing.T) {
	rng := seeded(51, 1)
	x, y := cloud(rng, 6, 2, 1, 0), cloud(rng, 5, 2, 1, 0.5)
	a, b := []float64{.3, .2, .5, .1, .4, .2}, []float64{.2, .6, .1, .3, .4}
	for name, kind := range penalties {
		for _, rho := range [][2]float64{{0.7, 1.3}, {0.5, math.Inf(1)}, {0.1, 0.1}} {
			value := func() *ot.Plan {
				return solved(ot.Unbalanced{
					Eps:     0.3,
					RhoA:    rho[0],
					RhoB:    rho[1],
					Penalty: kind,
					Tol:     1e-14,
				}, weighted(ot.Points(x, y, ot.SqEuclidean), a, b))
			}
			g := must.Get(value().Grad(ot.RegKL))
			dx, dy := must.Get2(g.XY())
			da, db, _ := g.Weights()
			sum := func() float64 { return value().RegKL() }
			pointDifferences(t, name+": x", x, dx, .1, sum)
			pointDifferences(t, name+": y", y, dy, .1, sum)
			differences(t, name+": a", a, da, .1, sum)
			differences(t, name+": b", b, db, .1, sum)
			oneSided(t, name, a, 3, value)
		}
	}
}

// oneSided compares the derivative by weight i, set to 0, with a difference quotient from there.
func oneSided(t *testing.T, name string, a []float64, i int, solve func() *ot.Plan) {
	t.Helper()
	const h = 1e-5
	was := a[i]
	defer func() { a[i] = was }()
	a[i] = 0
	at := solve()
	da, _, _ := must.Get(at.Grad(ot.RegKL)).Weights()
	a[i] = h
	if got := (solve().RegKL() - at.RegKL()) / h; math.Abs(got-da[i]) > 1e-3 {
		t.Errorf("%s: by a weight of 0: %g, difference quotient %g", name, da[i], got)
	}
}

// turnsOff is a context that has ended when it is asked for the third time.
type turnsOff struct {
	context.Context
	asked int
}

func (c *turnsOff) Err() error {
	if c.asked++; c.asked > 2 {
		return context.Canceled
	}
	return nil
}

// A factorisation is given up when the context ends, not after.
func TestCancelElimination(t *testing.T) {
	rng := seeded(3, 1)
	c := filled(200, 200, func(_, _ int) float64 { return rng.Float64() })
	plan := must.Get(ot.Solve(t.Context(), uniform(ot.Dense(c)), 0.1))
	ctx := &turnsOff{Context: t.Context()}
	if _, err := (ot.Backward{Method: ot.Eliminate}).Gradient(ctx, plan, ot.Sharp); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v after %d looks at the context, want context.Canceled", err, ctx.asked)
	}
}

// HessianX is the finite difference of the gradient by the sources along v, for each method, weights of 0 included,
// and a translation, or any move of a single source, moves the gradient by 2aᵢ times itself, since the plan stays.
func TestHessianX(t *testing.T) {
	rng := seeded(41, 1)
	const n, m, d, h = 9, 7, 2, 1e-5
	x, y := cloud(rng, n, d, 1, 0), cloud(rng, m, d, 1, .5)
	a, b := simplex(rng, n), simplex(rng, m)
	a[0], b[0], a[3], b[2] = a[0]+a[3], b[0]+b[2], 0, 0
	at := func(v *mat.Dense, f float64) *ot.Plan {
		var z mat.Dense
		z.Scale(f, v)
		z.Add(&z, x)
		return solveTight(t, weighted(ot.Points(&z, y, ot.SqEuclidean), a, b), .3)
	}
	gradient := func(p *ot.Plan) *mat.Dense { return must.Get(must.Get(p.Grad(ot.RegKL)).X()) }
	v := cloud(rng, n, d, 1, 0)
	var difference mat.Dense
	difference.Sub(gradient(at(v, h)), gradient(at(v, -h)))
	difference.Scale(1/(2*h), &difference)
	plan := at(v, 0)
	for _, method := range []ot.Method{0, ot.Eliminate, ot.Cholesky, ot.CG} {
		of := ot.Backward{Method: method}
		hv := must.Get(of.HessianX(ctx, plan, v))
		if !mat.EqualApprox(hv, &difference, 3e-7) { // h² times third derivatives, of some 1/ε² to 1/ε³
			t.Errorf("%v: Hv = %v, finite differences %v", method, hv, difference)
		}
		shift := filled(n, d, func(_, k int) float64 { return 1 - 3*float64(k) })
		moved := must.Get(of.HessianX(ctx, plan, shift))
		shift.Apply(func(i, _ int, v float64) float64 { return 2 * a[i] * v }, shift)
		if !mat.EqualApprox(moved, shift, 1e-11) {
			t.Errorf("%v: along a translation %v, want %v", method, moved, shift)
		}
		for range 100 {
			u := cloud(rng, 1, 64, 1, 0)
			one := solveTight(t, uniform(ot.Points(u, cloud(rng, 5, 64, 1, 0), ot.SqEuclidean)), 20)
			if moved := must.Get(of.HessianX(ctx, one, u)); math.Abs(moved.At(0, 0)-2*u.At(0, 0)) > 1e-11 {
				t.Error(method, moved, u)
			}
		}
	}
	l1 := must.Get(ot.Solve(ctx, uniform(ot.Points(x, y, ot.L1)), 1))
	refused(t, "L1", failure((ot.Backward{}).HessianX(ctx, l1, v)), ot.ErrUnsupported)
	refused(t, "shape", failure((ot.Backward{}).HessianX(ctx, plan, y)), ot.ErrShape)
}
