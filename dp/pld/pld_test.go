package pld_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"coupling/dp/contour"
	"coupling/dp/dptest"
	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/lab/must"
)

func poisson(noise pair.Noise, scale, rate float64, inserted, removed int) pair.Pair {
	p := must.Get(pair.Poisson(noise, scale, rate, inserted, removed))
	return p
}

func repeat(p pair.Pair, n int) []pair.Step { return []pair.Step{{Pair: p, Times: n}} }

func TestConformance(t *testing.T) {
	dptest.Run(t, dptest.Subject{
		Accountant: pld.Accountant{Width: 5e-2, Bins: 1 << 12, Work: 1_000_000},
		// Whoever asks for a narrow interval gets it from the grid that suits the question.
		RelTol: 0.05,
	})
}

// The exact value, which package contour knows to eleven digits, lies between the optimistic and the pessimistic one,
// and the pessimistic one is not far.
func TestContourIsInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(2022, 4))
	between := func(a, b float64) float64 { return a + (b-a)*rng.Float64() }
	compared := 0
	trials := 12
	if testing.Short() {
		trials = 4
	}
	for range trials {
		sigma, rate := math.Exp(between(-0.5, 2)), math.Exp(between(-5, -0.5))
		n := int(math.Exp(between(3, 10)))
		pr := poisson(pair.Gaussian, sigma, rate, rng.IntN(3), 1+rng.IntN(3))
		if rng.IntN(2) == 0 {
			pr = pr.Swap()
		}
		steps := repeat(pr, n)
		if rng.IntN(2) == 0 {
			steps = append(steps, pair.Step{Pair: poisson(pair.Gaussian, 4, 1, 0, 1), Times: 3})
		}
		delta := math.Exp(-between(1, 300))
		exact, err := contour.Accountant{Work: 1e6}.Bound(context.Background(), steps, pair.EpsilonAt(delta))
		if err != nil {
			continue
		}
		compared++
		a := pld.Accountant{Width: 2e-2, Bins: 1 << 14, Work: 2_000_000}
		got := must.Get(a.Bound(context.Background(), steps, pair.EpsilonAt(delta)))
		if got.Lower > exact.Upper || got.Upper < exact.Lower {
			t.Errorf("%v: exact ε in %v, outside %v", steps, exact, got)
		}
		if got.Upper > 1.5*exact.Upper+1e-3 {
			t.Errorf("%v: ε in %v is far above %v", steps, got, exact)
		}
		d, err := a.Bound(context.Background(), steps, pair.DeltaAt(exact.Upper))
		if err != nil || d.Lower > delta || d.Upper < delta*(1-1e-6) {
			t.Errorf("%v: δ(%v) in %v, %v: must hold %v", steps, exact.Upper, d, err, delta)
		}
	}
	if compared < trials/2 {
		t.Errorf("only %d compositions were compared", compared)
	}
}

// Randomised response composes to a binomial loss: δ(ε) = Σ C(T,k) (θ^k θ̄^(T−k) − e^ε θ^(T−k) θ̄^k)₊.
func TestRandomizedResponse(t *testing.T) {
	for _, theta := range []float64{0.52, 0.75, 0.9} {
		rr := must.Get(pair.RandomizedResponse(theta, 0, 1))
		for i, n := range []int{1, 7, 100} {
			if testing.Short() && (i == 1 || theta == 0.75) {
				continue
			}
			unit := math.Log(theta / (1 - theta))
			for _, eps := range []float64{0, 0.4 * unit, unit * math.Sqrt(float64(n)),
				3.3 * unit * math.Sqrt(float64(n))} {
				want := 0.0
				lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
				for k := range n + 1 {
					p := lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(theta) + float64(n-k)*math.Log1p(-theta)
					if l := unit*float64(2*k-n) - eps; l > 0 {
						want += math.Exp(p) * -math.Expm1(-l)
					}
				}
				got, err := pld.Accountant{}.Bound(context.Background(), repeat(rr, n), pair.DeltaAt(eps))
				// Lgamma is good to some 1e-14 of its size.
				if err != nil || got.Lower > want*(1+1e-10) || got.Upper < want*(1-1e-10) ||
					got.Upper-got.Lower > 0.02*want+1e-5*theta {
					t.Errorf("θ=%v T=%d: δ(%v) in [%.12g, %.12g], %v, want %.12g", theta, n, eps, got.Lower,
						got.Upper, err, want)
				}
			}
		}
	}
}

