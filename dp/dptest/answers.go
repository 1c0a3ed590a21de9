package dptest

import (
	"math"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// answer is a composition with an exact δ at ε, or an exact ε at δ.
type answer struct {
	name       string
	steps      []pair.Step
	eps, delta float64
	epsKnown   bool // eps was computed from delta, else delta from eps
}

// knownAnswers asks for the δ that is known, and for the ε of each δ. The answers are good to 1e-11 and 1e-9.
func (s Subject) knownAnswers(t *testing.T) {
	for _, a := range answers(t) {
		if !a.epsKnown {
			s.holds(t, a, pair.DeltaAt(a.eps), a.delta, 1e-11, 1e-300)
		}
		if a.delta > 0 {
			s.holds(t, a, pair.EpsilonAt(a.delta), a.eps, 1e-9, 1e-12)
		}
	}
}

// holds asks a question whose answer is known up to a relative and an absolute error.
func (s Subject) holds(t *testing.T, a answer, q pair.Question, want, relative, absolute float64) {
	t.Helper()
	got, err := s.ask(a.steps, q)
	if s.refused(t, a.steps, err) {
		return
	}
	if room := want*relative + absolute; !(got.Upper >= want-room) || !(got.Lower <= want+room) {
		t.Errorf("%s: %+v in [%.12g, %.12g]: must hold %.12g", a.name, q, got.Lower, got.Upper, want)
	}
	if a.epsKnown && s.RelWidth > 0 && got.Upper-got.Lower > s.RelWidth*got.Upper {
		t.Errorf("%s: [%.12g, %.12g] is wider than %g", a.name, got.Lower, got.Upper, s.RelWidth)
	}
}

// answers collects what is known by other means than composing.
func answers(t *testing.T) []answer {
	var out []answer
	// Unsampled Gaussians compose to one with shift √Σ d².
	for _, c := range []struct {
		sigma, eps float64
		times      int
	}{{1, 1, 1}, {1, 0.1, 4}, {20, 0.5, 100}, {50, 3, 1000}, {0.5, 8, 1}, {1e3, 0.3, 1000}} {
		d := math.Sqrt(float64(c.times)) / c.sigma
		out = append(out, answer{
			name:  "Gaussian",
			steps: []pair.Step{{Pair: gaussian(t, c.sigma, 1, 0, 1), Times: c.times}},
			eps:   c.eps,
			delta: gaussianDelta(d, c.eps),
		})
	}
	mixed := []pair.Step{{Pair: gaussian(t, 3, 1, 0, 1), Times: 7}, {Pair: gaussian(t, 5, 1, 0, 2), Times: 9}}
	out = append(out, answer{
		name:  "two Gaussians",
		steps: mixed,
		eps:   1,
		delta: gaussianDelta(math.Sqrt(7./9+4*9./25), 1),
	})
	// One step has the profile of its pair.
	for _, p := range []pair.Pair{gaussian(t, 1, 0.01, 0, 1), gaussian(t, 2, 0.2, 2, 2),
		poisson(t, pair.Laplace, 1, 0.2, 1, 3), response(t, 0.8, 0.3)} {
		for _, eps := range []float64{0, 0.05, 0.7} {
			out = append(out, answer{
				name:  "one step",
				steps: []pair.Step{{Pair: p, Times: 1}},
				eps:   eps,
				delta: pair.Delta(p, eps),
			})
		}
	}
	// Randomised response by enumeration.
	for _, c := range []struct {
		truth, eps float64
		times      int
	}{{0.75, 1, 5}, {0.6, 1.3, 40}, {0.55, 2, 200}} {
		out = append(out, answer{
			name:  "randomised response",
			steps: []pair.Step{{Pair: response(t, c.truth, 1), Times: c.times}},
			eps:   c.eps,
			delta: responseDelta(c.truth, c.times, c.eps),
		})
	}
	return append(out, composed(t)...)
}

// gaussianDelta is Φ(d/2 − ε/d) − e^ε Φ(−d/2 − ε/d) (Balle, Wang 2018).
func gaussianDelta(d, eps float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	return phi(d/2-eps/d) - math.Exp(eps)*phi(-d/2-eps/d)
}

// responseDelta sums over the number of true answers k: P has truth^k (1−truth)^(T−k), Q the mirror image.
func responseDelta(truth float64, times int, eps float64) float64 {
	sum, logChoose := 0.0, 0.0
	a, b := logspace.Log(truth), math.Log1p(-truth)
	for k := 0; k <= times; k++ {
		p := logChoose + float64(k)*a + float64(times-k)*b
		loss := float64(2*k-times) * (a - b)
		if loss > eps {
			sum += math.Exp(p) * -math.Expm1(eps-loss)
		}
		logChoose += logspace.Log(float64(times-k)) - logspace.Log(float64(k+1))
	}
	return sum
}

// composed lists compositions of sampled Gaussians whose ε is known to 1e-12: contour integrals of
// the moment generating function in 80-bit arithmetic, checked against 30-digit ones (records
// removed, then inserted).
func composed(t *testing.T) []answer {
	dir := func(name string, p pair.Pair, times int, delta, removed, inserted float64) []answer {
		return []answer{
			{name + ", removal", []pair.Step{{Pair: p, Times: times}}, removed, delta, true},
			{name + ", insertion", []pair.Step{{Pair: p.Swap(), Times: times}}, inserted, delta, true},
		}
	}
	var out []answer
	out = append(out, dir("σ=1.1 r=0.01 T=10,000", gaussian(t, 1.1, 0.01, 0, 1), 10_000, 1e-5, 5.192583445883157,
		4.806500065667172)...)
	out = append(out, dir("σ=1.5 r=1/1200 T=160,000", gaussian(t, 1.5, 1./1200, 0, 1), 160_000, 1e-5,
		0.9274911053553092, 0.9191907073319843)...)
	out = append(out, dir("σ=2 r=0.2 T=100", gaussian(t, 2, 0.2, 0, 1), 100, 1e-6, 5.66178805771239637,
		4.50405135615841049)...)
	out = append(out, dir("σ=5 r=0.001 T=1,000 K=4", gaussian(t, 5, 0.001, 0, 4), 1000, 1e-6, 0.09343494619374714,
		0.09112632237327267)...)
	out = append(out, dir("σ=1 r=0.01 T=1,000", gaussian(t, 1, 0.01, 0, 1), 1000, 1e-12, 3.914298156037469858,
		2.3255533145783894341)...)
	return out
}

func gaussian(t testing.TB, sigma, rate float64, inserted, removed int) pair.Pair {
	t.Helper()
	return poisson(t, pair.Gaussian, sigma, rate, inserted, removed)
}

func poisson(t testing.TB, noise pair.Noise, scale, rate float64, inserted, removed int) pair.Pair {
	t.Helper()
	p, err := pair.Poisson(noise, scale, rate, inserted, removed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func response(t testing.TB, truth, flip float64) pair.Pair {
	t.Helper()
	p, err := pair.RandomizedResponse(truth, flip, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
