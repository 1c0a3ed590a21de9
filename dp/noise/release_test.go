package noise

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"coupling/dp"
	"coupling/lab/must"
)

type adder interface {
	Add(Source, []float64) ([]float64, error)
	Grid() (Grid, error)
}

// Outputs are multiples of the step, whatever the input.
func TestOutputsLieOnTheGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := math.Ldexp(rapid.Float64Range(1, 2).Draw(t, "fraction"), rapid.IntRange(-800, 800).Draw(t, "exponent"))
		step := 0.0
		if rapid.Bool().Draw(t, "given") {
			step = math.Ldexp(1, int(math.Log2(scale))-rapid.IntRange(-8, 38).Draw(t, "bits"))
		}
		var m adder = Gaussian{Sigma: scale, Granularity: step}
		if rapid.Bool().Draw(t, "laplace") {
			m = Laplace{Scale: scale, Granularity: step}
		}
		g := must.Get(m.Grid())
		in := rapid.SliceOfN(rapid.Float64(), 1, 8).Draw(t, "values")
		out := must.Get(m.Add(seed(rapid.Uint64().Draw(t, "seed")), in))
		for i, v := range out {
			if k := v / g.Step; k != math.Trunc(k) || math.Abs(k) > outputSteps || k*g.Step != v {
				t.Fatalf("out[%d] = %v is %v steps of %v", i, v, k, g.Step)
			}
			if math.Abs(in[i]) < g.Limit()/4 && math.Abs(v-in[i]) > 800*scale+g.Step { // of probability e^-800
				t.Fatalf("out[%d] = %v for %v with noise %v", i, v, in[i], scale)
			}
		}
	})
}

// Mironov's attack: with noise that is computed and added in float64, some outputs for one input are impossible for
// its neighbour. On the grid the sets of outputs agree.
func TestNoOutputTellsTheInput(t *testing.T) {
	const n = 4096
	a, b := 0.1, 0.1+1.0/3
	// What inversion gives for each of 4096 uniform numbers, for each of the two inputs.
	naive := func(x float64) map[float64]bool {
		out := map[float64]bool{}
		for i := 1; i < n; i++ {
			out[x+math.Log(float64(i)/n)] = true
		}
		return out
	}
	if both := overlap(naive(a), naive(b)); both > n/100 {
		t.Fatalf("%d outputs of the naive sampler are common: the attack that this test is about does not work", both)
	}
	// With a coarse grid the support can be enumerated: noise within ±6 steps of either.
	for _, m := range []adder{Gaussian{Sigma: 0.5, Granularity: 0.25}, Laplace{Scale: 0.5, Granularity: 0.25}} {
		seen := func(x float64, s uint64) map[float64]bool {
			in := make([]float64, 100_000)
			for i := range in {
				in[i] = x
			}
			values := must.Get(m.Add(seed(s), in))
			out := map[float64]bool{}
			for _, v := range values {
				if v >= -1 && v <= 1.5 { // at most 3 scales from either input: the rarest is seen 100 times on average
					out[v] = true
				}
			}
			return out
		}
		sa, sb := seen(a, 1), seen(b, 2)
		if diff := cmp.Diff(sa, sb); diff != "" || len(sa) != 11 {
			t.Errorf("%T: sets of outputs for the neighbours differ or are not the 11 multiples: %d\n%s", m,
				len(sa), diff)
		}
	}
}

func overlap(a, b map[float64]bool) (n int) {
	for v := range a {
		if b[v] {
			n++
		}
	}
	return n
}

// Which bits are drawn depends on the noise and never on the values: the same source gives the same noise.
func TestNoiseIsIndependentOfValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.Uint64().Draw(t, "seed")
		k := float64(rapid.IntRange(-1000, 1000).Draw(t, "steps"))
		m := Gaussian{Sigma: 5, Granularity: 0.5}
		zero, err0 := m.Add(seed(s), []float64{0, 0})
		moved, err1 := m.Add(seed(s), []float64{k / 2, -k / 2})
		if err0 != nil || err1 != nil {
			t.Fatal(err0, err1)
		}
		if want := []float64{zero[0] + k/2, zero[1] - k/2}; !cmp.Equal(want, moved) {
			t.Fatalf("%v, want %v", moved, want)
		}
	})
}

