package barycentre_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/barycentre"
	"coupling/ot/cost"
	"coupling/ot/ottest"
)

// seeded returns the generator of a seed and a stream.
func seeded(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

func cloudOf(rng *rand.Rand, n, d int, at, scale float64) *mat.Dense {
	x := mat.NewDense(n, d, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return at + scale*rng.NormFloat64() }, x)
	return x
}

// pixels is the geometry of side×side pixels, in units of cost between neighbours.
func pixels(side int, unit float64) cost.Geometry {
	axis := mat.NewDense(side, side, nil)
	axis.Apply(func(i, j int, _ float64) float64 { return unit * float64((i-j)*(i-j)) }, axis)
	return cost.Grid(axis, axis)
}

// measures are the problems of measures on one geometry.
func measures(g cost.Geometry, weights ...[]float64) (out []ot.Problem) {
	for _, a := range weights {
		out = append(out, ot.Problem{Geometry: g, A: a})
	}
	return out
}

// A solver is a Fixed or a Free.
type solver interface {
	Solve(ctx context.Context, problems []ot.Problem, w []float64) (*barycentre.Result, error)
}

func converged(t *testing.T, s solver, problems []ot.Problem, w []float64) *barycentre.Result {
	t.Helper()
	out := must.Get(s.Solve(t.Context(), problems, w))
	if out.Status != ot.Converged {
		t.Fatalf("%+v: %v at %g", s, out.Status, out.Error)
	}
	return out
}

func TestLaws(t *testing.T) {
	ottest.Barycentre(t, func(ctx context.Context, problems []ot.Problem, w []float64, eps, tol float64) (
		[]float64, error) {
		out, err := barycentre.Fixed{Eps: eps, Tol: tol}.Solve(ctx, problems, w)
		if err == nil && out.Status != ot.Converged {
			err = fmt.Errorf("%v at %g", out.Status, out.Error)
		}
		return out.B, err
	})
}

// The conditions of optimality: plans exp((α+β−c)/ε) with the right rows and one common column sum,
// whose potentials of the support add up to a constant, weighted. They hold at no other weights.
func TestBarycentreIsOptimal(t *testing.T) {
	rng := seeded(1, 1)
	support := cloudOf(rng, 60, 2, 0, 1.5)
	problems := []ot.Problem{
		{Geometry: ot.Points(cloudOf(rng, 40, 2, -1, .5), support, ot.SqEuclidean)},
		{Geometry: ot.Points(cloudOf(rng, 50, 2, 1, .3), support, ot.SqEuclidean), A: slices.Repeat([]float64{2}, 50)},
		{Geometry: ot.Dense(ot.Cost(ot.Points(cloudOf(rng, 30, 2, 0, 1), support, ot.L1)))},
	}
	w := []float64{1, 2, 3}
	for _, eps := range []float64{1, 0.1} {
		var bs [][]float64
		for _, workers := range []int{1, 3} {
			out, err := barycentre.Fixed{Eps: eps, Workers: workers}.Solve(t.Context(), problems, w)
			if err != nil || out.Status != ot.Converged || !(math.Abs(floats.Sum(out.B)-1) < 1e-12) {
				t.Fatalf("ε = %g: %+v, %v", eps, out, err)
			}
			bs = append(bs, out.B)
			sum := make([]float64, 60)
			for k, plan := range out.Plans {
				for i, r := range plan.Apply(slices.Repeat([]float64{1}, 60)) {
					if !(math.Abs(r-plan.A[i]) < 1e-12) {
						t.Fatalf("plan %d: row %d sums to %g, want %g", k, i, r, plan.A[i])
					}
				}
				if off := floats.Distance(plan.ApplyT(slices.Repeat([]float64{1}, len(plan.A))), out.B,
					1); off > 1e-8 || !(math.Abs(off-plan.MarginalL1) < 1e-12) {
					t.Errorf("plan %d: columns are off by %g, MarginalL1 is %g", k, off, plan.MarginalL1)
				}
				floats.AddScaled(sum, w[k], plan.Beta)
			}
			for j, v := range sum {
				if !(math.Abs(v-sum[0]) < 1e-8) {
					t.Fatalf("ε = %g: Σ w β is %g at %d and %g at 0", eps, v, j, sum[0])
				}
			}
		}
		if d := cmp.Diff(bs[0], bs[1]); d != "" {
			t.Errorf("ε = %g: depends on the number of workers:\n%s", eps, d)
		}
	}
}

