package eval_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coupling/data"
	"coupling/data/sample"
	"coupling/lab/device/devicetest"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"
	"coupling/score/eval"
)

func seed(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 7)) }

// bars are images of side×side with a bright bar of three rows at a height that tells the class,
// one of three, in noise.
func bars(rng *rand.Rand, n, side int, lo, hi float32) *data.Images {
	m := must.Get(data.New(n, 1, side, side))
	m.Labels = make([]int, n)
	for i := range n {
		m.Labels[i] = rng.IntN(3)
		row := m.Row(i)
		for j := range row {
			row[j] = .3 * rng.Float32()
			if at := j/side - 1 - m.Labels[i]*side/3; at >= 0 && at < 3 {
				row[j] += .6
			}
		}
	}
	m = must.Get(m.Scale(lo, hi))
	return m
}

// Classes that a ruler separates are learnt by every kind in every protocol, whatever the range of the test images.
func TestEveryProtocolLearns(t *testing.T) {
	dev := devicetest.CPU(t)
	few, many, real := bars(seed(1), 300, 18, 0, 1), bars(seed(1), 1600, 18, 0, 1),
		bars(seed(2), 100, 18, -1, 1)
	for _, p := range []eval.Protocol{eval.Quick, eval.Code, eval.Paper} {
		for _, k := range []eval.Kind{eval.Logistic, eval.MLP, eval.CNN, eval.LeNet, eval.Example, eval.Oriented} {
			if testing.Short() && p != eval.Quick && k != eval.Logistic {
				continue
			}
			c, fit, want := eval.Classifier{Kind: k, Protocol: p, Epochs: 30}, few, .95
			switch {
			case p == eval.Code && k == eval.CNN:
				// It descends at 1e-3 without momentum in one batch an epoch, and 30 steps hardly
				// move it: that it runs to the end is all that can be asked.
				c.Width, want = 8, 0
			case p == eval.Code:
				// Adam at 1e-4, and patience ends it where weak weights already happen to be right
				// on 160 held-out images.
				c.Epochs, fit, want = 60, many, .75
				if k == eval.Example {
					c.Width = 16
				}
			case k == eval.CNN || k == eval.Example:
				c.Width, want = 8, .9
			}
			r := must.Get(c.Evaluate(t.Context(), dev, fit, real, seed(3)))
			t.Logf("%v, %v: %v %+v", p, k, &r.Score, r.Run)
			if r.Accuracy < want || math.IsNaN(r.Run.Loss) || r.Run.Best == 0 {
				t.Errorf("%v, %v: %v, want %v at least", p, k, &r.Score, want)
			}
		}
	}
}

// Everything that training and testing do, on the device that COUPLING_DEVICE names: Philox draws the same dropout on
// every device, so that the losses agree with the processor's up to what float32 does to a few steps.
func TestEvaluateOnDevice(t *testing.T) {
	dev := nntest.Open(t)
	defer func() {
		must.Do(dev.Close())
	}()
	processor := devicetest.CPU(t)
	images := bars(seed(1), 60, 18, 0, 1)
	for _, c := range []eval.Classifier{
		{Kind: eval.CNN, Width: 3, Epochs: 2}, {Kind: eval.LeNet, Protocol: eval.Code, Epochs: 2},
		{Protocol: eval.Paper},
	} {
		a := must.Get(c.Evaluate(t.Context(), dev, images, images, seed(2)))
		b := must.Get(c.Evaluate(t.Context(), processor, images, images, seed(2)))
		if math.Abs(a.Run.Loss-b.Run.Loss) > 1e-3*b.Run.Loss || a.Run.Complete != b.Run.Complete {
			t.Errorf("%v, %v: %+v, on the processor %+v", c.Protocol, c.Kind, a.Run, b.Run)
		}
	}
}

// The same seed gives the same bits, another seed others; a cancelled training returns no model and leaks nothing.
func TestSeedsAndContext(t *testing.T) {
	dev := devicetest.CPU(t)
	fit := bars(seed(1), 120, 18, 0, 1)
	digest := func(s uint64) string {
		m := must.Get(eval.Classifier{Kind: eval.CNN, Width: 4, Epochs: 2}.Fit(t.Context(), dev, fit, seed(s)))
		defer m.Free()
		return must.Get(m.Name())
	}
	if a, b, c := digest(1), digest(1), digest(2); a != b || a == c {
		t.Errorf("weights %s and %s of one seed, %s of another", a, b, c)
	}
	for _, p := range []eval.Protocol{eval.Quick, eval.Paper} {
		ctx := &countdown{t.Context(), 10}
		if _, err := (eval.Classifier{Protocol: p}).Fit(ctx, dev, fit, seed(1)); !errors.Is(err, context.Canceled) ||
			ctx.left < -20 {
			t.Errorf("%v: cancelled at the tenth look, %d looks ago: %v", p, -ctx.left, err)
		}
	}
}

