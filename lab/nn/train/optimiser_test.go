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

func floats(a *device.Array) []float64 {
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

// Optimisers move parameters by the device's steps, which package devicetest holds to the papers' formulas, with their
// own constants and the factor of a schedule; state is left alone.
func TestOptimisersStep(t *testing.T) {
	dev := nntest.InScope(t)
	type maker struct {
		opt  func([]*nn.Param) *train.Optimiser
		step func(u device.Update, t *device.Array)
	}
	adam := func(a train.Adam, same device.Adam) maker {
		return maker{a.For, func(u device.Update, t *device.Array) { device.StepAdam(u, t, same) }}
	}
	sgd := func(s train.SGD, same device.SGD) maker {
		return maker{s.For, func(u device.Update, _ *device.Array) { device.StepSGD(u, same) }}
	}
	schedule := train.Warmup(2, train.Cosine(5, .1))
	for name, m := range map[string]maker{
		"Adam": adam(train.Adam{Rate: .1}, device.Adam{Rate: .1, Beta1: .9, Beta2: .999, Eps: 1e-8}),
		"Adam without momentum": adam(train.Adam{Rate: .1, Beta2: .9, Eps: 1e-3, Decay: .3},
			device.Adam{Rate: .1, Beta2: .9, Eps: 1e-3, Decay: .3}),
		"AdamW": adam(train.Adam{Rate: .1, Decay: .3, Decoupled: true},
			device.Adam{Rate: .1, Beta1: .9, Beta2: .999, Eps: 1e-8, Decay: .3, Decoupled: true}),
		"SGD": sgd(train.SGD{Rate: .1, Momentum: .9, Decay: .2}, device.SGD{Rate: .1, Momentum: .9, Decay: .2}),
		"Nesterov": sgd(train.SGD{Rate: .1, Momentum: .9, Nesterov: true},
			device.SGD{Rate: .1, Momentum: .9, Nesterov: true}),
	} {
		t.Run(name, func(t *testing.T) {
			defer dev.Scope().Close()
			rng := rand.New(rand.NewPCG(1, 2))
			array := func(x ...float64) *device.Array { return dev.From64(x, len(x)) }
			one := func(a *device.Array) []*device.Array { return []*device.Array{a} }
			p := param(dev, device.Float64, "w", []float64{1, -2, .5})
			state := &nn.Param{Name: "state", Value: array(0, 0)}
			opt, count := m.opt([]*nn.Param{state, p}), dev.FromInts([]int32{0}, 1)
			w, factor := p.Value.Clone(), array(1)
			u := device.Update{W: one(w), G: one(p.Grad), M: one(array(0, 0, 0)), V: one(array(0, 0, 0))}
			if u.Factor = factor; name == "SGD" || name == "Nesterov" {
				u.V = nil
			}
			for step := range 8 {
				p.Grad.SetFloats([]float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()})
				if step > 2 { // before, the factor is 1
					opt.SetFactor(schedule(step))
					factor.SetFloats([]float64{schedule(step)})
				}
				opt.Step()
				m.step(u, count)
				near(t, fmt.Sprint("step ", step), floats(p.Value), floats(w), 0)
			}
			near(t, "state", floats(state.Value), []float64{0, 0}, 0)
		})
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
	near(t, "average", floats(e.State()[0].Value), average, 1e-15)
	e.Swap()
	near(t, "network", floats(p.Value), average, 1e-15)
	e.Swap()
	near(t, "network again", floats(p.Value), []float64{3, -2}, 0)
	near(t, "average again", floats(e.State()[0].Value), average, 1e-15)
}

// Gradients are shortened to a norm that is that of all parameters together.
func TestClip(t *testing.T) {
	dev := nntest.InScope(t)
	for _, c := range []struct{ clip, by float64 }{{0, 1}, {8, 1}, {1, 1. / 7}} {
		a, b := param(dev, device.Float64, "a", []float64{0}), param(dev, device.Float64, "b", []float64{0, 0})
		a.Grad.SetFloats([]float64{2})
		b.Grad.SetFloats([]float64{-3, 6})
		train.SGD{Rate: 1, Clip: c.clip}.For([]*nn.Param{a, b}).Step()
		near(t, fmt.Sprint("clip ", c.clip), append(floats(a.Value), floats(b.Value)...),
			[]float64{-2 * c.by, 3 * c.by, -6 * c.by}, 2e-7)
		near(t, "gradients are left", floats(b.Grad), []float64{-3, 6}, 0)
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