// One step has the profile of its pair, whatever the pair.
func TestOneStep(t *testing.T) {
	fixed := must.Get(oneExchanged(pair.Gaussian))
	laplaceFixed := must.Get(oneExchanged(pair.Laplace))
	norm := must.Get(pair.NewNorm(0.7, 3, 1, 0.3))
	for _, p := range []pair.Pair{
		poisson(pair.Gaussian, 0.5, 0.1, 0, 1), poisson(pair.Laplace, 0.5, 0.1, 2, 1),
		poisson(pair.Laplace, 1, 1, 0, 1),
		poisson(pair.Gaussian, 0.05, 1, 0, 1), fixed, laplaceFixed, norm,
	} {
		for _, eps := range []float64{0, 0.1, 0.5, 2, 10} {
			want := pair.Delta(p, eps)
			got, err := pld.Accountant{Width: 1e-2, Bins: 1 << 14}.Bound(context.Background(), repeat(p, 1),
				pair.DeltaAt(eps))
			if err != nil || got.Lower > want*(1+1e-11) || got.Upper < want*(1-1e-11) ||
				got.Upper-got.Lower > 0.03*want+1e-12 {
				t.Errorf("%v: δ(%v) in %v, %v; want %v", p, eps, got, err, want)
			}
		}
	}
}

// refCase is one composition of ../shared/refs/dp.
type refCase struct {
	ID, Scale string
	P, Q      struct{ W, Mean []string }
	T         int
	Exact     []struct {
		Dir, Delta, Eps string
		Err             json.RawMessage `json:"err_est"`
	}
}

func TestReferences(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/refs/dp/composed_*.json")
	if len(files) == 0 {
		t.Log("../shared/refs/dp/composed_*.json are not here: only the cases in testdata are compared")
	}
	for _, f := range append(files, "testdata/composed.json") {
		raw := must.Get(os.ReadFile(f))
		var file struct{ Cases []refCase }
		if err := json.Unmarshal([]byte(strings.NewReplacer(": NaN", ": null", ": Infinity", ": null").
			Replace(string(raw))), &file); err != nil {
			t.Fatal(f, err)
		}
		for i, c := range file.Cases {
			if !testing.Short() || i%6 == 0 {
				c.check(t)
			}
		}
	}
}

