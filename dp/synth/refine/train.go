package refine

import (
	"context"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp/internal/check"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Sampler draws samples of the semi-dual and maps them to images: post-processing of what training released.
type Sampler struct {
	dev  *device.Device
	base synth.Sampler
	net  nn.Layer
}

// Train trains the semi-dual, releases moments of the private images and fits the network; it returns a *Sampler. All randomness
// comes from the key. A run that was killed in r.Dir repeats its steps, with the same releases.
func (c Config) Train(ctx context.Context, dev *device.Device, images *data.Images, r synth.Run) (synth.Sampler, error) {
	p, err := synth.PublicOf(images)
	c, outOfRange := c.filled(p)
	if err := check.All(err, outOfRange); err != nil {
		return nil, err
	}
	run, err := r.Begin(dev, images, c.Base.Releases()+1, map[string]any{"mechanism": "refined semi-dual", "settings": c})
	if err != nil {
		return nil, err
	}
	defer func() { _ = run.Close() }()
	base, err := synth.Jittered{Method: c.Base, Jitter: c.Jitter}.Train(ctx, dev, images, r.Within(run))
	if err != nil {
		return nil, err
	}
	rng := r.Key.Rand("refine", 0)
	pool, err := base.Sample(rng, c.Pool/len(p.Classes)*len(p.Classes))
	if err != nil {
		return nil, err
	}
	f, err := learnFeatures(dev, rng, pool, c)
	if err != nil {
		return nil, err
	}
	defer nn.Free(f.net.Params())
	target, err := f.release(images, run, c.noise())
	if err != nil {
		return nil, err
	}
	s := &Sampler{dev: dev, base: base, net: nn.Seq(arch.UNet(p.Channels+1, p.Channels, c.Width), &nn.Affine{By: .2})}
	s.net.Init(dev, device.Float32, rng)
	return s, s.fit(ctx, r, rng, c, &matcher{features: f, target: target, now: f.noMoments()}, pool)
}

// least is the least and 1 − least the largest value of samples in the network, whose logarithms of odds are finite.
const least = .02

// refine returns images made of samples, and the logarithms of their odds: those of the samples, plus the network's output.
func (s *Sampler) refine(p *nn.Pass, rng *rand.Rand, samples *data.Images) (y, odds *device.Array) {
	n, c, h, w := samples.Shape()
	noise, x := make([]float32, n*h*w), make([]float32, n*c*h*w)
	for i := range noise {
		noise[i] = float32(rng.NormFloat64())
	}
	for i, v := range samples.Pixels() {
		v := min(max(float64(v), least), 1-least)
		x[i] = float32(math.Log(v / (1 - v)))
	}
	odds, y = s.dev.From32(x, n, c, h, w), s.dev.New(device.Float32, n, c, h, w)
	in := s.dev.New(device.Float32, n, c+1, h, w)
	device.Scale(y, .25, odds)
	device.Paste(in, y, 1, 0)
	device.Paste(in, s.dev.From32(noise, n, 1, h, w), 1, c)
	device.Add(odds, odds, s.net.Forward(p, in))
	device.Map(y, odds, device.Sigmoid, 0)
	return y, odds
}

// fit trains the network. The weights at the end are averages.
func (s *Sampler) fit(ctx context.Context, r synth.Run, rng *rand.Rand, c Config, m *matcher, pool *data.Images) error {
	opt := c.Adam.For(s.net.Params())
	defer opt.Free()
	mean := train.NewEMA(.98, s.net.Params())
	defer mean.Free()
	opt.Average(mean)
	falling := train.Warmup(min(20, c.Steps), train.Cosine(c.Steps, .1))
	for k := range c.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		opt.SetFactor(falling(k))
		if err := s.step(rng, m, opt, pool.Take(draw(rng, pool, c.Batch))); err != nil {
			return err
		}
		r.Step(k+1, c.Steps)
	}
	mean.Swap()
	return s.dev.Sync()
}

func (s *Sampler) step(rng *rand.Rand, m *matcher, opt *train.Optimiser, samples *data.Images) error {
	defer s.dev.Scope().Close()
	p := &nn.Pass{Training: true, ParamsOnly: true}
	y, odds := s.refine(p, rng, samples)
	dy, err := m.cotangent(y, samples.Labels)
	if err != nil {
		return err
	}
	device.MapVJP(odds, odds, y, dy, device.Sigmoid, 0)
	nn.ZeroGrads(s.net.Params())
	s.net.VJP(p, odds)
	opt.Step()
	return s.dev.Err()
}

// Sample draws n images with values in [0, 1], the classes in turn.
func (s *Sampler) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	m, err := s.base.Sample(rng, n)
	if err != nil {
		return nil, err
	}
	m.Name = "refined semi-dual"
	const together = 500
	for from := 0; from < n; from += together {
		some := m.Slice(from, min(from+together, n))
		scope := s.dev.Scope()
		y, _ := s.refine(&nn.Pass{ForwardOnly: true}, rng, some)
		values, err := y.Get32()
		scope.Close()
		if err != nil {
			return nil, err
		}
		copy(some.Pixels(), values)
	}
	return m, nil
}

// matcher is the loss of images: the distance of their moments from the target.
type matcher struct {
	*features
	target, now moments // now: running averages of the images'
	steps       int
}

const (
	keep   = .9 // decay of running averages
	weight = 20 // of second moments in the loss, about that in the Wasserstein distance of Gaussians
)

// cotangent moves the running averages and returns the loss's gradient at images.
func (m *matcher) cotangent(y *device.Array, labels []int) (*device.Array, error) {
	p := &nn.Pass{InputsOnly: true}
	u, err := m.of(p, y)
	if err != nil {
		return nil, err
	}
	decay := min(keep, float64(m.steps)/float64(m.steps+1))
	m.steps++
	for l := range m.target.first {
		m.class(u, labels, l, decay)
	}
	var d mat.Dense
	d.Mul(u, m.axes.T())
	return m.net.VJP(p, m.dev.FromDense(device.Float32, &d)), nil
}

// class replaces the coordinates of images of class l by their gradient. The factor that limits the norm of z counts as constant.
func (m *matcher) class(u *mat.Dense, labels []int, l int, decay float64) {
	var rows [][]float64
	for i, label := range labels {
		if label == l {
			m.clip(u.RawRowView(i), l)
			rows = append(rows, u.RawRowView(i))
		}
	}
	n, first, second := float64(len(rows)), m.now.first[l], m.now.second[l]
	first.ScaleVec(decay, first)
	second.ScaleSym(decay, second)
	for _, z := range rows {
		v := mat.NewVecDense(len(z), z)
		first.AddScaledVec(first, (1-decay)/n, v)
		second.SymRankOne(second, (1-decay)/n, v)
	}
	off1, off2 := mat.NewVecDense(first.Len(), nil), mat.NewDense(first.Len(), first.Len(), nil)
	off1.SubVec(first, m.target.first[l])
	off2.Sub(second, m.target.second[l])
	d := mat.NewVecDense(first.Len(), nil)
	for _, z := range rows {
		d.MulVec(off2, mat.NewVecDense(len(z), z))
		d.AddScaledVec(off1, 2*weight, d)
		floats.ScaleTo(z, 2/n, d.RawVector().Data)
	}
}
