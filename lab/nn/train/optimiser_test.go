package train_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"
)

func floats(t testing.TB, a *device.Array) []float64 {
	t.Helper()
	return must.Get(a.Float64s())
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

// param is a parameter with values and a gradient.
func param(dev *device.Device, t device.DType, name string, w []float64) *nn.Param {
	p := &nn.Param{Name: name, Value: dev.New(t, len(w)), Grad: dev.New(t, len(w))}
	p.Value.SetFloats(w)
	return p
}

// reference is one number under an optimiser, written as the papers write it.
type reference struct {
	w, m, v float64
	t       int
}

func (r *reference) adam(a train.Adam, g, factor float64) {
	if a.Beta1 == 0 && a.Beta2 == 0 {
		a.Beta1, a.Beta2 = .9, .999
	}
	if !a.Decoupled {
		g += a.Decay * r.w
	}
	r.t++
	r.m = a.Beta1*r.m + (1-a.Beta1)*g
	r.v = a.Beta2*r.v + (1-a.Beta2)*g*g
	m, v := r.m/(1-math.Pow(a.Beta1, float64(r.t))), r.v/(1-math.Pow(a.Beta2, float64(r.t)))
	move := a.Rate * m / (math.Sqrt(v) + 1e-8)
	if a.Decoupled {
		move += a.Rate * a.Decay * r.w
	}
	r.w -= factor * move
}

func (r *reference) sgd(s train.SGD, g, factor float64) {
	g += s.Decay * r.w
	r.m = s.Momentum*r.m + g
	if s.Nesterov {
		g += s.Momentum * r.m
	} else {
		g = r.m
	}
	r.w -= factor * s.Rate * g
}

// Both ways through a step, with and without a schedule, follow the formulas.
func TestOptimisersFollowTheirFormulas(t *testing.T) {
	dev := nntest.InScope(t)
	type maker struct {
		name string
		opt  func([]*nn.Param) *train.Optimiser
		ref  func(r *reference, g, factor float64)
	}
	var all []maker
	for _, a := range []train.Adam{{Rate: .1}, {Rate: .1, Beta1: 0, Beta2: .9}, {Rate: .1, Decay: .3},
		{Rate: .1, Decay: .3, Decoupled: true}} {
		all = append(all, maker{fmt.Sprintf("%+v", a), a.For, func(r *reference, g, f float64) { r.adam(a, g, f) }})
	}
	for _, s := range []train.SGD{{Rate: .1}, {Rate: .1, Momentum: .9, Decay: .2},
		{Rate: .1, Momentum: .9, Nesterov: true}} {
		all = append(all, maker{fmt.Sprintf("%+v", s), s.For, func(r *reference, g, f float64) { r.sgd(s, g, f) }})
	}
	schedule := train.Warmup(2, train.Cosine(5, .1))
	for _, m := range all {
		for _, scheduled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s scheduled %v", m.name, scheduled), func(t *testing.T) {
				defer dev.Scope().Close()
				rng := rand.New(rand.NewPCG(1, 2))
				start := []float64{1, -2, .5}
				p := param(dev, device.Float64, "w", start)
				state := &nn.Param{Name: "state", Value: dev.Zeros(device.Float64, 2)}
				opt := m.opt([]*nn.Param{state, p})
				refs := make([]reference, len(start))
				for i := range refs {
					refs[i].w = start[i]
				}
				for step := range 8 {
					factor := 1.0
					if scheduled {
						factor = schedule(step)
						opt.SetFactor(factor)
					}
					g, want := make([]float64, len(start)), make([]float64, len(start))
					for i := range g {
						g[i] = rng.NormFloat64()
						m.ref(&refs[i], g[i], factor)
						want[i] = refs[i].w
					}
					p.Grad.SetFloats(g)
					opt.Step()
					near(t, fmt.Sprint("step ", step), floats(t, p.Value), want, 1e-12)
				}
				near(t, "state", floats(t, state.Value), []float64{0, 0}, 0)
			})
		}
	}
}

func TestEMA(t *testing.T) {
	dev := nntest.InScope(t)
	p := param(dev, device.Float64, "w", []float64{1, 2})
	e := train.NewEMA(.9, []*nn.Param{p})
	opt := train.SGD{Rate: 1}.For([]*nn.Param{p})
	opt.Average(e)
	p.Grad.SetFloats([]float64{-2, 4})
	opt.Step()
	average := []float64{.9*1 + .1*3, .9*2 - .1*2}
	near(t, "average", floats(t, e.State()[0].Value), average, 1e-15)
	e.Swap()
	near(t, "network", floats(t, p.Value), average, 1e-15)
	e.Swap()
	near(t, "network again", floats(t, p.Value), []float64{3, -2}, 0)
	near(t, "average again", floats(t, e.State()[0].Value), average, 1e-15)
}

// Gradients are shortened to a norm that is that of all parameters together.
func TestClip(t *testing.T) {
	dev := nntest.InScope(t)
	for _, c := range []struct{ clip, by float64 }{{0, 1}, {8, 1}, {1, 1. / 7}} {
		a, b := param(dev, device.Float64, "a", []float64{0}), param(dev, device.Float64, "b", []float64{0, 0})
		a.Grad.SetFloats([]float64{2})
		b.Grad.SetFloats([]float64{-3, 6})
		train.SGD{Rate: 1, Clip: c.clip}.For([]*nn.Param{a, b}).Step()
		near(t, fmt.Sprint("clip ", c.clip), append(floats(t, a.Value), floats(t, b.Value)...),
			[]float64{-2 * c.by, 3 * c.by, -6 * c.by}, 2e-7)
		near(t, "gradients are left", floats(t, b.Grad), []float64{-3, 6}, 0)
	}
}

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		name string
		s    train.Schedule
		step int
		want float64
	}{
		{"constant", train.Constant(), 7, 1},
		{"warmup", train.Warmup(4, train.Constant()), 0, .25},
		{"warmup", train.Warmup(4, train.Constant()), 3, 1},
		{"warmup, then", train.Warmup(4, train.Linear(10, 0)), 9, .5},
		{"cosine", train.Cosine(10, .2), 0, 1},
		{"cosine", train.Cosine(10, .2), 5, .6},
		{"cosine", train.Cosine(10, .2), 99, .2},
		{"linear", train.Linear(10, .5), 5, .75},
		{"staircase", train.Staircase(3, .5), 8, .25},
	} {
		if got := c.s(c.step); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%s(%d) = %v, want %v", c.name, c.step, got, c.want)
		}
	}
}