// Rounding: shifts by a step commute with it, and neighbours stay within ⌈x⌉ steps.
func TestRound(t *testing.T) {
	g := Grid{Step: 0.25}
	got := must.Get(g.Round([]float64{0, 0.1, 0.125, -0.125, -0.126, 0.375, 1e300, -1e300, 5e-324}))
	want := []float64{0, 0, 0.25, 0, -0.25, 0.5, 0x1p50, -0x1p50, 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.Float64Range(-1e6, 1e6).Draw(t, "x"), rapid.Float64Range(-1e6, 1e6).Draw(t, "y")
		r := must.Get(g.Round([]float64{x, y}))
		if math.Abs(r[0]-x) > 0.125 || math.Abs(r[0]-r[1]) > 0.25*math.Ceil(math.Abs(x-y)/0.25*(1+1e-12)) {
			t.Fatalf("%v, %v rounded to %v", x, y, r)
		}
	})
}

func TestParameters(t *testing.T) {
	src, one := seed(1), []float64{1}
	for name, err := range map[string]error{
		"Sigma = 0":             must.Err(Gaussian{}.Add(src, one)),
		"Sigma = -1":            must.Err(Gaussian{Sigma: -1}.Add(src, one)),
		"Sigma = NaN":           must.Err(Gaussian{Sigma: math.NaN()}.Add(src, one)),
		"Scale = +Inf":          must.Err(Laplace{Scale: math.Inf(1)}.Add(src, one)),
		"Granularity = 0.3":     must.Err(Laplace{Scale: 1, Granularity: 0.3}.Add(src, one)),
		"Granularity = 4096":    must.Err(Gaussian{Sigma: 1, Granularity: 4096}.Add(src, one)),
		"Granularity = -1":      must.Err(Gaussian{Sigma: 1, Granularity: -1}.Add(src, one)),
		"Granularity = NaN":     must.Err(Gaussian{Sigma: 1, Granularity: math.NaN()}.Grid()),
		"values[1] = NaN":       must.Err(Gaussian{Sigma: 1}.Add(src, []float64{1, math.NaN()})),
		"values[0] = -Inf":      must.Err(Laplace{Scale: 1}.Add(src, []float64{math.Inf(-1)})),
		"Step = 3":              must.Err(Grid{Step: 3}.Round(one)),
		"Truth = 0.4":           must.Err(Response{Truth: 0.4}.Tell(src, []bool{true})),
		"Truth = NaN":           must.Err(Response{Truth: math.NaN()}.Event()),
		"Zeta = 0":              must.Err(Norm{}.Add(rand.New(rand.NewPCG(1, 1)), one)),
		"values: must not be e": must.Err(Norm{Zeta: 1}.Add(rand.New(rand.NewPCG(1, 1)), nil)),
		"Sensitivity = 0":       must.Err(Gaussian{Sigma: 1}.Event(Query{})),
		"Sensitivity = NaN":     must.Err(Laplace{Scale: 1}.Event(Query{Sensitivity: math.NaN()})),
		"Dim = -1":              must.Err(Laplace{Scale: 1}.Event(Query{Sensitivity: 1, Dim: -1})),
		"Sensitivity = 0.5: is": must.Err(Gaussian{Sigma: 1, Granularity: 1}.Event(
			Query{Sensitivity: 0.5, OnGrid: true})),
	} {
		if !errors.Is(err, dp.ErrParameter) || !strings.Contains(err.Error(), name) ||
			!strings.HasPrefix(err.Error(), "noise: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A source that fails, wherever it fails, gives an error and no values.
func TestFailingSource(t *testing.T) {
	values := make([]float64, 40)
	bits := make([]bool, 400)
	cut := errors.New("the generator was unplugged")
	for n := range 3 {
		src := func() Source {
			r := rand.NewChaCha8([32]byte{byte(n)})
			return Reader(io.MultiReader(io.LimitReader(r, int64(n*1124)), failing{cut}))
		}
		for _, m := range []adder{Gaussian{Sigma: 1}, Laplace{Scale: 1}} {
			long := make([]float64, 1000)
			out, err := m.Add(src(), long)
			if out != nil || !errors.Is(err, ErrSource) || !errors.Is(err, cut) {
				t.Errorf("%T, %d kB: %d values, error %v", m, n, len(out), err)
			}
		}
		out, err := Response{Truth: 0.75}.Tell(src(), append(bits, make([]bool, 1000)...))
		if out != nil || !errors.Is(err, ErrSource) {
			t.Errorf("response: %v, error %v", out, err)
		}
	}
	for name, src := range map[string]Source{
		"nil":         nil,
		"no reader":   Reader(nil),
		"no rng":      Seeded(nil),
		"empty":       Reader(bytes.NewReader(nil)),
		"zeros":       Reader(constant(0)),
		"ones":        Reader(constant(255)),
		"stuck low":   same(0),
		"stuck high":  same(math.MaxUint64),
		"stuck at 42": Reader(constant(42)),
	} {
		for _, m := range []adder{Gaussian{Sigma: 1}, Laplace{Scale: 1}} {
			if out, err := m.Add(src, values); out != nil || !errors.Is(err, ErrSource) {
				t.Errorf("%s: %v, error %v", name, out, err)
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type constant byte

func (c constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

type same uint64

func (s same) Uint64() (uint64, error) { return uint64(s), nil }

// An error stays: no bits come from a source after it failed.
func TestFailureIsSticky(t *testing.T) {
	src := Reader(&flaky{})
	for range 3 {
		if _, err := src.Uint64(); !errors.Is(err, ErrSource) {
			t.Errorf("error %v", err)
		}
	}
}

// flaky fails once and then works.
type flaky struct{ tried bool }

func (f *flaky) Read(p []byte) (int, error) {
	if !f.tried {
		f.tried = true
		return 0, io.ErrNoProgress
	}
	return constant(1).Read(p)
}

// The buffer is read in order, every byte once, and wiped.
func TestReaderReadsInOrder(t *testing.T) {
	raw := make([]byte, 3*1024)
	rand.NewChaCha8([32]byte{1}).Read(raw)
	src := Reader(bytes.NewReader(raw)).(*reader)
	for i := range len(raw) / 8 {
		got := must.Get(src.Uint64())
		want := uint64(0)
		for j := 7; j >= 0; j-- {
			want = want<<8 | uint64(raw[8*i+j])
		}
		if got != want {
			t.Fatalf("word %d: %#x, want %#x", i, got, want)
		}
	}
	if src.buf != [1024]byte{} {
		t.Error("used bits are still in the buffer")
	}
}

// The cryptographic source: no two runs agree, and the law is right.
func TestCrypto(t *testing.T) {
	m := Gaussian{Sigma: 1}
	a, err := m.Add(Crypto(), make([]float64, 8))
	b, err2 := m.Add(Crypto(), make([]float64, 8))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if cmp.Equal(a, b) {
		t.Error("two releases have the same noise")
	}
	sum, n := 0.0, 20_000
	out := must.Get(m.Add(Crypto(), make([]float64, n)))
	for _, v := range out {
		sum += v * v
	}
	if math.Abs(sum/float64(n)-1) > 8*math.Sqrt(2/float64(n)) { // fails once in 10^15 runs
		t.Errorf("variance %v", sum/float64(n))
	}
}

func FuzzAdd(f *testing.F) {
	f.Add(1.0, 0.0, 3.5, uint64(1))
	f.Add(1e300, 0.0, -1e308, uint64(2))
	f.Add(1e-250, 0.0, 1.0, uint64(3))
	f.Add(1.0, 1024.0, 5e-324, uint64(4))
	f.Add(math.Inf(1), 1.0, math.NaN(), uint64(5))
	f.Fuzz(func(t *testing.T, scale, step, value float64, s uint64) {
		for _, m := range []adder{Gaussian{Sigma: scale, Granularity: step}, Laplace{Scale: scale, Granularity: step}} {
			out, err := m.Add(seed(s), []float64{value})
			if err != nil {
				if out != nil || !errors.Is(err, dp.ErrParameter) {
					t.Errorf("%+v: %v, %v", m, out, err)
				}
				continue
			}
			g, _ := m.Grid()
			if k := out[0] / g.Step; k != math.Trunc(k) || math.Abs(k) > outputSteps {
				t.Errorf("%+v: %v is not on the grid of %v", m, out[0], g.Step)
			}
		}
	})
}