// Error is that of the plans, also where float32 columns agree better than those of float64 (3e-8 here), and a plan is
// Converged only where its own columns fit, which a measure of hardly any weight does not ask for.
func TestPlansAreHonest(t *testing.T) {
	line := mat.NewDense(2, 1, []float64{0, .07587945108162106})
	problems := measures(ot.Points(line, line, ot.SqEuclidean), []float64{.9976, .0024}, []float64{1, 1e-11},
		[]float64{.53, .47})
	for _, w := range [][]float64{{1, 1, 1}, {1, 1e-9, 1e-9}} {
		s := barycentre.Fixed{Eps: .001, Tol: 6e-9}
		if w[1] == 1 {
			s.Eps = 14.407
		}
		out, sum := converged(t, s, problems, w), 0.
		for k, p := range out.Plans {
			sum += w[k] / floats.Sum(w) * p.MarginalL1
			if (p.Status == ot.Converged) != (p.MarginalL1 <= s.Tol) || w[k] < 1 && p.MarginalL1 < .001 {
				t.Errorf("weight %g: %v", w[k], p)
			}
		}
		if !(math.Abs(sum-out.Error) < 1e-13) {
			t.Errorf("the plans are off by %g, Error is %g", sum, out.Error)
		}
	}
}

// Between two equal bumps on a line lies one in the middle, whatever the grid; of one measure it is
// its blur, in closed form.
func TestBarycentreOnTheLine(t *testing.T) {
	const n = 101
	grid, left, right := mat.NewDense(n, 1, nil), make([]float64, n), make([]float64, n)
	for i := range n {
		x := float64(i) / (n - 1)
		grid.Set(i, 0, x)
		left[i], right[i] = math.Exp(-(x-.25)*(x-.25)/2e-3), math.Exp(-(x-.65)*(x-.65)/2e-3)
	}
	g := ot.Points(grid, grid, ot.SqEuclidean)
	out := converged(t, barycentre.Fixed{Eps: 2e-3}, measures(g, left, right), []float64{3, 1})
	var mean, square float64
	for i, b := range out.B {
		x := grid.At(i, 0)
		mean, square = mean+b*x, square+b*x*x
	}
	if !(math.Abs(mean-.35) < 1e-6) || !(square-mean*mean < 4e-3) {
		t.Errorf("mean %g, want 0.35; variance %g", mean, square-mean*mean)
	}
	one := converged(t, barycentre.Fixed{Eps: .01}, measures(g, left), nil)
	want, total := make([]float64, n), floats.Sum(left)
	for i, a := range left {
		row := make([]float64, n)
		for j := range row {
			d := grid.At(i, 0) - grid.At(j, 0)
			row[j] = math.Exp(-d * d / .01)
		}
		floats.AddScaled(want, a/total/floats.Sum(row), row)
	}
	if !floats.EqualApprox(one.B, want, 1e-12) {
		t.Errorf("of one measure: %v, want %v", one.B, want)
	}
}

// Of translates of one cloud the free barycentre is the translate between them, found from a poor
// start too; of points, their mean.
func TestFreeBarycentre(t *testing.T) {
	rng := seeded(2, 1)
	x := cloudOf(rng, 12, 2, 0, 1)
	move := func(by float64) *mat.Dense {
		y := mat.DenseCopyOf(x)
		y.Apply(func(_, _ int, v float64) float64 { return v + by }, y)
		return y
	}
	s := barycentre.Free{Solver: ot.LBFGS{Eps: 1e-3}, Tol: 1e-9}
	out := converged(t, s, between(move(.1), move(-1), move(3)), []float64{1, 3})
	if want := move(2); !mat.EqualApprox(out.X, want, 1e-6) {
		t.Errorf("\n%v, want\n%v", mat.Formatted(out.X), mat.Formatted(want))
	}
	point := mat.NewDense(1, 2, []float64{9, 9})
	out, err := s.Solve(t.Context(), between(point, move(0), move(4)), nil)
	if err != nil || out.Status != ot.Converged ||
		!(math.Abs(out.X.At(0, 0)-2-mat.Sum(x.ColView(0))/12) < 1e-9) {
		t.Error(out, err)
	}
	// Steps never raise the objective, and stop when they are told to.
	last := math.Inf(1)
	for steps := range 6 {
		out := must.Get(barycentre.Free{Solver: ot.LBFGS{Eps: .05}, MaxIter: steps + 1}.Solve(t.Context(),
			between(cloudOf(seeded(3, 1), 8, 2, 0, 1), move(0),
				cloudOf(seeded(4, 1), 20, 2, 1, 2)), nil))
		if v := out.Plans[0].RegKL()/2 + out.Plans[1].RegKL()/2; v > last+1e-9 {
			t.Errorf("the objective rose from %g to %g", last, v)
		} else {
			last = v
		}
	}
}

