package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/gaussian"
	"coupling/ot/stream"
)

// Draws of a finite measure go to its potentials, those of L-BFGS: the true marginal error falls at
// a rate of about one over the root of the samples, and with it the error of potentials where atoms
// are well coupled. The value is right to its standard error, and the measured marginal error is
// the true one to its noise.
func TestFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, m = 30, 20
	x, y, b := mat.NewDense(n, 2, nil), mat.NewDense(m, 2, nil), make([]float64, m)
	for _, z := range []*mat.Dense{x, y} {
		z.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, z)
	}
	for j := range b {
		b[j] = .2 + rng.Float64()
	}
	b[4] = 0
	floats.Scale(1/floats.Sum(b), b)
	for _, eps := range []float64{.1, 1} {
		p := must.Get(ot.Solve(t.Context(), ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean), B: b}, eps))
		shift := floats.Dot(b, p.G)
		var errs [2]float64
		for at, samples := range []int{1000, 64_000} {
			for range 3 {
				var off float64
				draw := func(v []float64) { copy(v, x.RawRowView(rng.IntN(n))) }
				o := stream.Solver{Eps: eps, Samples: samples, Check: 20_000}
				r := must.Get(o.Solve(t.Context(), draw, y, b, ot.SqEuclidean))
				for j, g := range r.G {
					if b[j] > 0 {
						off = max(off, math.Abs(g-p.G[j]+shift)/eps)
					}
				}
				// The semi-dual at G itself, over all sources.
				moved := slices.Clone(r.G)
				of := ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean), B: b}
				plan := must.Get(ot.NewPlan(of, eps, moved))
				value := floats.Dot(b, moved)
				for i, a := range plan.A {
					var sum float64
					for j, w := range plan.B {
						d := floats.Distance(x.RawRowView(i), y.RawRowView(j), 2)
						sum += w * math.Exp((moved[j]-d*d)/eps)
					}
					value -= a * eps * math.Log(sum)
				}
				if math.Abs(r.Value-value) > 5*r.ValueError || value > p.RegKL()+1e-9 {
					t.Errorf("ε = %v: value %v ± %v, of all sources %v, optimal %v", eps, r.Value, r.ValueError, value,
						p.RegKL())
				}
				errs[at] += plan.MarginalL1 / 3
				if samples > 1000 && eps == 1 && off > .1 {
					t.Errorf("potentials off by %v ε", off)
				}
				if math.Abs(r.Marginal-plan.MarginalL1) > 3*r.Noise {
					t.Errorf("ε = %v: marginal error %v ± %v, of all sources %v", eps, r.Marginal, r.Noise,
						plan.MarginalL1)
				}
			}
		}
		if errs[1] > errs[0]/4 || errs[1] > .05 { // 8 by the rate
			t.Errorf("ε = %v: marginal errors %v after 1000 samples and 64,000", eps, errs)
		}
	}
}

// The same draws lead to the same potentials whatever is added to the cost and in whatever unit it is, and to those of
// the targets in another order. One target takes all.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, seed := rapid.IntRange(1, 8).Draw(t, "m"), rapid.Uint64().Draw(t, "seed")
		y := mat.NewDense(m, 2, rapid.SliceOfN(rapid.Float64Range(-1, 1), 2*m, 2*m).Draw(t, "y"))
		b := rapid.SliceOfN(rapid.Float64Range(0.1, 1), m, m).Draw(t, "b")
		eps := rapid.Float64Range(0.1, 2).Draw(t, "eps")
		solve := func(y *mat.Dense, b []float64, unit, by float64) *stream.Result {
			rng := rand.New(rand.NewPCG(seed, 1))
			c := cost.CostFunc{Value: func(x, y []float64) float64 { return unit*ot.SqEuclidean.Cost(x, y) + by }}
			return must.Get(stream.Solver{Eps: unit * eps, Samples: 200, Check: 200}.Solve(t.Context(),
				func(x []float64) { x[0], x[1] = rng.NormFloat64(), rng.NormFloat64() }, y, b, c))
		}
		want := solve(y, b, 1, 0)
		if m == 1 && (want.G[0] != 0 || want.Marginal > 1e-15) {
			t.Fatalf("of one target: %+v", want)
		}
		unit, by := rapid.Float64Range(0.01, 100).Draw(t, "unit"), rapid.Float64Range(-9, 9).Draw(t, "by")
		got := solve(y, b, unit, unit*by)
		if math.Abs(got.Value/unit-by-want.Value) > 1e-10 || math.Abs(got.Marginal-want.Marginal) > 1e-10 {
			t.Fatalf("in another unit: %+v, want %+v", got, want)
		}
		backwards, of := mat.NewDense(m, 2, nil), make([]float64, m)
		for j := range m {
			backwards.SetRow(j, y.RawRowView(m-1-j))
			of[j] = b[m-1-j]
		}
		back := solve(backwards, of, 1, 0)
		for j, g := range want.G {
			if math.Abs(got.G[j]/unit-g) > 1e-10 || math.Abs(back.G[m-1-j]-g) > 1e-10 {
				t.Fatalf("G[%d] = %g, %g in another unit, %g in another order", j, g, got.G[j]/unit, back.G[m-1-j])
			}
		}
	})
}

