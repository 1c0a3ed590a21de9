package ot_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
)

// geomloss is GeomLoss 0.2.3's symmetrised loop, written out plainly: what SamplesLoss("sinkhorn", debias=False) does.
type geomloss struct {
	c          *mat.Dense
	a, b, f, g []float64
}

func softmin(eps float64, w, pot, cost []float64) float64 {
	var s float64
	for k := range w {
		s += w[k] * math.Exp((pot[k]-cost[k])/eps)
	}
	return -eps * math.Log(s)
}

func (l *geomloss) both(eps float64, f, g []float64) (nf, ng []float64) {
	n, m := l.c.Dims()
	for i := range n {
		nf = append(nf, softmin(eps, l.b, g, l.c.RawRowView(i)))
	}
	for j := range m {
		ng = append(ng, softmin(eps, l.a, f, mat.Col(nil, j, l.c)))
	}
	return nf, ng
}

func (l *geomloss) run(schedule []float64) (value float64) {
	n, m := l.c.Dims()
	l.f, l.g = l.both(schedule[0], make([]float64, n), make([]float64, m))
	for _, eps := range schedule {
		nf, ng := l.both(eps, l.f, l.g)
		for i := range l.f {
			l.f[i] = (l.f[i] + nf[i]) / 2
		}
		for j := range l.g {
			l.g[j] = (l.g[j] + ng[j]) / 2
		}
	}
	nf, ng := l.both(schedule[len(schedule)-1], l.f, l.g)
	for i, w := range l.a {
		value += w * nf[i]
	}
	for j, w := range l.b {
		value += w * ng[j]
	}
	return value
}

func TestAnnealedIsGeomLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := cloud(rng, 8, 3, 1, 0), cloud(rng, 6, 3, 1, 1)
	kind := ot.SqEuclideanL1(1)
	a, b := simplex(rng, 8), simplex(rng, 6)
	const blur, diameter = 0.4, 7.0
	l := &geomloss{c: byPair(x, y, kind), a: a, b: b}
	var schedule []float64
	schedule = append(schedule, diameter)
	for e := diameter; e > blur; e /= 2 {
		schedule = append(schedule, e)
	}
	schedule = append(schedule, blur)
	want := l.run(schedule)
	o := ot.Annealed{Blur: blur, Diameter: diameter}
	p := ot.Problem{Geometry: ot.Points(x, y, kind), A: a, B: b}
	got, err := o.Eval(ctx, p, true)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Value-want) > 1e-12 {
		t.Errorf("value %v, want %v", got.Value, want)
	}
	if got.Status != ot.IterationLimit || got.MarginalL1 < 1e-6 {
		t.Errorf("%v at L1 error %g: want it to say that it did not converge", got.Status, got.MarginalL1)
	}
	// Gradients hold the potentials of the last update still: finite differences of that update alone.
	last := func() (vf, vg float64) {
		nf, ng := (&geomloss{c: byPair(x, y, kind), a: a, b: b}).both(blur, l.f, l.g)
		for i, w := range a {
			vf += w * nf[i]
		}
		for j, w := range b {
			vg += w * ng[j]
		}
		return vf, vg
	}
	for _, c := range []struct {
		name  string
		at, d *mat.Dense
		value func() float64
	}{
		{"x", x, got.X, func() float64 { f, _ := last(); return f }},
		{"y", y, got.Y, func() float64 { _, g := last(); return g }},
	} {
		n, d := c.at.Dims()
		for i := range n {
			for k := range d {
				v := c.at.At(i, k)
				fd := central(func(h float64) float64 { c.at.Set(i, k, v+h); return c.value() })
				c.at.Set(i, k, v)
				if math.Abs(c.d.At(i, k)-fd) > fdTol {
					t.Errorf("∂/∂%s[%d,%d] = %v, finite differences say %v", c.name, i, k, c.d.At(i, k), fd)
				}
			}
		}
	}
}

// A long enough anneal converges to the converged loss.
func TestAnnealedConverges(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	p := ot.Problem{Geometry: ot.Points(cloud(rng, 7, 2, 1, 0), cloud(rng, 6, 2, 1, 1), ot.SqEuclidean)}
	want := solveTight(t, p, 0.5)
	got, err := ot.Annealed{Blur: 0.5, Scaling: 0.999}.Eval(ctx, p, true)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Value-want.RegKL()) > 1e-3 {
		t.Errorf("value %v, converged %v", got.Value, want.RegKL())
	}
	g, err := want.Grad(ot.RegKL)
	if err != nil {
		t.Fatal(err)
	}
	gx, err := g.X()
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(got.X, gx, 1e-2) {
		t.Error("gradient is far from the converged one")
	}
}

func TestAnnealedRefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	p := ot.Problem{Geometry: ot.Points(cloud(rng, 7, 2, 1, 0), cloud(rng, 6, 2, 1, 1), ot.SqEuclidean)}
	for _, o := range []ot.Annealed{{Blur: -1}, {P: math.NaN()}, {Scaling: 1}, {Diameter: math.Inf(1)}} {
		if _, err := o.Eval(ctx, p, false); !errors.Is(err, ot.ErrParameter) {
			t.Errorf("%+v: err = %v, want ErrParameter", o, err)
		}
	}
	if _, err := (ot.Annealed{}).Eval(ctx, ot.Problem{Geometry: ot.Dense(mat.NewDense(2, 2, nil))}, false); !errors.Is(err, ot.ErrUnsupported) {
		t.Errorf("a cost matrix: err = %v, want ErrUnsupported", err)
	}
	same := mat.NewDense(3, 2, nil)
	got, err := ot.Annealed{}.Eval(ctx, ot.Problem{Geometry: ot.Points(same, same, ot.L1)}, true)
	if err != nil || math.Abs(got.Value) > 1e-16 {
		t.Errorf("coinciding points: %+v, %v, want value 0", got, err)
	}
}

// The gradient of every debiased loss is that of its value.
func TestDivergenceGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	x, y, fresh := cloud(rng, 5, 2, 1, 0), cloud(rng, 4, 2, 1, 1), cloud(rng, 2, 2, 1, 0)
	a, b := simplex(rng, 5), simplex(rng, 4)
	for _, loss := range []ot.Loss{ot.Sharp, ot.RegKL} {
		of := ot.Solved{Solver: ot.Newton{Eps: 0.4, Tol: 1e-14}, Loss: loss}
		div := func() *ot.Divergences {
			d, err := ot.Divergence{Of: of}.Eval(ctx, x, y, a, b, ot.SqEuclidean, true)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		semi := func() *ot.SemiDebiasedLoss {
			d, err := ot.SemiDebiased{Of: of}.Eval(ctx, x, fresh, y, ot.SqEuclidean, true)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		d, s := div(), semi()
		if loss == ot.RegKL && d.Value < 0 || d.Status == ot.IterationLimit {
			t.Errorf("%v: divergence %v, %v", loss, d.Value, d.Status)
		}
		for _, c := range []struct {
			name  string
			at, d *mat.Dense
			value func() float64
		}{
			{"divergence by x", x, d.X, func() float64 { return div().Value }},
			{"divergence by y", y, d.Y, func() float64 { return div().Value }},
			{"semi-debiased by x", x, s.X, func() float64 { return semi().Value }},
			{"semi-debiased by fresh", fresh, s.Fresh, func() float64 { return semi().Value }},
		} {
			n, dim := c.at.Dims()
			for i := range n {
				for k := range dim {
					v := c.at.At(i, k)
					fd := central(func(h float64) float64 { c.at.Set(i, k, v+h); return c.value() })
					c.at.Set(i, k, v)
					if math.Abs(c.d.At(i, k)-fd) > fdTol {
						t.Errorf("%v, %s[%d,%d]: %v, finite differences say %v", loss, c.name, i, k, c.d.At(i, k), fd)
					}
				}
			}
		}
	}
	for _, loss := range []ot.Loss{ot.Sharp, ot.RegKL, ot.RegEntropy} {
		of := ot.Divergence{Of: ot.Solved{Solver: ot.Newton{Eps: 0.4, Tol: 1e-14}, Loss: loss}}
		d, err := of.Eval(ctx, x, y, a, b, ot.SqEuclidean, true)
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range map[string]struct{ at, grad, dir []float64 }{
			"divergence by a": {a, d.A, change(rng, a)}, "divergence by b": {b, d.B, change(rng, b)},
		} {
			at := append([]float64(nil), w.at...)
			fd := central(func(h float64) float64 {
				copy(w.at, plus(at, h, w.dir))
				e, err := of.Eval(ctx, x, y, a, b, ot.SqEuclidean, false)
				if err != nil {
					t.Fatal(err)
				}
				return e.Value
			})
			copy(w.at, at)
			var got float64
			for i, v := range w.dir {
				got += v * w.grad[i]
			}
			if math.Abs(got-fd) > fdTol {
				t.Errorf("%v, %s: %v along %v, finite differences say %v", loss, name, got, w.dir, fd)
			}
		}
	}
	if _, err := (ot.SemiDebiased{Of: ot.Annealed{}}).Eval(ctx, fresh, x, y, ot.L1, false); !errors.Is(err, ot.ErrShape) {
		t.Errorf("more fresh points than points: err = %v, want ErrShape", err)
	}
	if _, err := (ot.Divergence{}).Eval(ctx, x, y, nil, nil, ot.L1, false); !errors.Is(err, ot.ErrParameter) {
		t.Errorf("Divergence without Of: err = %v, want ErrParameter", err)
	}
}