// between are the problems of measures and a support to start from.
func between(start *mat.Dense, measures ...*mat.Dense) (out []ot.Problem) {
	for _, m := range measures {
		out = append(out, ot.Problem{Geometry: ot.Points(m, start, ot.SqEuclidean)})
	}
	return out
}

func TestBarycentreRefuses(t *testing.T) {
	x := cloudOf(seeded(1, 1), 3, 2, 0, 1)
	p := ot.Problem{Geometry: ot.Points(x, x, ot.SqEuclidean)}
	other := ot.Problem{Geometry: ot.Points(x, cloudOf(seeded(1, 1), 4, 2, 0, 1), ot.SqEuclidean)}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	fixed, free := barycentre.Fixed{Eps: 1}, barycentre.Free{Solver: ot.LBFGS{Eps: 1}}
	refused := func(name string, kind error) func(*barycentre.Result, error) {
		return func(out *barycentre.Result, err error) {
			t.Helper()
			if !errors.Is(err, kind) || out != nil {
				t.Errorf("%s: %v, %v", name, out, err)
			}
		}
	}
	one := []ot.Problem{p}
	refused("none", ot.ErrShape)(fixed.Solve(t.Context(), nil, nil))
	refused("ε", ot.ErrParameter)(barycentre.Fixed{}.Solve(t.Context(), one, nil))
	refused("weights", ot.ErrWeights)(fixed.Solve(t.Context(), one, []float64{-1}))
	refused("other support", ot.ErrShape)(fixed.Solve(t.Context(), []ot.Problem{p, other}, nil))
	refused("cancelled", context.Canceled)(fixed.Solve(gone, []ot.Problem{p, p}, nil))
	refused("no solver", ot.ErrParameter)(barycentre.Free{}.Solve(t.Context(), between(x, x), nil))
	refused("no points", ot.ErrShape)(free.Solve(t.Context(), between(nil, x), nil))
	refused("no measure's points", ot.ErrShape)(free.Solve(t.Context(), between(x, nil), nil))
	refused("another cost", ot.ErrUnsupported)(
		free.Solve(t.Context(), []ot.Problem{{Geometry: ot.Points(x, x, ot.L1)}}, nil))
	refused("two supports", ot.ErrParameter)(free.Solve(t.Context(), []ot.Problem{p, other}, nil))
}

