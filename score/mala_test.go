package score

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
)

// Detailed balance, point by point: log p(x) + log q(x→y) + log α(x, y) is symmetric in x and y. α
// is what MALA computes, q and p are written out here.
func TestDetailedBalance(t *testing.T) {
	rng := seeded(1)
	const n, d, sigma = 50, 3, .2
	for name, f := range randomFields(rng, d) {
		for _, c := range []Convention{Unhalved, Halved} {
			m := MALA{Step: .3, Convention: c, Sigma: sigma}
			x, y := normals(rng, n, d), normals(rng, n, d)
			flow := func(x, y *mat.Dense) []float64 {
				sx, sy := mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
				logp, alpha := make([]float64, n), make([]float64, n)
				must.Do(f.Score(sx, x, sigma))
				must.Do(f.LogDensity(logp, x, sigma))
				must.Do(m.weigh(alpha, f, x, sx, y, sy))
				a := .3
				if c == Halved {
					a = .15
				}
				out := make([]float64, n)
				for i := range out {
					q := 0.
					for k := range d {
						r := y.At(i, k) - x.At(i, k) - a*sx.At(i, k)
						q -= r * r / (4 * a)
					}
					out[i] = logp[i] + q + math.Log(alpha[i])
				}
				return out
			}
			forth, back := flow(x, y), flow(y, x)
			for i := range forth {
				if v := forth[i] + back[i]; math.IsNaN(v) || math.IsInf(v, 0) {
					// which compares equal to itself, or to nothing
					t.Errorf("%s: flow %g forth, %g back", name, forth[i], back[i])
				}
				if math.Abs(forth[i]-back[i]) > 1e-9*(1+math.Abs(back[i])) {
					t.Errorf("%s: flow %g forth, %g back", name, forth[i], back[i])
				}
			}
		}
	}
}

// Steps so long that Langevin's variance is off by a third leave MALA's right, with the density and
// with the score alone.
func TestMALAIsExact(t *testing.T) {
	g := onLine(0, 1)
	const a, n = .5, 20000
	c := Start(seeded(3), normals(seeded(2), n, 1))
	must.Do((Langevin{Step: a, Steps: 30}).Run(t.Context(), g, c))
	varianceWithin(t, "Langevin", column(c.X, 0), 1/(1-a/2))
	for name, f := range map[string]Field{"density": g, "score": bare{g}} {
		c := Start(seeded(3), normals(seeded(2), n, 1))
		acceptance := must.Get(MALA{Step: a, Steps: 30}.Run(t.Context(), f, c))
		varianceWithin(t, name, column(c.X, 0), 1)
		meanWithin(t, name, column(c.X, 0), 0)
		if acceptance < .8 || acceptance > .99 {
			t.Errorf("%s: acceptance %.3f", name, acceptance)
		}
	}
}

func mixtureChains() int {
	if testing.Short() {
		return 1000
	}
	return 4000
}

// A mixture of unequal parts, from far away: the shares come out.
func TestMALAMixture(t *testing.T) {
	f := must.Get(NewMixture([]float64{1, 3}, onLine(-1.5, .4),
		onLine(1.5, .6)))
	c := Start(seeded(5), mat.NewDense(mixtureChains(), 1, nil))
	must.Get((MALA{Step: .4, Steps: 250}).Run(t.Context(), f, c))
	meanWithin(t, "mean", column(c.X, 0), .75)
	varianceWithin(t, "variance", column(c.X, 0), .25*.4+.75*.6+.25*.75*9)
}

// A chain remembers at most 1024 of its steps, evenly spaced: the acceptance of MALA, the score's
// size of Langevin dynamics.
func TestTrace(t *testing.T) {
	g := onLine(0, 1)
	c := Start(seeded(1), mat.NewDense(4, 1, []float64{1, 1, 1, 1}))
	must.Do((Langevin{Steps: 1, Step: .1}).Run(t.Context(), g, c))
	if what, step, value := c.Trace(); what != "root mean square score" || len(step) != 1 || step[0] != 1 ||
		value[0] != 1 {
		t.Errorf("%s: %v, %v", what, step, value)
	}
	steps := 3*1024 + 5
	c = Start(seeded(1), c.X)
	must.Get((MALA{Steps: steps, Step: .1}).Run(t.Context(), g, c))
	what, step, value := c.Trace()
	if what != "share of chains that moved" || len(step) != steps/4 || len(value) != steps/4 {
		t.Fatalf("%s: %d steps, %d values", what, len(step), len(value))
	}
	for k := range step {
		if step[k] != float64(4*(k+1)) || value[k] < 0 || value[k] > 1 {
			t.Fatalf("step %g: %g", step[k], value[k])
		}
	}
}
