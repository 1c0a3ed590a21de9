// Package elsewhere is of another module: a third family of noise, and a mechanism of it.
package elsewhere

import (
	"fmt"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/dptest"
	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/dp/rdp"
)

// logistic has density 1/(4 cosh²(t/2)).
type logistic struct{}

func (logistic) String() string { return "logistic" }

func (logistic) LogDensity(t float64) float64 {
	return -math.Abs(t) - 2*math.Log1p(math.Exp(-math.Abs(t)))
}

func (logistic) LogRatio(t, d float64) float64 {
	if math.Abs(t) > 600 {
		return math.Copysign(d, t*d)
	}
	return 2 * math.Log1p(2*math.Sinh((2*t-d)/4)*math.Sinh(d/4)/math.Cosh((t-d)/2))
}

func (logistic) LogTail(t float64) float64 {
	if t > 0 {
		return -t - math.Log1p(math.Exp(-t))
	}
	return -math.Log1p(math.Exp(t))
}

func (logistic) Reach(beta, d float64) float64 { return 710 + 2*(beta+1)*d }

// Mechanism adds logistic noise of a scale to a value that a record moves by one unit.
type Mechanism struct{ Scale float64 }

func (m Mechanism) String() string { return fmt.Sprintf("Logistic(scale %g)", m.Scale) }

func (m Mechanism) Pair(b dp.Batch) (pair.Pair, error) { return b.Additive(m, logistic{}, m.Scale) }

// composed is δ(ε) of two runs on samples of one removed record, by a sum over the definition with p
// and q at midpoints of cells, which is within 1e-5 of itself where δ is above 1e-4.
func composed(scale, rate, eps float64) float64 {
	const n, end = 2000, 24.
	p, q := make([]float64, n), make([]float64, n)
	h := (2*end + 1/scale) / n
	for i := range n {
		u := -end + h*(float64(i)+.5)
		q[i] = h * math.Exp(logistic{}.LogDensity(u))
		p[i] = (1-rate)*q[i] + rate*h*math.Exp(logistic{}.LogDensity(u-1/scale))
	}
	sum, e := 0.0, math.Exp(eps)
	for i := range n {
		for k := range n {
			sum += max(0, p[i]*p[k]-e*q[i]*q[k])
		}
	}
	return sum
}

// bent has wrong tails.
type bent struct {
	logistic
	left, right float64 // a factor of the logarithm, and a relative error
}

func (b bent) LogTail(t float64) float64 {
	switch log := b.logistic.LogTail(t); {
	case t < 0:
		return b.left * log
	case t > 0:
		return log + b.right
	default:
		return log
	}
}

// recorder is a test that counts its errors.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Errorf(string, ...any) { r.errors++ }

func TestNoiseOfAnotherModule(t *testing.T) {
	for _, n := range []pair.Noise{pair.Gaussian, pair.Laplace, logistic{}, bent{left: 1}} {
		dptest.Noise(t, n)
	}
	for _, n := range []bent{{left: 1.5}, {left: .5}, {left: 1, right: 3e-6}} {
		rec := &recorder{TB: t}
		if dptest.Noise(rec, n); rec.errors == 0 {
			t.Errorf("%+v passes", n)
		}
	}
	one := dp.Relation{Kind: dp.Removal}
	for _, c := range []struct{ scale, rate, eps float64 }{{1, 1, .5}, {.4, .1, 1}} {
		e := dp.Repeat{Times: 2, Event: dp.Poisson{Rate: c.rate, Event: Mechanism{c.scale}}}
		want := composed(c.scale, c.rate, c.eps)
		for _, by := range []dp.Accountant{pld.Accountant{}, rdp.Accountant{}} {
			g, err := dp.DeltaBy(t.Context(), by, e, one, c.eps)
			_, loose := by.(rdp.Accountant)
			if err != nil || g.Delta < want*(1-1e-4) || g.Lower > want*(1+1e-4) ||
				!loose && g.Delta > want*(1+1e-3) || g.Delta > 4*want {
				t.Errorf("%v: %v, %v; want δ = %v", e, g, err, want)
			}
		}
	}
	// All of the data: the loss of a group of three is at most three units.
	g, err := dp.Epsilon(t.Context(), Mechanism{2}, dp.Relation{Group: 3}, 0)
	if err != nil || math.Abs(g.Epsilon-1.5) > 1e-9 {
		t.Errorf("δ = 0: %v, %v; want 1.5", g, err)
	}
	fixed := dp.WithoutReplacement{Batch: 10, Size: 100, Event: Mechanism{1}}
	if g, err := dp.Epsilon(t.Context(), fixed, dp.Relation{Kind: dp.Substitution}, 1e-3); err != nil ||
		!(g.Lower > 0 && g.Epsilon < 2) {
		t.Errorf("%v: %v, %v", fixed, g, err)
	}
	event := func(scale float64) dp.Event {
		return dp.Repeat{Times: 10, Event: dp.Poisson{Rate: .05, Event: Mechanism{scale}}}
	}
	budget := dp.Budget{Epsilon: 1, Delta: 1e-6, Accountant: dp.Best{Width: 1e-3}}
	scale, g, err := dp.MinNoise(t.Context(), budget, event)
	if err != nil || g.Epsilon > 1 {
		t.Fatal(scale, g, err)
	}
	if g, err := dp.Epsilon(t.Context(), event(scale*.99), dp.Relation{}, 1e-6); err != nil || g.Epsilon <= 1 {
		t.Errorf("with less noise than %v: %v, %v", scale, g, err)
	}
}