// Between Gaussians the potential is a quadratic, known in closed form.
func TestGaussians(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const eps, m = 2, 41
	y, b := mat.NewDense(m, 1, nil), make([]float64, m)
	for j := range b {
		y.Set(j, 0, float64(j-m/2)/5)
		b[j] = math.Exp(-y.At(j, 0) * y.At(j, 0) / 2)
	}
	normal := func(mean float64) gaussian.Normal {
		return gaussian.Normal{Mean: []float64{mean}, Cov: mat.NewSymDense(1, []float64{1})}
	}
	want := must.Get(gaussian.Entropic{Eps: eps}.Solve(normal(.5), normal(0)))
	r := must.Get(stream.Solver{Eps: eps, Samples: 100_000}.Solve(t.Context(),
		func(x []float64) { x[0] = .5 + rng.NormFloat64() }, y, b, ot.SqEuclidean))
	shift := r.G[m/2] - want.G(y.RawRowView(m/2))
	for j := m/2 - 10; j <= m/2+10; j++ { // two deviations each way
		if d := r.G[j] - want.G(y.RawRowView(j)) - shift; math.Abs(d) > .1*eps {
			t.Errorf("g(%v) is off by %v ε", y.At(j, 0), d/eps)
		}
	}
	if math.Abs(r.Value-want.Value) > 5*r.ValueError+.01 {
		t.Errorf("value %v ± %v, closed form %v", r.Value, r.ValueError, want.Value)
	}
}

func TestErrors(t *testing.T) {
	y := mat.NewDense(2, 1, []float64{0, 1})
	draw := func(x []float64) { x[0] = math.NaN() }
	ok := stream.Solver{Eps: 1, Samples: 10}
	for _, k := range []struct {
		o    stream.Solver
		y    *mat.Dense
		b    []float64
		is   error
		name string
	}{
		{ok, nil, nil, ot.ErrShape, "no targets"},
		{ok, y, []float64{1}, ot.ErrShape, "one weight"},
		{ok, y, nil, ot.ErrCost, "a sample that is NaN"},
		{stream.Solver{Samples: 10}, y, nil, ot.ErrParameter, "Eps = 0"},
		{stream.Solver{Eps: 1}, y, nil, ot.ErrParameter, "no samples"},
	} {
		if _, err := k.o.Solve(t.Context(), draw, k.y, k.b, ot.SqEuclidean); !errors.Is(err, k.is) {
			t.Errorf("%s: %v, want %v", k.name, err, k.is)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	late := func([]float64) { cancel() } // the ascent is a single step
	if r, err := ok.Solve(ctx, late, y, nil, ot.SqEuclidean); r != nil || !errors.Is(err, context.Canceled) {
		t.Error(r, err)
	}
}

// A stream of uniform points goes to two targets; the one that is to get three quarters has the
// higher potential.
func ExampleSolver() {
	rng := rand.New(rand.NewPCG(1, 1))
	y := mat.NewDense(2, 1, []float64{0, 1})
	r, err := stream.Solver{Eps: .1, Samples: 100_000}.Solve(context.Background(),
		func(x []float64) { x[0] = rng.Float64() }, y, []float64{.75, .25}, ot.SqEuclidean)
	fmt.Printf("%.1f %v\n", r.G[0]-r.G[1], err)
	// Output: 0.4 <nil>
}
