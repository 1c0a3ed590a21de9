package gaussian_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"coupling/lab/must"
	"coupling/ot/gaussian"
)

// seeded returns the generator of a seed and a stream.
func seeded(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

func diag(v ...float64) *mat.SymDense {
	s := mat.NewSymDense(len(v), nil)
	for i, x := range v {
		s.SetSym(i, i, x)
	}
	return s
}

// wishart returns Z Zᵀ + floor·I for a standard normal d×rank matrix Z.
func wishart(rng *rand.Rand, d, rank int, floor float64) *mat.SymDense {
	z := mat.NewDense(d, rank, nil)
	z.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, z)
	s := mat.NewSymDense(d, nil)
	s.SymOuterK(1, z)
	for i := range d {
		s.SetSym(i, i, s.At(i, i)+floor)
	}
	return s
}

func vector(rng *rand.Rand, d int) []float64 {
	v := make([]float64, d)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// distance returns max |a − b|.
func distance(a, b mat.Matrix) float64 {
	var d mat.Dense
	d.Sub(a, b)
	return max(mat.Max(&d), -mat.Min(&d))
}

func solve(e gaussian.Entropic, p, q gaussian.Normal) *gaussian.Plan { return must.Get(e.Solve(p, q)) }

// TestFixedPoint compares with Sinkhorn's iteration on quadratic potentials f = xᵀFx, g = yᵀGy, a map on matrices:
// F = I − (2/λ)(B⁻¹ + (2/λ)(I − G))⁻¹ and the same for G, whose inverses the closed form does not have.
func TestFixedPoint(t *testing.T) {
	rng := seeded(1, 2)
	dims := []int{1, 2, 5, 12}
	if testing.Short() {
		dims = dims[:3]
	}
	for _, d := range dims {
		for _, lambda := range []float64{0.5, 2, 20} {
			a, b := wishart(rng, d, d+2, .3), wishart(rng, d, d+2, .3)
			k := mat.NewDense(d, d, nil) // I − G
			var ky *mat.Dense
			for range 3000 {
				ky = regress(b, k, lambda)
				k = regress(a, ky, lambda)
			}
			plan := solve(gaussian.Entropic{Eps: lambda}, gaussian.Normal{Cov: a}, gaussian.Normal{Cov: b})
			tol := 1e-13 * (1 + mat.Norm(a, 2) + mat.Norm(b, 2)) * float64(d)
			if e := distance(plan.Forward, ky); e > tol {
				t.Errorf("d = %d, λ = %v: forward off by %v", d, lambda, e)
			}
			if e := distance(plan.Backward, k); e > tol {
				t.Errorf("d = %d, λ = %v: backward off by %v", d, lambda, e)
			}
			// The formula of Janati et al., C = ½A^½DA^−½ − (λ/4)I, is the same covariance: K A = Cᵀ.
			if e := distance(plan.Cross().T(), mul(plan.Forward, a)); e > tol {
				t.Errorf("d = %d, λ = %v: cross covariance off by %v", d, lambda, e)
			}
			// Mutual information from determinants of the joint law.
			joint, det := plan.Joint().Cov, func(s mat.Matrix) float64 { l, _ := mat.LogDet(s); return l }
			if mi := (det(a) + det(b) - det(joint)) / 2; math.Abs(mi-plan.KL) > 1e-11*float64(d) {
				t.Errorf("d = %d, λ = %v: KL %v, from determinants %v", d, lambda, plan.KL, mi)
			}
		}
	}
}

// regress returns (2/λ)(S⁻¹ + (2/λ) K)⁻¹.
func regress(s *mat.SymDense, k *mat.Dense, lambda float64) *mat.Dense {
	var r mat.Dense
	must.Do(r.Inverse(s))
	var scaled mat.Dense
	scaled.Scale(2/lambda, k)
	r.Add(&r, &scaled)
	must.Do(r.Inverse(&r))
	r.Scale(2/lambda, &r)
	return &r
}

func mul(a, b mat.Matrix) *mat.Dense {
	var c mat.Dense
	c.Mul(a, b)
	return &c
}

// TestKnown: the one-dimensional forms c = √(ab + (λ/4)²) − λ/4 and |√a − √b|², and products of
// them, between means of any distance.
func TestKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 5).Draw(t, "d")
		v := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(1e-3, 10), rapid.Just(0.)), d, d)
		a, b, lambda := v.Draw(t, "a"), v.Draw(t, "b"), rapid.Float64Range(1e-3, 50).Draw(t, "λ")
		p, q := gaussian.Normal{Cov: diag(a...)}, gaussian.Normal{Mean: v.Draw(t, "mean"), Cov: diag(b...)}
		bures, transport, kl := 0., 0., 0.
		plan := solve(gaussian.Entropic{Eps: lambda}, p, q)
		for i := range d {
			c := a[i] * b[i] / (math.Sqrt(a[i]*b[i]+lambda*lambda/16) + lambda/4)
			if got := plan.Cross().At(i, i); math.Abs(got-c) > 1e-13*(1+c) {
				t.Fatalf("covariance %v, want %v", got, c)
			}
			far := q.Mean[i] * q.Mean[i]
			transport += a[i] + b[i] - 2*c + far
			if c > 0 {
				kl -= math.Log1p(-c*c/a[i]/b[i]) / 2
			}
			r := math.Sqrt(a[i]) - math.Sqrt(b[i])
			bures += r*r + far
		}
		if math.Abs(plan.Transport-transport) > 1e-12*(1+transport) || math.Abs(plan.KL-kl) > 1e-9*(1+kl) ||
			math.Abs(plan.Value-plan.Transport-lambda*plan.KL) > 1e-12*(1+plan.Value) {
			t.Fatalf("transport %v, want %v; KL %v, want %v; value %v", plan.Transport, transport, plan.KL, kl,
				plan.Value)
		}
		got, err := gaussian.Wasserstein(p, q)
		if err != nil || math.Abs(got-bures) > 1e-13*(1+bures)*10 {
			t.Fatalf("Bures %v, want %v, error %v", got, bures, err)
		}
	})
}

