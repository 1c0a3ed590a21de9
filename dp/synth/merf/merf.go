package merf

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/mat"
)

const in = check.In("merf")

// Config says what is released and how the generator is fitted; it is a synth.Method. A zero field
// means its default.
type Config struct {
	Features        int        `default:"10000"`              // D, even
	Length          float64    `default:"10.246950765959598"` // at least 1e-30; √105 as published, √127: Fashion-MNIST
	Count           float64    `default:".01"`                // β², the share of the counts
	Code            int        `default:"5"`                  // columns of a code
	Batch           int        `default:"100"`                // generated images of a step, no fewer than classes
	Steps           int        `default:"3000"`
	Adam            train.Adam // Rate 0: .01
	NoiseMultiplier float64    // σ; 0 is none, and no privacy. synth.Calibrate sets it.
}

func (c Config) withDefaults() (Config, error) {
	err := check.All(in.Defaults(&c), check.Default(in, "Adam.Rate", &c.Adam.Rate, .01), in.Noise(c.NoiseMultiplier))
	switch {
	case err != nil:
	case c.Features%2 != 0:
		err = in.Bad("Features = %d: must be even", c.Features)
	case c.Length < 1e-30: // frequencies are float32
		err = in.Bad("Length = %g: must be at least 1e-30", c.Length)
	case c.Count >= 1:
		err = in.Bad("Count = %g: must be in (0, 1)", c.Count)
	}
	return c, err
}

// filled is withDefaults for images of that kind.
func (c Config) filled(p synth.Public) (Config, error) {
	c, err := c.withDefaults()
	if err == nil && len(p.Classes) > c.Batch {
		err = in.Bad("Batch = %d: must be at least the number of classes, %d", c.Batch, len(p.Classes))
	}
	return c, err
}

// Describe names the mechanism and its settings.
func (c Config) Describe() (mechanism, settings string) {
	c, _ = c.withDefaults() // out of range: Event says so
	return "DP-MERF: means of random features by class, released once, and a network fitted to them",
		fmt.Sprintf("%+v", c)
}

// WithNoise sets NoiseMultiplier.
func (c Config) WithNoise(sigma float64) synth.Method {
	c.NoiseMultiplier = sigma
	return c
}

// Event returns the Gaussian mechanism, once.
func (c Config) Event(p synth.Public) (dp.Event, error) {
	c, err := c.filled(p)
	if err := check.All(err, in.Noisy(c.NoiseMultiplier)); err != nil {
		return nil, err
	}
	return dp.Gaussian{NoiseMultiplier: c.NoiseMultiplier * (1 - release.GridMargin)}, nil
}

// fit is the state of a training and its result.
type fit struct {
	Config
	dev    *device.Device
	public synth.Public
	w      *device.Array // D/2 × d
	target *device.Array // classes × D
	net    nn.Layer
	opt    *train.Optimiser
}

// Train releases the means and fits a generator to them; it returns a *Generator. With r.Dir it
// resumes from a checkpoint and makes the same release.
func (c Config) Train(ctx context.Context, dev *device.Device, images *data.Images,
	r synth.Run) (synth.Sampler, error) {
	p, err := synth.PublicOf(images)
	c, outOfRange := c.filled(p)
	if err := check.All(err, outOfRange); err != nil {
		return nil, err
	}
	run, err := r.Begin(dev, images, 1, map[string]any{"mechanism": "DP-MERF", "settings": c})
	if err != nil {
		return nil, err
	}
	defer func() { _ = run.Close() }()
	f := &fit{Config: c, dev: dev, public: p, net: generatorNet(c.Code+len(p.Classes), p.Channels, p.Height, p.Width)}
	f.net.Init(dev, device.Float32, r.Key.Rand("weights", 0))
	defer dev.Scope().Close()
	f.opt = c.Adam.For(f.net.Params())
	f.w = frequencies(dev, r.Key.Rand("frequencies", 0), c.Features/2, images.Dim(), c.Length)
	if err := f.release(images, run); err != nil {
		return nil, err
	}
	codes := r.Key.ChaCha("codes", 0)
	ck := train.Checkpoint{
		Params:  map[string][]*nn.Param{"generator": f.net.Params(), "optimiser": f.opt.State()},
		Sources: map[string]train.Source{"codes": codes},
	}
	rng, decay := rand.New(codes), train.Staircase(max(c.Steps/5, 1), .9)
	err = run.Loop(ctx, release.Loop{
		Steps: c.Steps,
		State: &ck,
		Done:  &ck.Step,
		Every: r.Every,
		Step: func(k int) error {
			f.opt.SetFactor(decay(k))
			f.step(rng)
			r.Step(k+1, c.Steps)
			return dev.Err()
		},
	})
	if err != nil {
		return nil, err
	}
	return &Generator{f}, dev.Sync()
}

