package train_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"
)

// classify is a training of a small convolutional network with everything that a step may have.
type classify struct {
	dev       *device.Device
	net       nn.Layer
	opt       *train.Optimiser
	mean      *train.EMA
	x, labels *device.Array
	pixels    []float32
	classes   []int32
	plain     bool
	step      *device.Graph
}

func newClassify(dev *device.Device) *classify {
	const n = 6
	conv := func(in, out, stride int) nn.Layer {
		return &nn.Conv2D{In: in, Out: out, Window: device.SquareWindow(3, stride, 1)}
	}
	c := &classify{dev: dev, net: nn.Seq(
		conv(1, 9, 1), &nn.ConvTranspose2D{In: 9, Out: 4, Window: device.SquareWindow(3, 1, 1)},
		&nn.BatchNorm{Channels: 4}, nn.ReLU(), &nn.MaxPool{Window: device.SquareWindow(3, 2, 1)},
		conv(4, 6, 2), &nn.InstanceNormPlus{Channels: 6}, nn.SiLU(), &nn.AvgPool{Window: device.SquareWindow(2, 2, 0)},
		nn.Flatten(), &nn.Dense{In: 24, Out: 5}, nn.ELU(), &nn.Dense{In: 5, Out: 3})}
	c.net.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 2)))
	c.opt, c.mean = train.Adam{Rate: .01, Clip: 1}.For(c.net.Params()), train.NewEMA(.9, c.net.Params())
	c.opt.Average(c.mean)
	c.x, c.labels = dev.New(device.Float32, n, 1, 16, 16), dev.New(device.Int32, n)
	c.pixels, c.classes = make([]float32, n*16*16), make([]int32, n)
	return c
}

// pass is what a step asks of the device.
func (c *classify) pass() {
	defer c.dev.Scope().Close()
	nn.ZeroGrads(c.net.Params())
	p := &nn.Pass{Training: true, ParamsOnly: true}
	y := c.net.Forward(p, c.x)
	dy := y.Like()
	device.CrossEntropy(c.dev.New(device.Float32, y.Dim(0)), dy, y, c.labels)
	c.net.VJP(p, dy)
	c.opt.Step()
}

func (c *classify) do(step int) error {
	for i := range c.pixels {
		c.pixels[i] = float32((i*i+step)%7) / 7
	}
	for i := range c.classes {
		c.classes[i] = int32(i+step) % 3
	}
	c.x.Set32(c.pixels)
	c.labels.SetInts(c.classes)
	c.opt.SetFactor(1 / float64(1+step))
	c.mean.SetDecay(min(.9, float64(1+step)/float64(10+step)))
	switch {
	case c.plain:
		c.pass()
	case c.step == nil:
		c.step = c.dev.Record(c.pass)
	default:
		c.step.Launch()
	}
	return c.dev.Err()
}

func (c *classify) numbers(t *testing.T) (all []float64) {
	for _, p := range append(c.net.Params(), c.mean.State()[:3]...) {
		all = append(all, floats(p.Value)...)
	}
	return all
}

// trained is a training after some steps.
func trained(dev *device.Device, steps int, plain bool) *classify {
	c := newClassify(dev)
	c.plain = plain
	for k := range steps {
		must.Do(c.do(k))
	}
	return c
}

// A training that records its step gives the bits of one that does not, and allocates nothing after
// its first steps, with one worker or several.
func TestRecordedTraining(t *testing.T) {
	const steps = 12
	want := trained(nntest.InScope(t), steps, true).numbers(t)
	for _, workers := range []int{1, 3} {
		dev := nntest.InScope(t)
		if dev.Info().Kind == "cpu" {
			dev = must.Get((device.CPU{Workers: workers}).Open())
		}
		scope := dev.Scope()
		c := trained(dev, steps, false)
		if got := c.numbers(t); !slices.Equal(got, want) {
			t.Errorf("%d workers: other parameters than without a recording", workers)
		}
		per := 1.
		for try := 0; per > 0 && try < 5; try++ { // the scheduler of a loaded machine allocates now and then
			per = testing.AllocsPerRun(5, func() { _ = c.do(steps) })
		}
		if per > 0 && dev.Info().Kind == "cpu" {
			t.Errorf("%d workers: %v allocations a step", workers, per)
		}
		c.step.Close()
		scope.Close()
		must.Do(dev.Close())
	}
}