func (c refCase) check(t *testing.T) {
	number := func(s string) float64 {
		v := must.Get(strconv.ParseFloat(s, 64))
		return v
	}
	side := func(w, m []string) (out []pair.Component) {
		for i := range w {
			out = append(out, pair.Component{LogWeight: math.Log(number(w[i])), Mean: number(m[i])})
		}
		return out
	}
	p := must.Get(pair.NewMixture(pair.Gaussian, number(c.Scale), side(c.P.W, c.P.Mean), side(c.Q.W, c.Q.Mean)))
	for _, e := range c.Exact {
		var own float64
		if string(e.Err) == "null" || json.Unmarshal(e.Err, &own) != nil || own > 1e-12 || e.Eps == "nan" {
			continue // a reference that does not know its own error
		}
		pr := pair.Pair(p)
		if e.Dir == "reverse" {
			pr = p.Swap()
		}
		// A grid small enough for a test: the interval must hold the value all the same, and not be useless.
		bins := 1 << 16
		if c.T > 10_000_000 {
			bins = 1 << 18
		}
		got, err := pld.Accountant{Width: 1e-3, Bins: bins, Work: 4_000_000}.Bound(context.Background(),
			repeat(pr, c.T), pair.EpsilonAt(number(e.Delta)))
		want := number(e.Eps)
		if err != nil || got.Lower > want*(1+1e-9) || got.Upper < want*(1-1e-9) || got.Upper > want*1.1 {
			t.Errorf("%s %s δ=%s: ε in %v, %v; want %v", c.ID, e.Dir, e.Delta, got, err, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	g := poisson(pair.Gaussian, 1, 0.1, 0, 1)
	leaky := must.Get(pair.NewDiscrete([]float64{0.5, 0.499, 0.001}, []float64{0.499, 0.501, 0}))
	for _, c := range []struct {
		steps []pair.Step
		delta float64
		a     pld.Accountant
		want  error
	}{
		{steps: nil, delta: 1e-5, want: pair.ErrParameter},
		{steps: repeat(nil, 1), delta: 1e-5, want: pair.ErrParameter},
		{steps: repeat(g, 0), delta: 1e-5, want: pair.ErrParameter},
		{steps: repeat(g, 1), delta: 0, want: pair.ErrNotApplicable},
		{steps: repeat(g, 1), delta: 1, want: pair.ErrParameter},
		{steps: repeat(g, 1), delta: math.NaN(), want: pair.ErrParameter},
		{steps: repeat(g, 1), delta: 1e-5, a: pld.Accountant{Width: -1}, want: pair.ErrParameter},
		{steps: repeat(leaky, 10), delta: 1e-5, want: pair.ErrUnbounded},
	} {
		if b, err := c.a.Bound(context.Background(), c.steps, pair.EpsilonAt(c.delta)); !errors.Is(err, c.want) {
			t.Errorf("%v, δ=%v: got %v, %v; want %v", c.steps, c.delta, b, err, c.want)
		}
	}
	if b, err := (pld.Accountant{}).Bound(context.Background(), repeat(leaky, 10), pair.EpsilonAt(0.02)); err != nil ||
		b.Upper > 1 {
		t.Errorf("above the infinite part: %v, %v", b, err)
	}
	for _, eps := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := (pld.Accountant{}).Bound(context.Background(), repeat(g, 1), pair.DeltaAt(eps)); !errors.Is(err,
			pair.ErrParameter) {
			t.Errorf("ε=%v: %v", eps, err)
		}
	}
}

// FuzzSafe tries extreme parameters: an answer must lie between bounds that hold of any
// composition. From below, T steps reveal at least what one reveals; from above, Chernoff's bound
// from the log-moments of the pair.
func FuzzSafe(f *testing.F) {
	f.Add(1.5, 1.0/1200, 160_000, 11.5, uint8(0))
	f.Add(0.4, 1e-3, 1000, 11.5, uint8(2))
	f.Add(4.0, 3.3e-4, 10_000, 41.3, uint8(1))
	f.Add(1e-3, 0.5, 1, 11.0, uint8(1))
	f.Add(1e6, 1e-12, 1_000_000_000, 460.0, uint8(2))
	f.Add(1.0, 1e-12, 1_000_000_000, 14.0, uint8(3))
	f.Add(0.01, 1.0, 1_000_000_000, 460.0, uint8(0))
	f.Add(5.0, 1e-3, 1000, 14.0, uint8(0xF0))
	f.Fuzz(func(t *testing.T, scale, rate float64, times int, logDelta float64, shape uint8) {
		if !(scale >= 1e-3 && scale <= 1e6 && rate >= 1e-12 && rate <= 1 && times >= 1 && times <= 1e9 &&
			logDelta > 0.01 && logDelta < 461) {
			t.Skip()
		}
		noise := [...]pair.Noise{pair.Gaussian, pair.Laplace}[shape>>1&1]
		p, err := pair.Poisson(noise, scale, rate, int(shape>>2)&3, 1+int(shape>>4))
		if err != nil {
			t.Skip()
		}
		pr := pair.Pair(p)
		if shape&1 == 1 {
			pr = p.Swap()
		}
		b, err := pld.Accountant{Bins: 1 << 13}.Bound(context.Background(), repeat(pr, times),
			pair.EpsilonAt(math.Exp(-logDelta)))
		if errors.Is(err, pld.ErrRange) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !(b.Lower >= 0 && b.Lower <= b.Upper) || math.IsInf(b.Upper, 0) {
			t.Fatalf("ε in %v", b)
		}
		if one := pr.LogDelta(b.Upper); one > -logDelta+1e-9*logDelta+pr.RelErr() {
			t.Errorf("ε = %v is too small: one step has log δ = %v > %v", b.Upper, one, -logDelta)
		}
		for _, order := range []float64{1.01, 1.5, 2, 5, 20, 100, 1000} {
			k, e := pr.LogMoment(order)
			s := order - 1
			chernoff := float64(times)*(k+e) - s*b.Lower - s*math.Log1p(1/s) - math.Log1p(s)
			if b.Lower > 0 && chernoff < -logDelta-1e-9*(logDelta+math.Abs(float64(times)*k)) {
				t.Errorf("ε ≥ %v is too large: Chernoff's bound of log δ is %v at order %v", b.Lower, chernoff, order)
			}
		}
	})
}

func ExampleAccountant_Bound() {
	p, err := pair.Poisson(pair.Laplace, 2, 0.01, 0, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := pld.Accountant{Width: 1e-3}.Bound(context.Background(), repeat(p, 10_000),
		pair.EpsilonAt(1e-6))
	fmt.Printf("ε = %.2f, known to 0.1%%: %v, %v\n", b.Upper, b.Upper-b.Lower < 1e-3*b.Upper, err)
	// Output: ε = 2.12, known to 0.1%: true, <nil>
}

func BenchmarkEpsilon(b *testing.B) {
	for _, c := range []struct {
		name  string
		steps []pair.Step
		delta float64
	}{
		{"sgd/T=160000", repeat(poisson(pair.Gaussian, 1.5, 1.0/1200, 0, 1), 160_000), 1e-5},
		{"sgd/T=85000000", repeat(poisson(pair.Gaussian, 1.5, 1.0/1200, 0, 1), 85_000_000), 1e-5},
		{"sgd/T=1000/delta=1e-20", repeat(poisson(pair.Gaussian, 1, 0.01, 0, 1), 1000), 1e-20},
		{"group16/T=1000", repeat(poisson(pair.Gaussian, 5, 1e-3, 0, 16), 1000), 1e-6},
		{"laplace/T=1000", repeat(poisson(pair.Laplace, 2, 0.01, 0, 1), 1000), 1e-6},
	} {
		b.Run(c.name, func(b *testing.B) {
			var e pair.Answer
			for b.Loop() {
				var err error
				if e, err = (pld.Accountant{}).Bound(context.Background(), c.steps,
					pair.EpsilonAt(c.delta)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(-math.Log10((e.Upper-e.Lower)/e.Upper), "digits")
		})
	}
}

// oneExchanged is the tight pair of one exchange in 100 of 1000 records without replacement.
func oneExchanged(noise pair.Noise) (pair.Pair, error) {
	half, err := pair.Poisson(noise, 0.8, 0.1, 0, 1)
	if err != nil {
		return nil, err
	}
	return pair.NewSymmetric(half)
}
