package scones

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
	"coupling/ot/gaussian"
	"coupling/score/internal/adam"

	"gonum.org/v1/gonum/mat"
)

func nilRows() *mat.Dense { return mat.NewDense(1, 1, nil) }

// table is the potential with a parameter for each atom: Algorithm 1 with it is the empirical dual itself.
type table struct {
	w   []float64
	opt adam.Adam
}

func (p *table) Values(*mat.Dense) ([]float64, error) { return append([]float64(nil), p.w...), nil }

func (p *table) Ascend(w []float64, factor float64) error {
	p.opt.Step(p.w, w, factor)
	return nil
}

// all is the source that is always the whole cloud.
func all(x *mat.Dense) Source {
	return func(*rand.Rand, int) (*mat.Dense, error) { return x, nil }
}

// Full batches climb to the optimum of the discrete problem, for every divergence; freg knows it with a certificate.
func TestAscentReachesTheOptimum(t *testing.T) {
	rng := seeded(1)
	x, y := normal(rng, 8, 2), normal(rng, 6, 2)
	const lambda = 2.
	for _, f := range fdiv.All() {
		best, err := freg.Solver{F: f, Lambda: lambda}.Solve(t.Context(),
			ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)})
		must.Do(err)
		phi, psi := &table{w: make([]float64, 8), opt: adam.Adam{Rate: .05}},
			&table{w: make([]float64, 6), opt: adam.Adam{Rate: .05}}
		for i := range phi.w {
			phi.w[i] = -2 * lambda // inside of every domain
		}
		var dual float64
		a := Ascent{
			Compatibility: Compatibility{F: f, Lambda: lambda},
			Steps:         4000,
			Schedule:      func(k int) float64 { return 1 - float64(k)/4000 },
			Trace:         func(_ int, d float64) { dual = d },
		}
		must.Do(a.Run(t.Context(), phi, psi, all(x), all(y), 1, 0))
		// Adam with a falling rate; freg's gap is below 1e-8
		if math.Abs(dual-best.Dual) > 1e-4*(1+math.Abs(best.Dual)) {
			t.Errorf("%v: dual %.6f, optimum %.6f", f, dual, best.Dual)
		}
	}
}

// The derivatives of a batch's dual are those of its value, paired and full.
func TestBatchGradients(t *testing.T) {
	rng := seeded(2)
	x, y := normal(rng, 5, 3), normal(rng, 5, 3)
	f, g := normal(rng, 1, 5).RawRowView(0), normal(rng, 1, 5).RawRowView(0)
	for _, k := range fdiv.All() {
		for _, paired := range []bool{false, true} {
			a := Ascent{Compatibility: Compatibility{F: k, Lambda: 9, Cap: 3}, Paired: paired, Mean: paired}
			_, wf, wg := a.gradient(f, g, x, y)
			for i := range 5 {
				const h = 1e-5
				slope := func(v *float64) float64 {
					was := *v
					*v = was + h
					up, _, _ := a.gradient(f, g, x, y)
					*v = was - h
					down, _, _ := a.gradient(f, g, x, y)
					*v = was
					return (up - down) / (2 * h)
				}
				if a, b := slope(&f[i]), slope(&g[i]); math.Abs(a-wf[i]) > 1e-8 || math.Abs(b-wg[i]) > 1e-8 {
					t.Errorf("%v, paired %v: derivatives %g, %g; difference quotients %g, %g", k, paired, wf[i],
						wg[i], a, b)
				}
			}
		}
	}
}

func gaussians(plan *gaussian.Plan) (x, y Source) { return plan.P.Sample, plan.Q.Sample }

// Quadratic potentials fitted by stochastic ascent are nearly the exact ones.
func TestQuadraticAscent(t *testing.T) {
	if testing.Short() {
		t.Skip("2500 steps")
	}
	plan := pair(seeded(3), 3, 6)
	x, y := gaussians(plan)
	phi, psi := must.Get(NewQuadraticModel(3, plan.P.Mean, 6, .02)), must.Get(NewQuadraticModel(3, plan.Q.Mean, 6, .02))
	const steps = 2500
	must.Do(Ascent{Compatibility: Compatibility{Lambda: 6}, Steps: steps,
		Schedule: func(k int) float64 { return 1 - float64(k)/steps }}.
		Run(t.Context(), phi, psi, x, y, 1, 0))
	_, exact := Potentials(plan)
	var off mat.Dense
	off.Sub(psi.Potential().S, exact.S)
	// The last steps of Adam move S by some thousandths.
	if got, want := mat.Norm(&off, 2), mat.Norm(exact.S, 2); got > .03*want {
		t.Errorf("S is off by %g of %g", got, want)
	}
}

// The gradient of a quadratic model is that of its values: one plain step up must raise Σ w φ by rate·|gradient|².
func TestQuadraticModelGradient(t *testing.T) {
	q := must.Get(NewQuadraticModel(2, []float64{1, -1}, 3, 1))
	x := normal(seeded(4), 6, 2)
	w := []float64{1, -2, .5, 0, 3, -1}
	sum := func() (s float64) {
		for i, v := range must.Get(q.Values(x)) {
			s += w[i] * v
		}
		return s
	}
	sum()
	must.Do(q.Ascend(w, 1)) // Adam's first step is ±1 by sign
	step := append([]float64(nil), q.w...)
	for k := range q.w {
		clear(q.w)
		q.w[k] = 1
		if slope := sum(); math.Abs(slope) > 1e-9 && slope*step[k] < .99*math.Abs(slope) {
			t.Errorf("parameter %d: slope %g, step %g", k, slope, step[k])
		}
	}
}

func TestAscentRefuses(t *testing.T) {
	p := &table{w: []float64{1e6}, opt: adam.Adam{Rate: 1}}
	x := mat.NewDense(1, 1, nil)
	err := Ascent{Compatibility: Compatibility{Lambda: 1}, Steps: 3}.Run(t.Context(), p, p, all(x), all(x), 1, 0)
	if !errors.Is(err, ErrParameter) {
		t.Errorf("an overflow of exp: error %v", err)
	}
	if err := (Ascent{}).Run(t.Context(), p, p, all(x), all(x), 1, 0); !errors.Is(err, ErrParameter) {
		t.Errorf("lambda = 0: error %v", err)
	}
}