func frequencies(dev *device.Device, rng *rand.Rand, n, d int, length float64) *device.Array {
	w := make([]float32, n*d)
	for i := range w {
		w[i] = float32(rng.NormFloat64() / length)
	}
	return dev.From32(w, n, d)
}

// grain is the step that features are rounded to, so that their sums are exact.
const grain = 1. / (1 << 20)

// sums is Σ φ⊗onehot, by class, and the counts: the exact value of the release without α and β. A
// feature is rounded towards 0, which keeps |φ| ≤ 1: cos² + sin² is 1 up to rounding in float32,
// and the factor leaves room for that.
func (f *fit) sums(images *data.Images) (sum [][]float64, count []float64, err error) {
	sum, count = make([][]float64, len(f.public.Classes)), make([]float64, len(f.public.Classes))
	for l := range sum {
		sum[l] = make([]float64, f.Features)
	}
	scale := math.Sqrt(2/float64(f.Features)) * (1 - 0x1p-18)
	err = f.each(images, func(i int, phi []float64) {
		l := images.Labels[i]
		count[l]++
		for k, v := range phi {
			sum[l][k] += math.Trunc(v*scale/grain) * grain
		}
	})
	return sum, count, err
}

// each calls see with the features of each image in turn.
func (f *fit) each(images *data.Images, see func(i int, phi []float64)) error {
	return synth.Features(f.dev, images, func(x *device.Array) (*mat.Dense, error) {
		phi, _ := f.phi(x.Reshape(x.Dim(0), images.Dim()))
		return phi.Mat()
	}, see)
}

// phi returns [cos, sin] of the phases at x, without the factor √(2/D), and the phases.
func (f *fit) phi(x *device.Array) (phi, phase *device.Array) {
	n, k := x.Dim(0), f.Features/2
	phase = f.dev.New(device.Float32, n, k)
	device.Gemm(phase, 1, x.N(), f.w.T(), 0)
	phi = f.dev.New(device.Float32, n, 2*k)
	wave := phase.Like()
	for i, fn := range []device.Unary{device.Cos, device.Sin} {
		device.Map(wave, phase, fn, 0)
		device.Paste(phi, wave, 1, i*k)
	}
	return phi, phase
}

// release sets the target: noisy sums over noisy counts.
func (f *fit) release(images *data.Images, run *release.Run) error {
	sum, count, err := f.sums(images)
	if err != nil {
		return err
	}
	a, b := math.Sqrt(1-f.Count), math.Sqrt(f.Count)
	var values []float64
	for l := range sum {
		for _, v := range sum[l] {
			values = append(values, a*v)
		}
		values = append(values, b*count[l])
	}
	if values, err = run.Release("merf", 0, values, f.NoiseMultiplier, 1); err != nil {
		return err
	}
	target := make([]float32, 0, len(f.public.Classes)*f.Features)
	for l := range sum {
		part := values[l*(f.Features+1) : (l+1)*(f.Features+1)]
		n := max(part[f.Features]/b, 1)
		for _, v := range part[:f.Features] {
			target = append(target, float32(v/a/n))
		}
	}
	f.target = f.dev.From32(target, len(f.public.Classes), f.Features)
	return nil
}

