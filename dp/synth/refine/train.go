package refine

import (
	"context"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp/internal/check"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
	"coupling/ot/gaussian"
)

// Sampler draws samples of the semi-dual and moves them: post-processing of what training released.
type Sampler struct {
	*features
	base  synth.Sampler
	maps  []gaussian.Affine // of coordinates, of each class
	steps int
	rate  float64
}

// Train trains the semi-dual and releases moments of the private images; it returns a *Sampler. All randomness comes from the key. A
// run that was killed in r.Dir repeats its steps, with the same releases.
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
	pool, err := base.Sample(r.Key.Rand("refine", 0), framing/len(p.Classes)*len(p.Classes))
	if err != nil {
		return nil, err
	}
	f, err := newFeatures(dev, pool, c.Axes)
	if err != nil {
		return nil, err
	}
	m, err := f.release(images, run, c.noise())
	if err != nil {
		return nil, err
	}
	maps, err := f.transport(m, c.noise())
	return &Sampler{f, base, maps, c.Steps, c.Rate}, err
}

// Sample draws n images with values in [0, 1], the classes in turn.
func (s *Sampler) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	m, err := s.base.Sample(rng, n)
	if err != nil {
		return nil, err
	}
	m.Name = "refined semi-dual"
	const together = 50
	for from := 0; from < n; from += together {
		if err := s.move(m.Slice(from, min(from+together, n))); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// move takes steps of Adam from images towards images whose coordinates are those that the maps make of the coordinates at the
// start.
func (s *Sampler) move(m *data.Images) error {
	defer s.dev.Scope().Close()
	n, c, h, w := m.Shape()
	x := &nn.Param{Value: s.dev.From32(m.Pixels(), n, c, h, w), Grad: s.dev.New(device.Float32, n, c, h, w)}
	to, err := s.of(&nn.Pass{ForwardOnly: true}, x.Value).Mat()
	if err != nil {
		return err
	}
	for i, l := range m.Labels {
		s.maps[l].Apply(to.RawRowView(i), to.RawRowView(i))
	}
	target := s.dev.FromDense(device.Float32, to)
	opt, falling := train.Adam{Rate: s.rate}.For([]*nn.Param{x}), train.Cosine(s.steps, 0)
	for k := range s.steps {
		opt.SetFactor(falling(k))
		s.step(x, opt, target)
	}
	values, err := x.Value.Get32()
	copy(m.Pixels(), values)
	return err
}

// step is a step of images x in [0, 1] towards images with the coordinates to.
func (s *Sampler) step(x *nn.Param, opt *train.Optimiser, to *device.Array) {
	defer s.dev.Scope().Close()
	p := &nn.Pass{InputsOnly: true}
	u := s.of(p, x.Value)
	device.Sub(u, u, to)
	device.Scale(x.Grad, 1, s.back(p, u))
	opt.Step()
	device.Map(x.Value, x.Value, device.AddConst, -.5)
	device.Map(x.Value, x.Value, device.Clamp, .5)
	device.Map(x.Value, x.Value, device.AddConst, .5)
}
