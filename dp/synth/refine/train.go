package refine

import (
	"context"
	"math/rand/v2"

	"coupling/data"
	"coupling/data/batch"
	"coupling/dp/internal/check"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
	"coupling/ot/gaussian"

	"gonum.org/v1/gonum/floats"
)

// Sampler draws samples of the base and moves them: post-processing of what training released.
type Sampler struct {
	*features
	base    synth.Sampler     // the semi-dual, or shapes
	maps    []gaussian.Affine // of coordinates, of each class
	teacher *teacher          // nil: there is none
	steps   int
	rate    float64
	drawn   func(done, of int) // nil: it is not called
}

// Train trains the semi-dual and releases moments of the private images; it returns a *Sampler. All
// randomness comes from the key. A run that was killed in r.Dir repeats its steps, with the same
// releases.
func (c Config) Train(ctx context.Context, dev *device.Device, images *data.Images,
	r synth.Run) (synth.Sampler, error) {
	p, err := synth.PublicOf(images)
	c, outOfRange := c.filled(p)
	if err := check.All(err, outOfRange); err != nil {
		return nil, err
	}
	run, err := r.Begin(dev, images, c.releases(), map[string]any{"mechanism": "refined semi-dual", "settings": c})
	if err != nil {
		return nil, err
	}
	defer func() { _ = run.Close() }()
	return c.train(ctx, dev, images, p, r, run)
}

// train is Train within a run that is open.
func (c Config) train(ctx context.Context, dev *device.Device, images *data.Images, p synth.Public, r synth.Run,
	run *release.Run) (*Sampler, error) {
	base, err := c.base(ctx, dev, images, p, r.Within(run))
	if err == nil && c.ChoiceShare > 0 {
		base, err = c.choose(dev, base, images, r, run)
	}
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
	s := &Sampler{features: f, base: base, steps: c.Steps, rate: c.Rate, drawn: r.Drawn}
	if c.TeacherShare > 0 {
		if s.teacher, err = f.newTeacher(pool); err != nil {
			return nil, err
		}
	}
	m, err := f.release(images, run, c.noise())
	if err == nil {
		s.maps, err = f.transport(m, c.noise())
	}
	if err != nil || s.teacher == nil {
		return s, err
	}
	return s, s.teacher.learn(images, max(floats.Sum(m.count), 1), run, c.teacherNoise())
}

// base returns the sampler whose images are moved: the trained semi-dual, or shapes.
func (c Config) base(ctx context.Context, dev *device.Device, images *data.Images, p synth.Public,
	r synth.Run) (synth.Sampler, error) {
	if c.Shapes {
		return shapes{p}, check.All(in.Noise(c.Base.NoiseMultiplier), ctx.Err())
	}
	if c.ChoiceShare > 0 { // it is for choose
		return c.Base.Train(ctx, dev, images, r)
	}
	return synth.Jittered{Method: c.Base, Jitter: c.Jitter}.Train(ctx, dev, images, r)
}

// Sample draws n images with values in [0, 1], the classes in turn.
func (s *Sampler) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	m, err := s.moved(rng, n)
	if err != nil || s.teacher == nil {
		return m, err
	}
	return s.inTurn(rng, m)
}

// moved is n samples, the classes in turn by the labels of the semi-dual.
func (s *Sampler) moved(rng *rand.Rand, n int) (*data.Images, error) {
	m, err := s.base.Sample(rng, n)
	if err != nil {
		return nil, err
	}
	m.Name = "refined " + m.Name
	const together = 50
	for from := 0; from < n; from += together {
		if s.drawn != nil {
			s.drawn(from, n)
		}
		if err := s.move(m.Slice(from, min(from+together, n))); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// inTurn puts images in the order of their classes by the teacher, and draws more where it gives a
// class too few. Places that are still empty after some rounds keep the image that they had, though
// it may be in a place of another class too.
func (s *Sampler) inTurn(rng *rand.Rand, m *data.Images) (*data.Images, error) {
	const rounds = 5
	n, classes := m.Len(), len(m.Classes)
	out, next, missing := m.Clone(), batch.All(classes), n
	for round := range rounds {
		labels, err := s.teacher.label(m)
		if err != nil {
			return nil, err
		}
		for i, l := range labels {
			if next[l] < n {
				copy(out.Row(next[l]), m.Row(i))
				next[l] += classes
				missing--
			}
		}
		if missing == 0 || round == rounds-1 {
			break
		}
		if m, err = s.moved(rng, max(missing, classes)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// move takes steps of Adam from images towards images whose coordinates are those that the maps
// make of the coordinates at the start.
func (s *Sampler) move(m *data.Images) error {
	defer s.dev.Scope().Close()
	n, c, h, w := m.Shape()
	x := &nn.Param{Value: s.dev.From32(m.Pixels(), n, c, h, w), Grad: s.dev.New(device.Float32, n, c, h, w)}
	to, err := s.of(&nn.Pass{ForwardOnly: true}, x.Value).Mat()
	if err != nil {
		return err
	}
	for i, l := range m.Labels {
		u := to.RawRowView(i)
		s.maps[l].Apply(u, u)
		if s.teacher != nil {
			s.teacher.convince(u, l)
		}
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
