package dpsinkhorn

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp/release"
	"coupling/dp/sgd"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
)

// run is the state of a training.
type run struct {
	Training
	*Generator
	on   synth.Run
	data *data.Images
	opt  *train.Optimiser
	out  *release.Run
}

// Train trains on private images and returns a *Generator; it resumes an earlier run in on.Dir, as sgd.Training.Run does.
func (t Training) Train(ctx context.Context, dev *device.Device, images *data.Images, on synth.Run) (synth.Sampler, error) {
	p, err := synth.PublicOf(images)
	if err != nil {
		return nil, err
	}
	if err := t.check(p); err != nil {
		return nil, err
	}
	r := &run{Training: t, Generator: &Generator{dev: dev, public: p, batch: t.images() + t.Loss.fresh(t.images())}, on: on, data: images}
	if r.net, r.latent, err = t.Net.build(p); err != nil {
		return nil, err
	}
	r.net.Init(dev, device.Float32, on.Key.Rand("weights", 0))
	if t.Schedule == nil {
		r.Schedule = train.Constant()
	}
	if t.SGD != nil {
		r.opt = t.SGD.For(r.net.Params())
	} else {
		r.opt = t.Adam.For(r.net.Params())
	}
	defer r.opt.Free()
	settings, err := r.settings()
	if err != nil {
		return nil, err
	}
	releases := t.Steps
	if t.Sanitiser == nil {
		releases = 0
	}
	if r.out, err = on.Begin(dev, images, releases, settings); err != nil {
		return nil, err
	}
	defer func() { _ = r.out.Close() }()
	ck := train.Checkpoint{Params: map[string][]*nn.Param{"generator": r.net.Params(), "optimiser": r.opt.State()}}
	if err := r.out.Loop(ctx, release.Loop{Steps: t.Steps, Step: r.step, State: &ck, Done: &ck.Step, Every: on.Every}); err != nil {
		return nil, err
	}
	return r.Generator, dev.Sync()
}

// settings identify this run, except for a Schedule and the rounding of a processor; the marks of
// the ledger detect these.
func (r *run) settings() (any, error) {
	start, err := sgd.Fingerprint(r.net.Params())
	return map[string]any{
		"mechanism": "DP-Sinkhorn", "net": r.Net.String(), "start": start, "loss": r.Loss, "sanitiser": fmt.Sprintf("%#v", r.Sanitiser), "parameters": r.Parameters,
		"images": r.images(), "rate": r.Rate, "adam": r.Adam, "sgd": r.SGD, "turns": r.Turns,
	}, err
}

// step makes step k.
func (r *run) step(k int) error {
	defer r.dev.Scope().Close()
	n := r.images()
	p := &nn.Pass{Training: true, ParamsOnly: true}
	x := r.batchOf(p, r.on.Key.Rand("codes", k), n+r.Loss.fresh(n))
	y, err := r.private(k)
	if err != nil {
		return err
	}
	private, public, err := r.Loss.Gradient(Labelled{X: x.X.Reshape(len(x.Labels), -1), Labels: x.Labels}, y, len(r.public.Classes))
	if err != nil {
		return err
	}
	head := public.Rows(0, n)
	device.Add(head, head, private)
	nn.ZeroGrads(r.net.Params())
	released := head
	if r.Sanitiser != nil && !r.Parameters {
		if err := sanitise(r.Sanitiser, head, r.out, k); err != nil {
			return err
		}
		// Rows of fresh images do not depend on private ones; they are clipped so that they weigh
		// no more than the others.
		r.Sanitiser.Clip(public.Rows(n, public.Dim(0)))
	}
	r.net.VJP(p, public.Reshape(x.X.Shape()...))
	if r.Sanitiser != nil && r.Parameters {
		if released, err = r.releaseParameters(k); err != nil {
			return err
		}
	}
	r.opt.SetFactor(r.Schedule(k))
	r.opt.Step()
	if r.Trace != nil {
		r.Trace(k, released)
	}
	r.on.Step(k+1, r.Steps)
	return r.dev.Err()
}

// releaseParameters sanitises the gradients of all parameters as one vector.
func (r *run) releaseParameters(k int) (*device.Array, error) {
	all := gather(r.dev, r.net.Params())
	if err := sanitise(r.Sanitiser, all, r.out, k); err != nil {
		return nil, err
	}
	eachGrad(r.net.Params(), func(g *device.Array, at int) { device.Cut(g, all, 1, at) })
	return all, nil
}

// batchOf makes total images for a step.
func (r *run) batchOf(p *nn.Pass, codes *rand.Rand, total int) Labelled {
	if !r.Turns {
		return r.generate(p, codes, total)
	}
	labels := make([]int, total)
	for i := range labels {
		labels[i] = i % len(r.public.Classes)
	}
	return r.generateLabels(p, codes, labels)
}

// private returns the private images of step k, scaled to [−1, 1]; the batch may be empty.
func (r *run) private(k int) (Labelled, error) {
	indices, err := release.Poisson(r.on.Key.Source("batch", k), r.data.Len(), r.Rate)
	if err != nil || len(indices) == 0 {
		return Labelled{}, err
	}
	x, err := sgd.Pixels(r.data).Batch(r.dev, device.Float32, indices)
	if err != nil {
		return Labelled{}, err
	}
	labels := make([]int, len(indices))
	for i, j := range indices {
		labels[i] = r.data.Labels[j]
	}
	return Labelled{X: x.Reshape(len(indices), -1), Labels: labels}, nil
}
