package dsm

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
	"coupling/score"
	"coupling/score/internal/fault"
	"coupling/score/internal/resume"

	"gonum.org/v1/gonum/mat"
)

// Training fits a score network by denoising score matching with Adam.
type Training struct {
	Sigmas []float64 // noise levels, falling; see score.Geometric
	Steps  int
	Batch  int     // 0 means 128
	Rate   float64 // Adam's; 0 means 1e-3
	// Decay is that of the moving average of the weights: 0 means .999, negative none. Step t = 0,
	// 1, … decays by min(Decay, (1+t)/(10+t)), so that a short run does not keep the random initial
	// weights.
	Decay float64
	// Schedule is a factor of the rate as a function of the step; nil is constant.
	Schedule train.Schedule
	// Path is the file where the run is stored every Every steps (0: 1000) and at its end, and from
	// which it resumes if the file exists. A stored run of other data, levels, rates or seed is
	// refused with train.ErrMismatch; Steps may be increased.
	Path  string
	Every int
	// Base is a field to which the network learns the difference, as a mixture of score.FitMixture;
	// the trained field is their sum (Network.Base). It is asked for the scores of each batch, on
	// the host.
	Base score.Field
	// Trace is called with the loss of each step; it costs a copy from the device.
	Trace func(step int, loss float64)
}

// Run draws the network's first weights on dev and trains it on the rows of x, each an example of
// the given shape; nil is [d]. It returns the field with averaged weights. The parameters live
// until the caller frees them or the device is closed.
func (t Training) Run(ctx context.Context, rng *rand.Rand, dev *device.Device, net nn.Layer, x *mat.Dense,
	shape []int) (*Network, error) {
	n, d := x.Dims()
	if shape == nil {
		shape = []int{d}
	}
	f := &Network{Net: net, Device: dev, Type: device.Float32, Shape: shape, Sigmas: t.Sigmas, Base: t.Base}
	t = t.defaults()
	if err := t.check(f, n, d); err != nil {
		return nil, err
	}
	if err := fault.InFloat32(bad, "x", x); err != nil {
		return nil, err
	}
	net.Init(dev, f.Type, rng)
	defer dev.Scope().Close()
	r := &run{
		Training: t,
		f:        f,
		seed:     rng.Uint64(),
		data:     dev.FromDense(f.Type, x),
		opt:      train.Adam{Rate: t.Rate}.For(net.Params()),
	}
	r.sigmas = dev.New(f.Type, len(t.Sigmas), 1)
	r.sigmas.SetFloats(t.Sigmas)
	r.noise = dev.Stream(r.seed)
	r.rows, r.class, r.residual = dev.New(device.Int32, t.Batch), dev.New(device.Int32, t.Batch),
		dev.New(f.Type, t.Batch, d)
	r.sigma, r.y, r.target = dev.New(f.Type, t.Batch, 1), r.residual.Like(), r.residual.Like()
	arguments := []any{"seed ", r.seed, ", levels ", t.Sigmas, ", batch ", t.Batch, ", rate ", t.Rate, ", decay ",
		t.Decay, " warmed up, ", resume.Points(x)}
	if t.Base != nil {
		at := mat.NewDense(1, d, nil)
		if err := t.Base.Score(at, x.Slice(0, 1, 0, d).(*mat.Dense), t.Sigmas[0]); err != nil {
			return nil, fmt.Errorf("dsm: Base: %w", err)
		}
		arguments = append(arguments, ", base ", resume.Points(at))
	}
	stored := resume.Training{
		Steps:   t.Steps,
		Path:    t.Path,
		Every:   t.Every,
		Rate:    t.Rate,
		Weights: net.Params(),
		Checkpoint: train.Checkpoint{
			Params:  map[string][]*nn.Param{"net": net.Params(), "adam": r.opt.State()},
			Sources: map[string]train.Source{"arguments": resume.Of(arguments...)},
		},
	}
	if t.Decay > 0 {
		r.average = train.NewEMA(t.Decay, net.Params())
		r.opt.Average(r.average)
		stored.Params["ema"] = r.average.State()
	}
	defer r.learning.Close()
	if err := stored.Run(ctx, r.step); err != nil {
		return nil, fmt.Errorf("dsm: %w", err)
	}
	if r.average != nil {
		r.average.Swap()
	}
	return f, dev.Sync()
}

func (t Training) defaults() Training {
	t.Batch = cmp.Or(t.Batch, 128)
	t.Rate = cmp.Or(t.Rate, 1e-3)
	t.Decay = cmp.Or(t.Decay, .999)
	t.Every = cmp.Or(t.Every, 1000)
	return t
}