// TestLaws: symmetry, bounds W₂² ≤ transport ≤ independence, monotone in ε, the divergence, for singular covariances
// too.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := seeded(rapid.Uint64().Draw(t, "seed"), 0)
		d := rapid.IntRange(1, 6).Draw(t, "d")
		p := gaussian.Normal{Mean: vector(rng, d), Cov: wishart(rng, d, rapid.IntRange(1, d+1).Draw(t, "rank a"), 0)}
		q := gaussian.Normal{Mean: vector(rng, d), Cov: wishart(rng, d, rapid.IntRange(1, d+1).Draw(t, "rank b"), 0)}
		w := must.Get(gaussian.Wasserstein(p, q))
		tol := 1e-12 * (1 + mat.Trace(p.Cov) + mat.Trace(q.Cov))
		last, lastKL := w, math.Inf(1)
		for _, eps := range []float64{1e-6, 1e-3, .1, 1, 10, 1e4} {
			e := gaussian.Entropic{Eps: eps}
			plan, back := solve(e, p, q), solve(e, q, p)
			if math.Abs(plan.Value-back.Value) > tol || distance(plan.Cross(), back.Cross().T()) > tol {
				t.Fatalf("ε = %v: not symmetric: value by %v, covariance by %v", eps, plan.Value-back.Value,
					distance(plan.Cross(), back.Cross().T()))
			}
			if plan.Transport < last-tol || plan.KL > lastKL*(1+1e-12)+tol {
				t.Fatalf("ε = %v: transport %v after %v, KL %v after %v", eps, plan.Transport, last, plan.KL, lastKL)
			}
			last, lastKL = plan.Transport, plan.KL
			if s := divergence(e, p, q); s < -tol {
				t.Fatalf("ε = %v: divergence %v", eps, s)
			}
		}
		if s := divergence(gaussian.Entropic{Eps: 1e-7}, p, q); math.Abs(s-w) > 1e-5*float64(d) {
			t.Fatalf("divergence %v at small ε, W₂² = %v", s, w)
		}
		shift := 0.
		for i := range d {
			shift += (p.Mean[i] - q.Mean[i]) * (p.Mean[i] - q.Mean[i])
		}
		if s := divergence(gaussian.Entropic{Eps: 1e9}, p, q); math.Abs(s-shift) > 1e-5 {
			t.Fatalf("divergence %v at large ε, |m_p − m_q|² = %v", s, shift)
		}
	})
}