// The barycentre of two measures on a grid of the line.
func ExampleFixed() {
	grid := mat.NewDense(5, 1, []float64{0, 1, 2, 3, 4})
	g := ot.Points(grid, grid, ot.SqEuclidean)
	out, err := barycentre.Fixed{Eps: 0.1}.Solve(context.Background(), []ot.Problem{
		{Geometry: g, A: []float64{1, 0, 0, 0, 0}}, {Geometry: g, A: []float64{0, 0, 0, 0, 1}},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v: %.3f\n", out.Status, out.B)
	// Output:
	// converged: [0.000 0.000 1.000 0.000 0.000]
}

// Two points that stand for three pairs of points.
func ExampleFree() {
	start := mat.NewDense(2, 1, []float64{-1, 1})
	var problems []ot.Problem
	for _, pair := range [][]float64{{0, 4}, {5, 1}, {2, 6}} {
		problems = append(problems, ot.Problem{Geometry: ot.Points(mat.NewDense(2, 1, pair), start, ot.SqEuclidean)})
	}
	out, err := barycentre.Free{Solver: ot.LBFGS{Eps: 0.01}}.Solve(context.Background(), problems, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v: %.3f\n", out.Status, out.X.RawMatrix().Data)
	// Output:
	// converged: [1.000 5.000]
}

// The debiased barycentre of copies of an image is that image, where the entropic one is blurred; on a grid and
// on its matrix both are the same.
func TestBarycentreOfImages(t *testing.T) {
	const side = 9
	grid := pixels(side, 1)
	image, other := make([]float64, side*side), make([]float64, side*side)
	for i := range image {
		image[i], other[i] = 0.1+float64(i*i%7), 0.1+float64(i*i*i%5)
	}
	floats.Scale(1/floats.Sum(image), image)
	blurred := func(debiased bool, g cost.Geometry, images ...[]float64) []float64 {
		return converged(t, barycentre.Fixed{Eps: 0.5, Tol: 1e-8, Debiased: debiased}, measures(g, images...), nil).B
	}
	// A hundred times Tol, since blur is slow to remove.
	if d := floats.Distance(blurred(true, grid, image, image), image, 1); d > 1e-6 {
		t.Errorf("the debiased barycentre of two copies differs by %g", d)
	}
	if d := floats.Distance(blurred(false, grid, image, image), image, 1); d < 0.01 {
		t.Errorf("the entropic barycentre of two copies differs by %g only", d)
	}
	one := blurred(false, grid, image, other)
	if d := floats.Distance(one, blurred(false, ot.Dense(ot.Cost(grid)), image, other), 1); d > 1e-7 {
		t.Errorf("the barycentre on the grid differs from that on its matrix by %g", d)
	}
}

// The root of the conditions of optimality, for which SciPy's fsolve was given a Sinkhorn loop in plain NumPy.
func TestDebiasedKnown(t *testing.T) {
	line := mat.NewDense(5, 1, []float64{0, 1, 2, 3, 4})
	problems := measures(ot.Points(line, line, ot.SqEuclidean), []float64{.5, .2, .15, .1, .05},
		[]float64{.05, .05, .1, .3, .5})
	got := converged(t, barycentre.Fixed{Eps: 1, Tol: 1e-12, Debiased: true}, problems, []float64{1, 3}).B
	want := []float64{.06199323873231905, .07491890977929327, .2626819264408387, .389650970369385, .21075495467816363}
	if !floats.EqualApprox(got, want, 1e-9) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Rings whose barycentre has no mass in most pixels, at ε of a pixel's square: to 1e-8 without momentum it takes 3906
// steps, and the blurred one 673. The sum of divergences F is convex, so that ⟨∇F, b⟩ − min ∇F bounds what any other
// weights could gain.
func TestDebiasedRings(t *testing.T) {
	const side, eps = 24, 1.0 / 24 / 24
	grid := pixels(side, eps)
	var problems []ot.Problem
	for k := range 3 {
		w := make([]float64, side*side)
		for i := range w {
			r := math.Hypot(float64(i/side)-8-3*float64(k), (float64(i%side)-10-2*float64(k*k%3))*float64(2+k)/3)
			if r > 3 && r < 6 {
				w[i] = 1
			}
		}
		floats.Scale(1/floats.Sum(w), w)
		problems = append(problems, ot.Problem{Geometry: grid, A: w})
	}
	gap := func(debiased bool) float64 {
		s := barycentre.Fixed{Eps: eps, Tol: 1e-8, Debiased: debiased, MaxIter: 400}
		b := converged(t, s, problems, nil).B
		divergence := ot.Divergence{Of: ot.Objective{Solver: ot.LBFGS{Eps: eps, Tol: 1e-10}, Loss: ot.RegKL}}
		gradient := make([]float64, len(b))
		for _, p := range problems {
			floats.Add(gradient, must.Get(divergence.On(t.Context(), grid, p.A, b, ot.ByWeights)).B)
		}
		return (floats.Dot(gradient, b) - floats.Min(gradient)) / 3 / eps
	}
	if g, blurred := gap(true), gap(false); !(g < 1e-3) || !(blurred > 0.1) {
		t.Errorf("other weights could gain %g ε, beside the blurred barycentre %g ε: want below .001 and above .1",
			g, blurred)
	}
}
