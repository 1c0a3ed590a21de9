package exact_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/exact"
)

// A translation by v has SW₂² = |v|²/d, and in one dimension slicing is W itself.
func TestSliced(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, d, k = 40, 3, 20000
	x := mat.NewDense(n, d, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, x)
	y := mat.DenseCopyOf(x)
	for i := range n {
		y.Set(i, 0, y.At(i, 0)+2)
	}
	got, err := exact.Sliced{Directions: k}.Value(t.Context(), rng, x, y, nil, nil)
	// ⟨θ,v⟩² has the variance |v|⁴ (3/(d(d+2)) − 1/d²) = 16·4/45.
	if se := math.Sqrt(16 * 4. / 45 / k); err != nil || math.Abs(got-4./3) > 5*se {
		t.Errorf("%v, %v, want %v ± %v", got, err, 4./3, se)
	}
	line, want := mat.DenseCopyOf(x.Slice(0, n, 0, 1)), 0.0
	other := mat.DenseCopyOf(x.Slice(0, n, 1, 2))
	if want, err = (exact.Line{P: 1}).Value(mat.Col(nil, 0, line), nil, mat.Col(nil, 0, other), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := (exact.Sliced{P: 1, Directions: 3}).Value(t.Context(), rng, line, other, nil, nil); err != nil ||
		math.Abs(got-want) > 1e-14 {
		t.Errorf("in one dimension %v, %v, want %v", got, err, want)
	}
	if _, err := (exact.Sliced{}).Value(t.Context(), rng, line, x, nil, nil); !errors.Is(err, ot.ErrShape) {
		t.Errorf("dimensions 1 and 3: err = %v, want ErrShape", err)
	}
}

// The gradient is the finite difference of the value over the same directions, also with weights,
// and the value is Value's. Points are generic, so that no projections cross within h.
func TestSlicedGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	const n, m, d, h = 7, 9, 3, 1e-6
	x, y, v := mat.NewDense(n, d, nil), mat.NewDense(m, d, nil), mat.NewDense(n, d, nil)
	for _, z := range []*mat.Dense{x, y, v} {
		z.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, z)
	}
	a, b := simplexPoint(rng, n), simplexPoint(rng, m)
	for _, p := range []float64{1, 1.5, 2, 3} {
		s := exact.Sliced{P: p, Directions: 30}
		value := func(f float64) float64 {
			var at mat.Dense
			at.Scale(f, v)
			at.Add(&at, x)
			return must.Get(s.Value(t.Context(), rand.New(rand.NewPCG(8, 8)), &at, y, a, b))
		}
		got, dx, err := s.Gradient(t.Context(), rand.New(rand.NewPCG(8, 8)), x, y, a, b)
		if err != nil || math.Abs(got-value(0)) > 1e-14*got {
			t.Fatalf("p = %v: value %v, %v, want %v", p, got, err, value(0))
		}
		dx.MulElem(dx, v)
		if want := (value(h) - value(-h)) / (2 * h); math.Abs(mat.Sum(dx)-want) > 1e-8*(1+math.Abs(want)) {
			t.Errorf("p = %v: derivative %v, finite difference %v", p, mat.Sum(dx), want)
		}
	}
}

// The cheapest of the directions' plans has the marginals asked for and costs at least W, and
// exactly W for a translation, or in one dimension.
func TestSlicedPlan(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	x, y := mat.NewDense(30, 2, nil), mat.NewDense(20, 2, nil)
	for _, z := range []*mat.Dense{x, y} {
		z.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, z)
	}
	moved := mat.DenseCopyOf(x)
	moved.Apply(func(_, j int, v float64) float64 { return v + 5*float64(j) }, x)
	line := func(z *mat.Dense) *mat.Dense { n, _ := z.Dims(); return mat.DenseCopyOf(z.Slice(0, n, 0, 1)) }
	a, b := simplexPoint(rng, 30), simplexPoint(rng, 20)
	for name, k := range map[string]struct {
		x, y  *mat.Dense
		b     []float64
		exact bool
	}{"general": {x, y, b, false}, "translation": {x, moved, a, true}, "line": {line(x), line(y), b, true}} {
		arcs, v, err := exact.Sliced{Directions: 200}.Plan(t.Context(), rng, k.x, k.y, a, k.b)
		p := ot.Problem{Geometry: ot.Points(k.x, k.y, ot.SqEuclidean), A: a, B: k.b}
		want, err2 := exact.Simplex{}.Solve(t.Context(), p)
		if err != nil || err2 != nil {
			t.Fatal(name, err, err2)
		}
		c, err := exact.Certify(t.Context(), p, arcs, want.F, want.G)
		if err != nil || c.Marginal > 1e-14 || math.Abs(c.Primal-v) > 1e-13 {
			t.Errorf("%s: value %v, certificate %+v, %v", name, v, c, err)
		}
		if v < want.Value-1e-13 || k.exact && v > want.Value+1e-12 || v > 3*want.Value {
			t.Errorf("%s: value %v, W %v", name, v, want.Value)
		}
	}
}
