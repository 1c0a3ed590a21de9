package exact_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/exact"
)

// A tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatalf(string, ...any)
	Context() context.Context
}

// solve solves and demands a certificate at the level of rounding: the scale of costs that potentials can reach.
func solve(t tester, a, b []float64, c mat.Matrix) *exact.Plan {
	t.Helper()
	sol, err := exact.Simplex{}.Solve(t.Context(), ot.Problem{Geometry: ot.Dense(c), A: a, B: b})
	if err != nil {
		t.Fatalf("%v", err)
	}
	certified(t, sol)
	return sol
}

func certified(t tester, sol *exact.Plan) {
	t.Helper()
	scale := 0.
	for _, v := range slices.Concat(sol.F, sol.G) {
		scale = max(scale, math.Abs(v))
	}
	// Rounding of c, f, g and their centring: a few units of 2^−53 of the largest potential.
	tol := 0x1p-48 * scale
	switch c := sol.Certificate; {
	case sol.Status != exact.Optimal:
		t.Fatalf("status %v", sol.Status)
	case c.Bound() > tol*c.Mass, c.Infeasibility > tol, c.Slackness > tol:
		t.Fatalf("not optimal at potentials up to %v: %+v", scale, c)
	case c.Marginal > 1e-9*c.Mass: // what unbalanced input may leave; the tests on balanced input ask for more
		t.Fatalf("marginal error %v", c.Marginal)
	case len(sol.Arcs) > len(sol.F)+len(sol.G)-1:
		t.Fatalf("%d arcs are not a vertex", len(sol.Arcs))
	}
}

// matrices draws a cost of one of the shapes that trouble solvers: ties, large ranges, outliers, negative entries.
func matrices(n, m int) *rapid.Generator[*mat.Dense] {
	return rapid.Custom(func(t *rapid.T) *mat.Dense {
		entry := rapid.SampledFrom([]*rapid.Generator[float64]{
			rapid.Float64Range(-1, 1),
			rapid.Map(rapid.IntRange(0, 3), func(k int) float64 { return float64(k) }),
			rapid.Map(rapid.IntRange(-12, 12), func(k int) float64 { return math.Pow(10, float64(k)) }),
			rapid.SampledFrom([]float64{0, 1, 0.1, 1e12, -1e12}),
		}).Draw(t, "kind")
		return mat.NewDense(n, m, rapid.SliceOfN(entry, n*m, n*m).Draw(t, "cost"))
	})
}

// measures draws two balanced measures, with zeros and tiny weights.
func measures(t *rapid.T, n, m int) (a, b []float64) {
	entry := rapid.SampledFrom([]*rapid.Generator[float64]{
		rapid.Just(1.),
		rapid.Float64Range(0.1, 1),
		rapid.SampledFrom([]float64{0, 1e-11, 1e-3, 1}),
		rapid.Map(rapid.IntRange(0, 4), func(k int) float64 { return float64(k) }),
	}).Draw(t, "kind")
	draw := func(name string, n int) []float64 {
		w := rapid.SliceOfN(entry, n, n).Draw(t, name)
		total := 0.
		for _, v := range w {
			total += v
		}
		if total == 0 {
			w[0], total = 1, 1
		}
		for i := range w {
			w[i] /= total
		}
		return w
	}
	return draw("a", n), draw("b", m)
}

func TestDuality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 12).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "m")
		a, b := measures(t, n, m)
		sol := solve(t, a, b, matrices(n, m).Draw(t, "C"))
		if sol.Certificate.Marginal > 1e-15*float64(n+m) {
			t.Fatalf("marginal error %v", sol.Certificate.Marginal)
		}
		for _, e := range sol.Arcs {
			if e.Mass <= 0 || a[e.I] == 0 || b[e.J] == 0 {
				t.Fatalf("arc %+v", e)
			}
		}
	})
}

// TestBrute enumerates all permutations: with equal weights some permutation is optimal (Birkhoff).
func TestBrute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		c := matrices(n, n).Draw(t, "C")
		sol := solve(t, nil, nil, c)
		best := math.Inf(1)
		permutations(n, func(π []int) {
			sum := 0.
			for i, j := range π {
				sum += c.At(i, j)
			}
			best = min(best, sum/float64(n))
		})
		if tol := 1e-14 * mat.Max(abs(c)); math.Abs(sol.Value-best) > tol {
			t.Fatalf("value %v, best permutation %v", sol.Value, best)
		}
		if len(sol.Arcs) != n {
			t.Fatalf("not an assignment: %v", sol.Arcs)
		}
	})
}