// divergence is the debiased OT(p,q) − ½ OT(p,p) − ½ OT(q,q) of the values, which is non-negative, W₂² as ε → 0 and
// |m_p − m_q|² as ε → ∞.
func divergence(e gaussian.Entropic, p, q gaussian.Normal) float64 {
	return solve(e, p, q).Value - (solve(e, p, p).Value+solve(e, q, q).Value)/2
}

// TestMap: T is symmetric, carries p to q, and its cost is W₂².
func TestMap(t *testing.T) {
	rng := seeded(3, 4)
	for _, d := range []int{1, 3, 8} {
		p := gaussian.Normal{Mean: vector(rng, d), Cov: wishart(rng, d, d, .1)}
		q := gaussian.Normal{Mean: vector(rng, d), Cov: wishart(rng, d, max(d-1, 1), 0)} // singular target
		m := must.Get(gaussian.Map(p, q))
		if e := distance(mul(mul(m.Linear, p.Cov), m.Linear), q.Cov); e > 1e-12*mat.Trace(q.Cov) {
			t.Errorf("d = %d: TAT differs from B by %v", d, e)
		}
		if e := distance(mat.NewVecDense(d, m.Apply(nil, p.Mean)), mat.NewVecDense(d, q.Mean)); e > 1e-15 {
			t.Errorf("d = %d: mean off by %v", d, e)
		}
		w, _ := gaussian.Wasserstein(p, q)
		cost := mat.Trace(p.Cov) + mat.Trace(q.Cov) - 2*mat.Trace(mul(m.Linear, p.Cov))
		for i := range d {
			cost += (p.Mean[i] - q.Mean[i]) * (p.Mean[i] - q.Mean[i])
		}
		if math.Abs(w-cost) > 1e-12*(1+w) {
			t.Errorf("d = %d: W₂² = %v, the map costs %v", d, w, cost)
		}
		plan := solve(gaussian.Entropic{Eps: 1e-9}, p, q)
		if e := distance(plan.Forward, m.Linear); e > 1e-6 {
			t.Errorf("d = %d: barycentric map at ε = 1e-9 differs by %v", d, e)
		}
	}
}

// TestDensity: exp((f + g − c)/ε) p q is the joint density, at random points.
func TestDensity(t *testing.T) {
	rng := seeded(5, 6)
	d, eps := 3, 1.7
	p := gaussian.Normal{Mean: vector(rng, d), Cov: wishart(rng, d, d, .5)}
	q := gaussian.Normal{Mean: vector(rng, d), Cov: wishart(rng, d, d, .5)}
	plan := solve(gaussian.Entropic{Eps: eps}, p, q)
	for range 10 {
		x, y := vector(rng, d), vector(rng, d)
		cost := 0.
		for i := range d {
			cost += (x[i] - y[i]) * (x[i] - y[i])
		}
		got := (plan.F(x)+plan.G(y)-cost)/eps + logDensity(p, x) + logDensity(q, y)
		want := logDensity(plan.Joint(), append(slices.Clone(x), y...))
		conditional := logDensity(p, x) + logDensity(plan.Conditional(x), y)
		if math.Abs(got-want) > 1e-10 || math.Abs(conditional-want) > 1e-10 {
			t.Errorf("log density %v, by the conditional %v, of the joint law %v", got, conditional, want)
		}
	}
}