// step moves the generator along the gradient of Σ_c |μ_c − mean φ|², classes in turn.
func (f *fit) step(rng *rand.Rand) {
	defer f.dev.Scope().Close()
	labels := make([]int, f.Batch)
	for i := range labels {
		labels[i] = i % len(f.public.Classes)
	}
	p := &nn.Pass{Training: true, ParamsOnly: true}
	images := f.generate(p, rng, labels)
	x := images.Reshape(f.Batch, -1)
	phi, phase := f.phi(x)
	scale := math.Sqrt(2 / float64(f.Features))
	mean := make([]float32, len(f.public.Classes)*f.Batch) // averages over a class
	for i, l := range labels {
		mean[l*f.Batch+i] = 1 / float32((f.Batch-l+len(f.public.Classes)-1)/len(f.public.Classes))
	}
	m := f.dev.From32(mean, len(f.public.Classes), f.Batch)
	off := f.target.Clone()
	device.Gemm(off, scale, m.N(), phi.N(), -1) // mean φ − μ
	back := phi.Like()
	device.Gemm(back, 2*scale, m.T(), off.N(), 0) // the gradient at φ
	k := f.Features / 2
	d := phase.Like()
	cosine, sine, part := phase.Like(), phase.Like(), phase.Like()
	device.Cut(cosine, phi, 1, 0)
	device.Cut(sine, phi, 1, k)
	device.Cut(part, back, 1, k)
	device.Mul(d, cosine, part)
	device.Cut(part, back, 1, 0)
	device.Mul(part, sine, part)
	device.Sub(d, d, part)
	grad := x.Like()
	device.Gemm(grad, 1, d.N(), f.w.N(), 0)
	nn.ZeroGrads(f.net.Params())
	f.net.VJP(p, grad.Reshape(images.Shape()...))
	f.opt.Step()
}

func (f *fit) generate(p *nn.Pass, rng *rand.Rand, labels []int) *device.Array {
	n, width := len(labels), f.Code+len(f.public.Classes)
	in := make([]float32, n*width)
	for i, l := range labels {
		for j := range f.Code {
			in[i*width+j] = float32(rng.NormFloat64())
		}
		in[i*width+f.Code+l] = 1
	}
	return f.net.Forward(p, f.dev.From32(in, n, width))
}

// generatorNet is the published network for 28×28: dense 200, dense to 16×7×7, then twice an
// upsampling by 2 and a convolution 5×5.
func generatorNet(in, c, h, w int) nn.Layer {
	if h%4 != 0 || w%4 != 0 {
		return nn.Seq(&nn.Dense{In: in, Out: 200}, &nn.BatchNorm{Channels: 200, Batch: true}, nn.ReLU(),
			&nn.Dense{In: 200, Out: c * h * w}, nn.Sigmoid(), &nn.Reshape{Shape: []int{c, h, w}})
	}
	conv := func(in, out int) nn.Layer { return &nn.Conv2D{In: in, Out: out, Window: device.SquareWindow(5, 1, 2)} }
	return nn.Seq(
		&nn.Dense{In: in, Out: 200}, &nn.BatchNorm{Channels: 200, Batch: true}, nn.ReLU(),
		&nn.Dense{In: 200, Out: 16 * (h / 4) * (w / 4)}, nn.ReLU(), &nn.Reshape{Shape: []int{16, h / 4, w / 4}},
		&nn.Upsample{Factor: 2}, conv(16, 8), nn.ReLU(), &nn.Upsample{Factor: 2}, conv(8, c), nn.Sigmoid())
}

// Generator is the fitted network: post-processing of the release.
type Generator struct{ f *fit }

// Sample draws n images with values in [0, 1], the classes in turn, in batches as large as training's.
func (g *Generator) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	return synth.Draw(g.f.public, "dp-merf", n, g.f.Batch, func(labels []int) ([]float32, error) {
		defer g.f.dev.Scope().Close()
		return g.f.generate(&nn.Pass{ForwardOnly: true}, rng, labels).Get32()
	})
}