// TestBruteWeights enumerates integer plans: with integer margins some integer plan is optimal.
func TestBruteWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 3).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "m")
		total := rapid.IntRange(1, 6).Draw(t, "total")
		a, b := margin(t, n, total), margin(t, m, total)
		c := matrices(n, m).Draw(t, "C")
		sol := solve(t, floats(a), floats(b), c)
		best := cheapest(c, slices.Clone(a), slices.Clone(b), 0)
		if tol := 1e-14 * mat.Max(abs(c)) * float64(total); math.Abs(sol.Value-best) > tol {
			t.Fatalf("value %v, best integer plan %v", sol.Value, best)
		}
	})
}

func margin(t *rapid.T, n, total int) []int {
	w := make([]int, n)
	for range total {
		w[rapid.IntRange(0, n-1).Draw(t, "at")]++
	}
	return w
}

func floats(w []int) []float64 {
	f := make([]float64, len(w))
	for i, v := range w {
		f[i] = float64(v)
	}
	return f
}

// cheapest tries every way to send a to b, cell by cell from cell k on.
func cheapest(c *mat.Dense, a, b []int, k int) float64 {
	n, m := c.Dims()
	if k == n*m {
		if slices.Max(a) > 0 {
			return math.Inf(1)
		}
		return 0
	}
	i, j := k/m, k%m
	best := math.Inf(1)
	for x := range min(a[i], b[j]) + 1 {
		a[i], b[j] = a[i]-x, b[j]-x
		best = min(best, float64(x)*c.At(i, j)+cheapest(c, a, b, k+1))
		a[i], b[j] = a[i]+x, b[j]+x
	}
	return best
}

func abs(c *mat.Dense) *mat.Dense {
	var r mat.Dense
	r.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, c)
	return &r
}

func permutations(n int, visit func([]int)) {
	π := make([]int, n)
	for i := range π {
		π[i] = i
	}
	var rec func(k int)
	rec = func(k int) {
		if k == n {
			visit(π)
			return
		}
		for i := k; i < n; i++ {
			π[k], π[i] = π[i], π[k]
			rec(k + 1)
			π[k], π[i] = π[i], π[k]
		}
	}
	rec(0)
}

// TestPermutation: relabelling sources and targets relabels the problem and leaves the value.
func TestPermutation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		n, m := 1+rng.IntN(150), 1+rng.IntN(150)
		a, b := simplexPoint(rng, n), simplexPoint(rng, m)
		c := mat.NewDense(n, m, nil)
		c.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, c)
		p, q := rng.Perm(n), rng.Perm(m)
		pa, pb, pc := make([]float64, n), make([]float64, m), mat.NewDense(n, m, nil)
		for i := range n {
			pa[i] = a[p[i]]
			for j := range m {
				pb[j] = b[q[j]]
				pc.Set(i, j, c.At(p[i], q[j]))
			}
		}
		one, two := solve(t, a, b, c), solve(t, pa, pb, pc)
		if math.Abs(one.Value-two.Value) > 1e-14 {
			t.Errorf("%d×%d: value %v, permuted %v", n, m, one.Value, two.Value)
		}
		tr := solve(t, b, a, c.T())
		if math.Abs(one.Value-tr.Value) > 1e-14 {
			t.Errorf("%d×%d: value %v, transposed %v", n, m, one.Value, tr.Value)
		}
	}
}

func simplexPoint(rng *rand.Rand, n int) []float64 {
	w := make([]float64, n)
	total := 0.
	for i := range w {
		w[i] = rng.ExpFloat64()
		total += w[i]
	}
	for i := range w {
		w[i] /= total
	}
	return w
}

// TestHard runs larger problems of the kinds that stall or mislead a float64 simplex.
func TestHard(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, m = 300, 200
	a, b := simplexPoint(rng, n), simplexPoint(rng, m)
	tiny := slices.Clone(a)
	for i := range tiny {
		if i%2 == 0 {
			tiny[i] *= 1e-11
		}
	}
	normalise(tiny)
	zero := slices.Clone(b)
	for j := range zero {
		if j%3 == 0 {
			zero[j] = 0
		}
	}
	normalise(zero)
	uniform := func(i, j int) float64 { return rng.Float64() }
	cases := map[string]struct {
		a, b []float64
		cost func(i, j int) float64
	}{
		"all equal":       {nil, nil, func(i, j int) float64 { return 3 }},
		"two values":      {nil, nil, func(i, j int) float64 { return float64(rng.IntN(2)) }},
		"tiny weights":    {tiny, b, uniform},
		"zero weights":    {a, zero, uniform},
		"outliers 1e12":   {a, b, func(i, j int) float64 { return uniform(i, j) + 1e12*float64(rng.IntN(20)/19) }},
		"range 1e12":      {a, b, func(i, j int) float64 { return math.Pow(10, 12*rng.Float64()) }},
		"all costs large": {a, b, func(i, j int) float64 { return 1e12 + uniform(i, j) }},
		"negative":        {a, b, func(i, j int) float64 { return -uniform(i, j) }},
		"product":         {a, b, func(i, j int) float64 { return -float64(i*j) / (n * m) }},
		"blocks":          {nil, nil, func(i, j int) float64 { return uniform(i, j) + 1e6*float64((i/30+j/20)%2) }},
		"huge":            {a, b, func(i, j int) float64 { return 1e300 * uniform(i, j) }},
		"denormal":        {a, b, func(i, j int) float64 { return 1e-310 * uniform(i, j) }},
	}
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			c := mat.NewDense(n, m, nil)
			c.Apply(func(i, j int, _ float64) float64 { return k.cost(i, j) }, c)
			sol := solve(t, k.a, k.b, c)
			if sol.Certificate.Marginal > 1e-14 {
				t.Errorf("marginal error %v", sol.Certificate.Marginal)
			}
			solve(t, nil, nil, c.Slice(0, m, 0, m)) // by paths, whose lists lack most arcs
		})
	}
}