func logDensity(p gaussian.Normal, x []float64) float64 {
	d := p.Dim()
	var chol mat.Cholesky
	if !chol.Factorize(p.Cov) {
		panic("not definite")
	}
	diff, z := mat.NewVecDense(d, nil), new(mat.VecDense)
	for i := range d {
		diff.SetVec(i, x[i]-p.Mean[i])
	}
	must.Do(chol.SolveVecTo(z, diff))
	return -(mat.Dot(diff, z) + chol.LogDet() + float64(d)*math.Log(2*math.Pi)) / 2
}

// TestSample: 20,000 pairs have the plan's mean and covariance to five standard errors.
func TestSample(t *testing.T) {
	rng := seeded(7, 8)
	p := gaussian.Normal{Mean: []float64{1, -2}, Cov: wishart(rng, 2, 2, .2)}
	q := gaussian.Normal{Mean: []float64{0, 3}, Cov: wishart(rng, 2, 1, 0)} // singular
	plan := solve(gaussian.Entropic{Eps: 1}, p, q)
	const n = 20000
	pairs := must.Get(plan.Joint().Sample(rng, n))
	got := must.Get(gaussian.Empirical(pairs, nil))
	want := plan.Joint()
	for i := range 4 {
		for j := range i + 1 {
			s := math.Sqrt((want.Cov.At(i, i)*want.Cov.At(j, j) + math.Pow(want.Cov.At(i, j), 2)) / n)
			if e := math.Abs(got.Cov.At(i, j) - want.Cov.At(i, j)); e > 5*s {
				t.Errorf("covariance %d, %d: %v, want %v ± %v", i, j, got.Cov.At(i, j), want.Cov.At(i, j), s)
			}
		}
		if e := math.Abs(got.Mean[i] - want.Mean[i]); e > 5*math.Sqrt(want.Cov.At(i, i)/n) {
			t.Errorf("mean %d: %v, want %v", i, got.Mean[i], want.Mean[i])
		}
	}
}

func TestUVP(t *testing.T) {
	rng := seeded(9, 10)
	s := wishart(rng, 6, 6, .1)
	for _, c := range []float64{0, .25, 1, 4} {
		scaled := mat.NewSymDense(6, nil)
		scaled.ScaleSym(c, s)
		got, err := gaussian.UVP(scaled, s)
		if want := 100 * math.Pow(1-math.Sqrt(c), 2); err != nil || math.Abs(got-want) > 1e-11 {
			t.Errorf("UVP of %v S: %v, want %v, error %v", c, got, want, err)
		}
	}
}

// TestIllConditioned: rotated covariances with condition number 1e12 keep the digits that rounding of their entries
// leaves.
func TestIllConditioned(t *testing.T) {
	rng := seeded(13, 14)
	var qr mat.QR
	z := mat.NewDense(6, 6, vector(rng, 36))
	qr.Factorize(z)
	var o mat.Dense
	qr.QTo(&o)
	va, vb := []float64{1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-2}, []float64{1e-12, 1, 1e-1, 1e-9, 1, 1e-5}
	rotate := func(v []float64) *mat.SymDense {
		m := mul(mul(&o, diag(v...)), o.T())
		s := mat.NewSymDense(6, nil)
		for i := range 6 {
			for j := range i + 1 {
				s.SetSym(i, j, (m.At(i, j)+m.At(j, i))/2)
			}
		}
		return s
	}
	p, q := gaussian.Normal{Cov: rotate(va)}, gaussian.Normal{Cov: rotate(vb)}
	want := 0.
	for i := range va {
		want += math.Pow(math.Sqrt(va[i])-math.Sqrt(vb[i]), 2)
	}
	// An error of 1e-16 in an entry moves √1e-12·1 by 1e-10 at most.
	if got, err := gaussian.Wasserstein(p, q); err != nil || math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v, error %v", got, want, err)
	}
	plan := solve(gaussian.Entropic{Eps: 1e-3}, p, q)
	for i := range va {
		col := mat.Col(nil, i, &o)
		c := va[i] * vb[i] / (math.Sqrt(va[i]*vb[i]+1e-6/16) + 1e-3/4)
		v := mat.NewVecDense(6, col)
		if got := mat.Inner(v, plan.Cross(), v); math.Abs(got-c) > 1e-12 {
			t.Errorf("covariance along axis %d: %v, want %v", i, got, c)
		}
	}
}

