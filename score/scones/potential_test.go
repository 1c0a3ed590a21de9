package scones

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/data/synth"
	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/ot/gaussian"
	"coupling/score"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

func seeded(k uint64) *rand.Rand { return rand.New(rand.NewPCG(k, 1)) }

func normal(rng *rand.Rand, n, d int) *mat.Dense { return must.Get(synth.Normal(rng, n, d)) }

// pair is a Gaussian problem with means, and its plan at λ.
func pair(rng *rand.Rand, d int, lambda float64) *gaussian.Plan {
	one := func() gaussian.Normal {
		m := make([]float64, d)
		for i := range m {
			m[i] = rng.NormFloat64()
		}
		return gaussian.Normal{Mean: m, Cov: must.Get(synth.RandomCovariance(rng, d, .5, 3))}
	}
	return must.Get(gaussian.Entropic{Eps: lambda}.Solve(one(), one()))
}

// clouds is a discrete problem and its Sinkhorn plan.
func clouds(t testing.TB, rng *rand.Rand, n, m, d int, lambda float64) (x, y *mat.Dense, plan *ot.Plan) {
	x, y = normal(rng, n, d), normal(rng, m, d)
	y.Apply(func(_, _ int, v float64) float64 { return 2*v + 1 }, y)
	plan, err := ot.LBFGS{Eps: lambda, Tol: 1e-11}.Solve(t.Context(),
		ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)})
	if err != nil || plan.Status != ot.Converged {
		t.Fatal(err, plan.Status)
	}
	return x, y, plan
}

// gradientsAreRight compares gradients with central differences of values, of error some 1e-8.
func gradientsAreRight(t interface{ Fatalf(string, ...any) }, name string, p Potential, y *mat.Dense) {
	const h = 1e-4
	n, d := y.Dims()
	grad := mat.NewDense(n, d, nil)
	must.Do(p.Eval(nil, grad, y))
	up, down := make([]float64, n), make([]float64, n)
	for k := range d {
		a, b := mat.DenseCopyOf(y), mat.DenseCopyOf(y)
		for i := range n {
			a.Set(i, k, a.At(i, k)+h)
			b.Set(i, k, b.At(i, k)-h)
		}
		must.Do(p.Eval(up, nil, a))
		must.Do(p.Eval(down, nil, b))
		for i := range n {
			want := (up[i] - down[i]) / (2 * h)
			if got := grad.At(i, k); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("%s: gradient %g, difference quotient %g", name, got, want)
			}
		}
	}
}

func TestGradients(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := seeded(rapid.Uint64().Draw(rt, "seed"))
		d := rapid.IntRange(1, 10).Draw(rt, "d")
		phi, psi := Potentials(pair(rng, d, rapid.Float64Range(.5, 5).Draw(rt, "lambda")))
		y := normal(rng, 3, d)
		gradientsAreRight(rt, "phi", phi, y)
		gradientsAreRight(rt, "psi", psi, y)
		gradientsAreRight(rt, "discrete",
			must.Get(NewDiscrete(normal(rng, 6, d), nil, normal(rng, 1, 6).RawRowView(0), .7, d%2 == 0)), y)
	})
}

// Quadratics are the potentials of ot/gaussian plus λ/2.
func TestGaussianPotentials(t *testing.T) {
	plan := pair(seeded(1), 3, 2)
	phi, psi := Potentials(plan)
	y := normal(seeded(2), 5, 3)
	f, g := make([]float64, 5), make([]float64, 5)
	must.Do(phi.Eval(f, nil, y))
	must.Do(psi.Eval(g, nil, y))
	for i := range 5 {
		row := y.RawRowView(i)
		if a, b := plan.F(row)+1, plan.G(row)+1; math.Abs(f[i]-a) > 1e-11 || math.Abs(g[i]-b) > 1e-11 {
			t.Errorf("φ = %g, ψ = %g; want %g, %g", f[i], g[i], a, b)
		}
	}
}