func normalise(w []float64) {
	total := 0.
	for _, v := range w {
		total += v
	}
	for i := range w {
		w[i] /= total
	}
}

// TestUnnormalised: total mass scales the value, for any exponent.
func TestUnnormalised(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	c := mat.NewDense(20, 30, nil)
	c.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, c)
	a, b := simplexPoint(rng, 20), simplexPoint(rng, 30)
	want := solve(t, a, b, c).Value
	for _, exp := range []int{-900, -3, 7, 900} {
		sa, sb := make([]float64, 20), make([]float64, 30)
		for i := range a {
			sa[i] = math.Ldexp(a[i], exp)
		}
		for j := range b {
			sb[j] = math.Ldexp(b[j], exp)
		}
		if got := math.Ldexp(solve(t, sa, sb, c).Value, -exp); math.Abs(got-want) > 1e-15 {
			t.Errorf("2^%d: %v, want %v", exp, got, want)
		}
	}
}

// TestRowsAgree: a cost computed on demand gives what the same cost held gives, to the bit.
func TestRowsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	x, y := make([]float64, 3*170), make([]float64, 3*90)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = rng.NormFloat64()
	}
	c := squared(x, y, 3)
	one := solve(t, nil, nil, held(c))
	two := must.Get(exact.Simplex{}.Solve(t.Context(), ot.Problem{Geometry: c}))
	three := solve(t, nil, nil, held(c).T().T())
	same := cmp.Comparer(func(_, _ cost.Geometry) bool { return true })
	if d := cmp.Diff(one, two, same); d != "" {
		t.Errorf("matrix, rows: %s", d)
	}
	if d := cmp.Diff(one, three, same); d != "" {
		t.Errorf("matrix, view: %s", d)
	}
}