// A countdown is cancelled when it has been looked at so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// With two images per class at ±1 in one pixel the optimum of scikit-learn's objective is known: by
// symmetry W = (−a, a), b = 0, and a solves 4·σ(−2a) = 2a, that is the derivative of 4 log(1 +
// e^{−2a}) + a², halved.
func TestPaperLogisticOptimum(t *testing.T) {
	dev := devicetest.CPU(t)
	m := must.Get(data.New(4, 1, 1, 1))
	copy(m.Pixels(), []float32{0, 0, 1, 1})
	m.Labels = []int{0, 0, 1, 1}
	fit := must.Get(eval.Classifier{Protocol: eval.Paper}.Fit(t.Context(), dev, m, seed(1)))
	defer fit.Free()
	w := must.Get(fit.Params()[0].Value.Float64s())
	a := .5
	for range 100 {
		a = .5*a + .5*4/(1+math.Exp(2*a))
	}
	// The mean objective has a curvature of at least 1/4 and a gradient below 1e-4/4, or values that agree to 2e-9.
	if math.Abs(w[1]-a) > 1.5e-4 || math.Abs(w[0]+a) > 1.5e-4 || !fit.Run.Complete {
		t.Errorf("weights %v, want ±%v; %+v", w, a, fit.Run)
	}
}

// What the code does to synthetic images, and that the originals stay.
func TestPrepare(t *testing.T) {
	m := must.Get(data.New(1, 1, 1, 4))
	m.Lo, m.Hi = -1, 1
	copy(m.Pixels(), []float32{-.5, -1e-6, 0, .5})
	if diff := cmp.Diff([]float32{-1, -1, 0, .5}, eval.Code.Prepare(m).Pixels()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float32{-.5, -1e-6, 0, .5}, m.Pixels()); diff != "" {
		t.Error(diff)
	}
	if eval.Paper.Prepare(m) != m {
		t.Error("the paper's protocol changes images")
	}
}

func TestRefusals(t *testing.T) {
	dev := devicetest.CPU(t)
	good, real := bars(seed(1), 30, 18, 0, 1), bars(seed(2), 30, 9, 0, 1)
	none, flat := *good, *good
	none.Labels, flat.Hi = nil, 0
	one := good.Slice(0, 1)
	for name, c := range map[string]struct {
		classifier eval.Classifier
		fit, test  *data.Images
	}{
		"no labels":      {eval.Classifier{}, &none, good},
		"no test labels": {eval.Classifier{Epochs: 1}, good, &none},
		"no range":       {eval.Classifier{}, &flat, good},
		"other size":     {eval.Classifier{Epochs: 1}, good, real},
		"small for CNN":  {eval.Classifier{Kind: eval.CNN}, real, real},
		"unknown kind":   {eval.Classifier{Kind: 9}, good, good},
		"epochs":         {eval.Classifier{Epochs: -1}, good, good},
		"no hold-out":    {eval.Classifier{Protocol: eval.Code}, one, good},
	} {
		if _, err := c.classifier.Evaluate(t.Context(), dev, c.fit, c.test, seed(1)); !errors.Is(err,
			eval.ErrArgument) {
			t.Errorf("%s: %v, want ErrArgument", name, err)
		}
	}
}

// Real digits: a CNN of half the width, trained on the first 2,000 images of the sample. Measured: see the log.
func TestMNIST(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on 2,000 images")
	}
	fit := must.Get(data.MNIST(t.Context(), sample.From(data.Sample), data.Train))
	real := must.Get(data.MNIST(t.Context(), sample.From(data.Sample), data.Test))
	fit, real = fit.Slice(0, 2000), real.Slice(0, 2000)
	r := must.Get(eval.Classifier{Kind: eval.CNN, Width: 16, Epochs: 12}.Evaluate(t.Context(), devicetest.CPU(t), fit,
		real, seed(1)))
	t.Logf("CNN: %v %+v", &r.Score, r.Run)
	if r.Accuracy < .92 {
		t.Errorf("CNN on 2,000 digits: %v, want 92%% at least", &r.Score)
	}
}