// On the atoms the extension is the potential of the plan, and its conditional law the plan's row.
func TestDiscreteExtends(t *testing.T) {
	x, y, plan := clouds(t, seeded(3), 30, 20, 3, .8)
	phi, psi, err := FromPlan(plan, x, y, false)
	must.Do(err)
	f, g := make([]float64, 30), make([]float64, 20)
	must.Do(phi.Eval(f, nil, x))
	must.Do(psi.Eval(g, nil, y))
	for i := range f {
		if math.Abs(f[i]-plan.F[i]-.4) > 1e-8 {
			t.Errorf("φ(x_%d) = %g, the plan's is %g", i, f[i], plan.F[i]+.4)
		}
	}
	for j := range g {
		if math.Abs(g[j]-plan.G[j]-.4) > 1e-8 {
			t.Errorf("ψ(y_%d) = %g, the plan's is %g", j, g[j], plan.G[j]+.4)
		}
	}
	rows := plan.Matrix()
	rows.Scale(30, rows)
	if got := phi.Conditional(x); !mat.EqualApprox(got, rows, 1e-8) {
		t.Error("conditional laws are not the plan's rows")
	}
	if !mat.EqualApprox(phi.Barycentric(x), plan.Barycentric(y), 1e-8) {
		t.Error("barycentric projections differ")
	}
	// 4000 draws for the first source: counts within 4.5 standard errors.
	count := make([]float64, 20)
	for _, j := range phi.Draw(seeded(4), score.RepeatRows(x.Slice(0, 1, 0, 3).(*mat.Dense), 4000)) {
		count[j] += 1. / 4000
	}
	for j, c := range count {
		p := rows.At(0, j)
		if math.Abs(c-p) > 4.5*math.Sqrt(p*(1-p)/4000)+3./4000 {
			t.Errorf("atom %d drawn with share %.4f, probability %.4f", j, c, p)
		}
	}
}

// Lemma B.4: y ↦ log h(y) = V(x, y)/λ is concave, with the Hessian −(4/λ²) Cov(X|y).
func TestSinkhornFactorIsLogConcave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := seeded(rapid.Uint64().Draw(t, "seed"))
		lambda := rapid.Float64Range(.1, 5).Draw(t, "lambda")
		p := must.Get(NewDiscrete(normal(rng, 7, 2), nil, normal(rng, 1, 7).RawRowView(0), lambda, false))
		y := normal(rng, 1, 2)
		const h = 1e-4
		at := func(dx, dy float64) []float64 {
			g := mat.NewDense(1, 2, nil)
			must.Do(p.Eval(nil, g, mat.NewDense(1, 2, []float64{y.At(0, 0) + dx, y.At(0, 1) + dy})))
			return []float64{g.At(0, 0) - 2*(y.At(0, 0)+dx), g.At(0, 1) - 2*(y.At(0, 1)+dy)}
		}
		a, b, c, e := at(h, 0), at(-h, 0), at(0, h), at(0, -h)
		xx, yy, xy := (a[0]-b[0])/(2*h*lambda), (c[1]-e[1])/(2*h*lambda), (a[1]-b[1])/(2*h*lambda)
		w := p.Conditional(y).RawRowView(0)
		mean := []float64{stat.Mean(mat.Col(nil, 0, p.atoms), w), stat.Mean(mat.Col(nil, 1, p.atoms), w)}
		var vxx, vyy, vxy float64
		for i, q := range w {
			u, v := p.atoms.At(i, 0)-mean[0], p.atoms.At(i, 1)-mean[1]
			vxx, vyy, vxy = vxx+q*u*u, vyy+q*v*v, vxy+q*u*v
		}
		s := -4 / (lambda * lambda)
		// h²/6 of the third derivative of the gradient
		tol := 1e-5 * (1 + math.Abs(s)*(vxx+vyy) + 1/(lambda*lambda*lambda))
		if math.Abs(xx-s*vxx) > tol || math.Abs(yy-s*vyy) > tol || math.Abs(xy-s*vxy) > tol {
			t.Fatalf("Hessian (%g %g %g), −(4/λ²) Cov (%g %g %g)", xx, xy, yy, s*vxx, s*vxy, s*vyy)
		}
		if xx > tol || xx*yy-xy*xy < -tol*(1+math.Abs(xx)+math.Abs(yy)) {
			t.Fatalf("not concave: (%g %g %g)", xx, xy, yy)
		}
	})
}