// TestPivotLimit: stopped early, the plan is feasible, and the certificate bounds the distance to the optimum honestly.
func TestPivotLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	c := mat.NewDense(80, 90, nil)
	c.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, c)
	best := solve(t, nil, nil, c)
	for _, k := range []int{1, 10, 100} {
		sol := must.Get(exact.Simplex{MaxPivots: k}.Solve(t.Context(), ot.Problem{Geometry: ot.Dense(c)}))
		over := sol.Value - best.Value
		if sol.Status != exact.PivotLimit || sol.Pivots != k || sol.Certificate.Marginal > 1e-14 ||
			over <= 0 || over > sol.Certificate.Bound() || sol.Certificate.Infeasibility > 1e-15 {
			t.Errorf("after %d pivots: %v over the optimum, status %v, %+v", k, over, sol.Status, sol.Certificate)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 400
	reads := 0
	c := exact.Rows{N: n, M: n, Fill: func(dst []float64, i int) {
		if reads++; reads == 3*n {
			cancel()
		}
		for j := range dst {
			dst[j] = math.Abs(math.Sin(float64(i*n + j)))
		}
	}}
	if _, err := (exact.Simplex{}).Solve(ctx, ot.Problem{Geometry: c}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if reads > 4*n {
		t.Errorf("%d rows read after the context was cancelled", reads-3*n)
	}
}

func TestErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	ok := mat.NewDense(2, 2, []float64{0, 1, 1, 0})
	half := []float64{.5, .5}
	for _, k := range []struct {
		a, b []float64
		c    mat.Matrix
		is   error
		text string
	}{
		{[]float64{1}, half, ok, ot.ErrShape, "ot/exact: a has 1 weights for 2 atoms: sizes do not match"},
		{half, []float64{.5, -.5}, ok, ot.ErrWeights,
			"ot/exact: b[1] = -0.5: must be finite and ≥ 0: weights are not a measure"},
		{half, []float64{nan, .5}, ok, ot.ErrWeights,
			"ot/exact: b[0] = NaN: must be finite and ≥ 0: weights are not a measure"},
		{[]float64{inf, .5}, half, ok, ot.ErrWeights,
			"ot/exact: a[0] = +Inf: must be finite and ≥ 0: weights are not a measure"},
		{[]float64{0, 0}, half, ok, ot.ErrWeights, "ot/exact: a sums to 0: must be > 0: weights are not a measure"},
		{half, []float64{.5, .5001}, ok, exact.ErrUnbalanced,
			"ot/exact: total mass of a = 1, of b = 1.0001: total masses must agree to 1e-9"},
		{half, half, mat.NewDense(2, 2, []float64{0, nan, 0, 0}), ot.ErrCost,
			"ot/exact: cost[0][1] = NaN: must be at most 5.62e+306 in size, or +Inf: cost out of range"},
		{half, half, mat.NewDense(2, 2, []float64{0, 0, -inf, 0}), ot.ErrCost,
			"ot/exact: cost[1][0] = -Inf: must be at most 5.62e+306 in size, or +Inf: cost out of range"},
		{nil, nil, &mat.Dense{}, ot.ErrShape, "ot: cost is 0×0: must have a source and a target"},
		{[]float64{1e9}, []float64{1e9}, mat.NewDense(1, 1, []float64{1e300}), ot.ErrCost,
			"ot/exact: value = NaN with costs and weights this large: cost out of range"},
	} {
		sol, err := exact.Simplex{}.Solve(t.Context(), ot.Problem{Geometry: ot.Dense(k.c), A: k.a, B: k.b})
		if sol != nil || !errors.Is(err, k.is) || err.Error() != k.text {
			t.Errorf("%v, error %q, want %q", sol, err, k.text)
		}
	}
	if _, err := exact.Certify(t.Context(), ot.Problem{Geometry: ot.Dense(ok), A: half, B: half},
		[]exact.Arc{{2, 0, 1}}, half, half); !errors.Is(err, ot.ErrShape) {
		t.Errorf("error %v", err)
	}
}

// TestCertify: a wrong plan or wrong potentials do not pass.
func TestCertify(t *testing.T) {
	c := mat.NewDense(2, 2, []float64{0, 1, 1, 0})
	w := []float64{.5, .5}
	swap := []exact.Arc{{0, 1, .5}, {1, 0, .5}}
	got, err := exact.Certify(t.Context(), ot.Problem{Geometry: ot.Dense(c), A: w, B: w}, swap, []float64{0, 0},
		[]float64{.25, 0})
	want := exact.Certificate{Primal: 1, Dual: .125, Gap: .875, Infeasibility: .25, Slackness: 1, Mass: 1}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%s %v", d, err)
	}
	if got.Bound() != 1.125 { // true excess 1
		t.Errorf("bound %v", got.Bound())
	}
}

// FuzzSimplex: any input ends with a certified plan or an error.
func FuzzSimplex(f *testing.F) {
	f.Add(uint8(2), uint8(3), []byte("costs and weights"), uint8(0))
	f.Add(uint8(7), uint8(1), []byte{0, 255, 3, 9}, uint8(1))
	f.Add(uint8(5), uint8(5), []byte{1, 1, 2, 2, 200, 100}, uint8(2))
	f.Add(uint8(9), uint8(8), []byte{1, 7, 2, 2, 251, 100}, uint8(3))
	// pivots went in a circle: potentials left over from far larger ones
	f.Add(uint8(31), uint8(38), []byte{56, 48, 243, 243}, uint8(1))
	f.Fuzz(func(t *testing.T, n, m uint8, data []byte, kind uint8) {
		if n == 0 || m == 0 || n > 40 || m > 40 || len(data) == 0 {
			return
		}
		k := 0
		next := func() float64 {
			v := float64(data[k%len(data)]) + float64(k/len(data)%3)
			k++
			switch kind % 4 {
			case 1:
				return math.Ldexp(v, int(v)*7-900)
			case 2:
				return v - 128
			case 3:
				return math.Float64frombits(uint64(v*v*v*v) << 32 * uint64(k))
			default:
				return v
			}
		}
		a, b := make([]float64, n), make([]float64, m)
		total := 0.
		for i := range a {
			a[i] = math.Abs(next())
			total += a[i]
		}
		sum := 0.
		for j := range b {
			b[j] = math.Abs(next())
			sum += b[j]
		}
		for j := range b {
			b[j] *= total / sum
		}
		c := mat.NewDense(int(n), int(m), nil)
		c.Apply(func(_, _ int, _ float64) float64 { return next() }, c)
		sol, err := exact.Simplex{}.Solve(t.Context(), ot.Problem{Geometry: ot.Dense(c), A: a, B: b})
		if err != nil {
			return
		}
		certified(t, sol)
	})
}