func TestErrors(t *testing.T) {
	ok := gaussian.Normal{Cov: diag(1, 1)}
	nan := gaussian.Normal{Cov: diag(1, math.NaN())}
	neg := gaussian.Normal{Cov: diag(1, -1)}
	solve := func(p, q gaussian.Normal) error { _, err := gaussian.Entropic{Eps: 1}.Solve(p, q); return err }
	second := func(_ any, err error) error { return err }
	for _, k := range []struct {
		err  error
		is   error
		text string
	}{
		{solve(ok, gaussian.Normal{}), gaussian.ErrShape, "ot/gaussian: q.Cov is 0×0: sizes do not match"},
		{solve(ok, gaussian.Normal{Cov: diag(1)}), gaussian.ErrShape,
			"ot/gaussian: p has dimension 2, q 1: sizes do not match"},
		{solve(gaussian.Normal{Mean: []float64{1}, Cov: diag(1, 1)}, ok), gaussian.ErrShape,
			"ot/gaussian: len(p.Mean) = 1, want 2: sizes do not match"},
		{solve(gaussian.Normal{Mean: []float64{1, math.Inf(1)}, Cov: diag(1, 1)}, ok), gaussian.ErrParameter,
			"ot/gaussian: p.Mean[1] = +Inf: parameter out of range"},
		{solve(nan, ok), gaussian.ErrCovariance, "ot/gaussian: p.Cov[1][1] = NaN: not a covariance"},
		{solve(ok, neg), gaussian.ErrCovariance,
			"ot/gaussian: q.Cov has the eigenvalue -1 (largest 1): not a covariance"},
		{second(gaussian.Entropic{}.Solve(ok, ok)), gaussian.ErrParameter,
			"ot/gaussian: Eps = 0: must be positive and finite: parameter out of range"},
		{second(gaussian.Map(gaussian.Normal{Cov: diag(1, 0)}, ok)), gaussian.ErrSingular,
			"ot/gaussian: p.Cov: no eigenvalue above rounding beside the largest, 1: singular covariance"},
		{second(gaussian.UVP(diag(1), diag(0))), gaussian.ErrSingular,
			"ot/gaussian: reference: trace = 0: singular covariance"},
		{second(gaussian.Empirical(mat.NewDense(1, 2, nil), nil)), gaussian.ErrShape,
			"ot/gaussian: x is 1×2: needs two rows and a column: sizes do not match"},
		{second(gaussian.Empirical(mat.NewDense(2, 1, []float64{1e200, 0}), nil)), gaussian.ErrParameter,
			"ot/gaussian: arguments or results are beyond the range of float64: parameter out of range"},
		{second(ok.Sample(nil, 0)), gaussian.ErrParameter,
			"ot/gaussian: n = 0: must be positive: parameter out of range"},
	} {
		if !errors.Is(k.err, k.is) || k.err.Error() != k.text {
			t.Errorf("error %q, want %q", k.err, k.text)
		}
	}
}