// Sources of σ beside what is drawn for each are pairs of the plan: both marginals, and what they
// have in common, which a wrong order of the rows would lose. Given the draws, the closed form's
// way back leads to σ again.
func TestSampledPairs(t *testing.T) {
	plan := must.Get(gaussian.Entropic{Eps: 1}.Solve(gaussian.Normal{Cov: mat.NewSymDense(2, []float64{1, .5, .5, 2})},
		gaussian.Normal{Mean: []float64{3, 0}, Cov: mat.NewSymDense(2, []float64{4, 0, 0, 1})}))
	phi, psi := Potentials(plan)
	c := Coupling{
		Compatibility: Compatibility{Lambda: 1},
		Phi:           phi,
		Psi:           psi,
		Target:        must.Get(score.NewGaussian(plan.Q.Mean, plan.Q.Cov)),
	}
	const n, k = 2000, 2
	x := must.Get(plan.P.Sample(seeded(7), n))
	y := must.Get(c.Sample(t.Context(), seeded(8), x, k, score.Langevin{Step: .01, Steps: 800}, nil))
	pairs, got, want := new(mat.Dense), new(mat.SymDense), mat.DenseCopyOf(plan.Joint().Cov)
	pairs.Augment(score.RepeatRows(x, k), y)
	stat.CovarianceMatrix(got, pairs, nil)
	for i := range 4 {
		for j := range 4 {
			// 4.5 standard errors of n pairs, since those of one source are not independent, and the step's 3 %.
			size := math.Sqrt(want.At(i, i) * want.At(j, j))
			if off := math.Abs(got.At(i, j) - want.At(i, j)); off > 4.5*math.Sqrt(2./n)*size+.03*size {
				t.Errorf("covariance of %d and %d: %.3f, want %.3f", i, j, got.At(i, j), want.At(i, j))
			}
		}
	}
	for j, m := range plan.Q.Mean {
		got := stat.Mean(mat.Col(nil, j, y), nil)
		if math.Abs(got-m) > 4.5*math.Sqrt(want.At(2+j, 2+j)/n) {
			t.Errorf("mean %d: %.3f, want %.3f", j, got, m)
		}
	}
	if between := math.Abs(want.At(0, 2)) / math.Sqrt(want.At(0, 0)*want.At(2, 2)); between < .5 {
		t.Errorf("the plan's correlation of %.2f tells no order from another", between)
	}
	// x = B y + noise with B = Σ_xy Σ_yy⁻¹: B cov(y) Bᵀ + Σ_xx − B Σ_yx is Σ_xx where y has the law of the target.
	var inverse, b, back, rest mat.Dense
	must.Do(inverse.Inverse(want.Slice(2, 4, 2, 4)))
	b.Mul(want.Slice(0, 2, 2, 4), &inverse)
	back.Product(&b, got.SliceSym(2, 4), b.T())
	rest.Mul(&b, want.Slice(2, 4, 0, 2))
	back.Sub(&back, &rest)
	for i := range 2 {
		if off := back.At(i, i) / want.At(i, i); math.Abs(off) > 4.5*math.Sqrt(2./n)+.03 {
			t.Errorf("coordinate %d of the way back: a variance off by %.3f of it", i, off)
		}
	}
}

// Scores of conditional laws are gradients of their densities, for every divergence that has one.
func TestConditionalScores(t *testing.T) {
	rng := seeded(6)
	phi, psi := Potentials(pair(rng, 2, 3))
	target := must.Get(score.NewGaussian(nil, mat.NewSymDense(2, []float64{2, 0, 0, 1})))
	x, y := normal(rng, 4, 2), normal(rng, 4, 2)
	for _, k := range []Compatibility{
		{F: fdiv.KL, Lambda: 3}, {F: fdiv.KL, Lambda: 3, Cap: .5}, {F: fdiv.ChiSquare, Lambda: 3, Beta: 10},
		{F: fdiv.ChiSquare, Lambda: 3, Beta: 1},
		{F: fdiv.Pearson, Lambda: 3, Beta: 2}, {F: fdiv.Hellinger, Lambda: 30}, {F: fdiv.JensenShannon, Lambda: 30},
		{F: fdiv.ReverseKL, Lambda: 30},
	} {
		for _, mean := range []bool{false, true} {
			phi := *phi
			if k.F == fdiv.ReverseKL {
				phi.C -= 60 // V must be negative
			}
			f, err := Coupling{Compatibility: k, Phi: &phi, Psi: psi, Target: target, Mean: mean}.Given(x)
			must.Do(err)
			gradientsAreRight(t, fmt.Sprintf("%+v", k), densityOf{f}, y)
		}
	}
}

// densityOf is the log density of a field as a potential.
type densityOf struct{ *Conditional }

func (d densityOf) Eval(value []float64, grad, y *mat.Dense) error {
	if grad != nil {
		must.Do(d.Score(grad, y, .5))
	}
	if value != nil {
		must.Do(d.LogDensity(value, y, .5))
	}
	return nil
}

func Example() {
	source, target := gaussian.Normal{Cov: mat.NewSymDense(1, []float64{1})},
		gaussian.Normal{Cov: mat.NewSymDense(1, []float64{4})}
	plan, err := gaussian.Entropic{Eps: 4}.Solve(source, target)
	if err != nil {
		fmt.Println(err)
		return
	}
	phi, psi := Potentials(plan)
	tau, err := score.NewGaussian(nil, target.Cov)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := Coupling{Compatibility: Compatibility{F: fdiv.KL, Lambda: 4}, Phi: phi, Psi: psi, Target: tau}
	y, err := c.Sample(context.Background(), rand.New(rand.NewPCG(1, 2)), mat.NewDense(1, 1, []float64{1}), 4000,
		score.Langevin{Step: .05, Steps: 200}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	mean, sd := stat.MeanStdDev(mat.Col(nil, 0, y), nil)
	exact := plan.Conditional([]float64{1})
	fmt.Printf("mean %.1f and deviation %.1f, exactly %.1f and %.1f\n", mean, sd, exact.Mean[0],
		math.Sqrt(exact.Cov.At(0, 0)))
	// Output:
	// mean 1.2 and deviation 1.6, exactly 1.2 and 1.6
}