func (t Training) check(f *Network, n, d int) error {
	switch {
	case n == 0 || d != f.Dim():
		return misfit("x is %d×%d, an example %v", n, d, f.Shape)
	case t.Base != nil && t.Base.Dim() != d:
		return misfit("x is %d×%d, Base has dimension %d", n, d, t.Base.Dim())
	case len(t.Sigmas) == 0 || t.Steps < 0 || t.Batch < 1 || t.Every < 1:
		return bad("%d levels, %d steps, batch %d, stored every %d", len(t.Sigmas), t.Steps, t.Batch,
			t.Every)
	case !(t.Rate > 0) || math.IsInf(t.Rate, 1) || !(t.Decay < 1):
		return bad("rate = %g, decay = %g: must be finite, > 0 and < 1", t.Rate, t.Decay)
	}
	for i, s := range t.Sigmas {
		if !(s > 0) || math.IsInf(s, 1) || i > 0 && s > t.Sigmas[i-1] {
			return bad("sigmas[%d] = %g: must be finite, > 0 and not rise", i, s)
		}
	}
	return nil
}

// run is the state of a training.
type run struct {
	Training
	f            *Network
	seed         uint64
	data, sigmas *device.Array
	rows, class  *device.Array // of the batch: examples and levels
	// The deviation of the noise of each example, the examples with their noise z, and z + σ·Base,
	// less which σ·Net is zero.
	sigma, y, target *device.Array
	residual         *device.Array // σs + z, with s the sum of Base and Net
	noise            *device.Stream
	learning         device.Replay // what a step does once its batch is drawn
	opt              *train.Optimiser
	average          *train.EMA
}

// step draws a batch by the number of the step and moves the weights once: a GPU is told how in the
// second step, and from then on only to do it again.
func (r *run) step(k int) error {
	if r.Schedule != nil {
		r.opt.SetFactor(r.Schedule(k))
	}
	dev := r.f.Device
	defer dev.Scope().Close()
	rng := rand.New(rand.NewPCG(r.seed, uint64(k)))
	rows, levels := make([]int32, r.Batch), make([]int32, r.Batch)
	for i := range rows {
		rows[i], levels[i] = int32(rng.IntN(r.data.Dim(0))), int32(rng.IntN(len(r.Sigmas)))
	}
	r.noise.Seek(rng.Uint64(), 0)
	r.rows.SetInts(rows)
	r.class.SetInts(levels)
	if r.average != nil {
		r.average.SetDecay(min(r.Decay, float64(1+k)/float64(10+k)))
	}
	if r.Base == nil {
		r.learning.Do(dev, func() { r.disturb(); r.learn() })
	} else {
		r.disturb()
		if err := r.addBase(levels); err != nil {
			return err
		}
		r.learning.Do(dev, r.learn)
	}
	if r.Trace == nil {
		return dev.Err()
	}
	sum := dev.New(r.f.Type, 1, 1)
	device.Reduce(sum, r.residual, device.SumSquares)
	loss, err := sum.Float64s()
	if err == nil {
		r.Trace(k+1, loss[0]/float64(2*r.Batch))
	}
	return err
}

// disturb adds noise to the examples of the batch.
func (r *run) disturb() {
	device.Gather(r.y, r.data, r.rows)
	device.Gather(r.sigma, r.sigmas, r.class)
	r.noise.Normal(r.target, 0, 1)
	scaled := r.target.Like()
	defer scaled.Free()
	device.Mul(scaled, r.target, r.sigma)
	device.Add(r.y, r.y, scaled)
}

// addBase adds σ·Base at the examples with their noise to the target, a level at a time.
func (r *run) addBase(levels []int32) error {
	y, err := r.y.Mat()
	if err != nil {
		return err
	}
	n, d := y.Dims()
	all := mat.NewDense(n, d, nil)
	for k, sigma := range r.Sigmas {
		var at []int
		for i, l := range levels {
			if int(l) == k {
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			continue
		}
		x, s := mat.NewDense(len(at), d, nil), mat.NewDense(len(at), d, nil)
		for i, row := range at {
			x.SetRow(i, y.RawRowView(row))
		}
		if err := r.Base.Score(s, x, sigma); err != nil {
			return err
		}
		s.Scale(sigma, s)
		for i, row := range at {
			all.SetRow(row, s.RawRowView(i))
		}
	}
	device.Add(r.target, r.target, r.f.Device.FromDense(r.f.Type, all))
	return nil
}

// learn makes a step on the batch.
func (r *run) learn() {
	dev := r.f.Device
	defer dev.Scope().Close()
	nn.ZeroGrads(r.f.Net.Params())
	p := &nn.Pass{Training: true, ParamsOnly: true, Class: r.class}
	s := r.f.Net.Forward(p, r.y.Reshape(append([]int{r.Batch}, r.f.Shape...)...))
	// The residual has half its mean square norm as the loss, and σ times itself over the batch as its cotangent.
	device.Mul(r.residual, s.Reshape(r.y.Shape()...), r.sigma)
	device.Add(r.residual, r.residual, r.target)
	dy := r.y.Like()
	device.Mul(dy, r.residual, r.sigma)
	device.Scale(dy, 1/float64(r.Batch), dy)
	r.f.Net.VJP(p, dy.Reshape(s.Shape()...))
	r.opt.Step()
}