// TestDirac: transport to a point, and between points, costs what it must.
func TestDirac(t *testing.T) {
	p := gaussian.Normal{Mean: []float64{1, 2}, Cov: diag(3, 4)}
	dirac := gaussian.Normal{Mean: []float64{0, 0}, Cov: diag(0, 0)}
	plan := solve(gaussian.Entropic{Eps: 2}, p, dirac)
	if plan.Transport != 12 || plan.KL != 0 || plan.Value != 12 || mat.Norm(plan.Forward, 1) != 0 {
		t.Errorf("to a Dirac: %+v", plan)
	}
	if w, err := gaussian.Wasserstein(dirac, p); err != nil || w != 12 {
		t.Errorf("W₂² = %v, error %v", w, err)
	}
	if plan := solve(gaussian.Entropic{Eps: 2}, dirac, dirac); plan.Value != 0 {
		t.Errorf("between equal Diracs: %v", plan.Value)
	}
}

// FuzzEntropic: any matrix is refused or solved with finite values that keep W₂² ≤ transport ≤ value.
func FuzzEntropic(f *testing.F) {
	f.Add(1., 0., 1., 2., .5, 1., 1.)
	f.Add(1e-8, 0., 1e8, 1., 1., 1., 1e-6)
	f.Add(0., 0., 0., 1., 1., 1., 5.)
	f.Add(1e150, 0., 1., 1., 1., 1., 1e-150)
	f.Add(0., 0., 0., 0., 0., 0., 1e-317)
	f.Add(1e308, 0., 1e308, 1., 1., 1., 1.)
	f.Fuzz(func(t *testing.T, a11, a12, a22, b11, b12, b22, eps float64) {
		p := gaussian.Normal{Cov: mat.NewSymDense(2, []float64{a11, a12, a12, a22})}
		q := gaussian.Normal{Cov: mat.NewSymDense(2, []float64{b11, b12, b12, b22})}
		plan, err := gaussian.Entropic{Eps: eps}.Solve(p, q)
		if err != nil {
			return
		}
		w, err := gaussian.Wasserstein(p, q)
		tol := 1e-9 * (mat.Trace(p.Cov) + mat.Trace(q.Cov))
		if err != nil || !(plan.Transport >= w-tol) || !(plan.KL >= 0) || math.IsInf(plan.Value, 0) {
			t.Fatalf("W₂² = %v, transport %v, KL %v, error %v", w, plan.Transport, plan.KL, err)
		}
	})
}

func BenchmarkEntropic(b *testing.B) {
	for _, d := range []int{2, 64, 256} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			rng := seeded(1, 1)
			p, q := gaussian.Normal{Cov: wishart(rng, d, d, 1)}, gaussian.Normal{Cov: wishart(rng, d, d, 1)}
			var plan *gaussian.Plan
			for b.Loop() {
				plan = solve(gaussian.Entropic{Eps: 2 * float64(d)}, p, q)
			}
			b.ReportMetric(distance(mul(plan.Forward, p.Cov), plan.Cross().T()), "error")
		})
	}
}

func ExampleEntropic() {
	one := gaussian.Normal{Cov: mat.NewSymDense(1, []float64{1})}
	plan, err := gaussian.Entropic{Eps: 2}.Solve(one, one)
	if err != nil {
		fmt.Println(err)
		return
	}
	y := plan.Conditional([]float64{2})
	fmt.Printf("K = %.4f, transport %.4f, KL %.4f, value %.4f\n", plan.Forward.At(0, 0), plan.Transport, plan.KL,
		plan.Value)
	fmt.Printf("y given x = 2: N(%.4f, %.4f)\n", y.Mean[0], y.Cov.At(0, 0))
	// Output:
	// K = 0.6180, transport 0.7639, KL 0.2406, value 1.2451
	// y given x = 2: N(1.2361, 0.6180)
}

func ExampleWasserstein() {
	p := gaussian.Normal{Mean: []float64{0, 0}, Cov: mat.NewSymDense(2, []float64{1, 0, 0, 4})}
	q := gaussian.Normal{Mean: []float64{3, 4}, Cov: mat.NewSymDense(2, []float64{4, 0, 0, 1})}
	w, _ := gaussian.Wasserstein(p, q)
	fmt.Printf("W₂² = %.4f\n", w)
	// Output: W₂² = 27.0000
}
