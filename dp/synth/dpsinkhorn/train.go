package dpsinkhorn

import (
	"context"
	"fmt"
	"math"

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
	loss Loss // with its defaults
	opt  *train.Optimiser
	out  *release.Run

	codes, class, hot *device.Array // of the step's images: latent codes, classes, and the features of these

	forward, backward device.Replay
	pass              *nn.Pass
	made, features    *device.Array // the images of the codes, and these as the loss takes them
	gradient          *device.Array // of the loss at the images
}

// Train trains on private images and returns a *Generator; it resumes an earlier run in on.Dir, as
// sgd.Training.Run does.
func (t Training) Train(ctx context.Context, dev *device.Device, images *data.Images,
	on synth.Run) (synth.Sampler, error) {
	p, err := synth.PublicOf(images)
	if err != nil {
		return nil, err
	}
	r := &run{
		Training:  t,
		Generator: &Generator{dev: dev, public: p, batch: t.images() + t.Loss.fresh(t.images())},
		on:        on,
		data:      images,
	}
	if r.net, r.latent, r.loss, err = t.build(p); err != nil {
		return nil, err
	}
	r.net.Init(dev, device.Float32, on.Key.Rand("weights", 0))
	defer dev.Scope().Close()
	defer r.forward.Close()
	defer r.backward.Close()
	if t.Schedule == nil {
		r.Schedule = train.Constant()
	}
	if t.SGD != nil {
		r.opt = t.SGD.For(r.net.Params())
	} else {
		r.opt = t.Adam.For(r.net.Params())
	}
	r.codes, r.class = dev.New(device.Float32, r.batch, r.latent), dev.New(device.Int32, r.batch)
	r.hot = dev.New(device.Float32, r.batch, len(p.Classes))
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
	if err := r.out.Loop(ctx, release.Loop{
		Steps: t.Steps,
		Step:  r.step,
		State: &ck,
		Done:  &ck.Step,
		Every: on.Every,
	}); err != nil {
		return nil, err
	}
	return r.Generator, dev.Sync()
}

// settings identify this run, except for a Schedule and the rounding of a processor; the marks of
// the ledger detect these.
func (r *run) settings() (any, error) {
	start, err := sgd.Fingerprint(r.net.Params())
	return map[string]any{
		"mechanism": "DP-Sinkhorn", "net": r.Net.String(), "start": start, "loss": r.Loss,
		"sanitiser": fmt.Sprintf("%#v", r.Sanitiser), "parameters": r.Parameters,
		"images": r.images(), "rate": r.Rate, "adam": r.Adam, "sgd": r.SGD, "turns": r.Turns,
	}, err
}

// step makes step k. What needs no private image and nothing of the host is recorded: the images
// and the gradient of the public term, and the step back through the network.
func (r *run) step(k int) error {
	defer r.dev.Scope().Close()
	if err := r.draw(k); err != nil {
		return err
	}
	r.opt.SetFactor(r.Schedule(k))
	r.forward.Do(r.dev, r.generateBatch)
	head := r.gradient.Rows(0, r.images())
	released := head
	err := r.addPrivate(head, k)
	if err == nil && r.Sanitiser != nil && !r.Parameters {
		err = sanitise(r.Sanitiser, head, r.out, k)
	}
	if err != nil {
		return err
	}
	r.backward.Do(r.dev, r.differentiate)
	if r.Sanitiser != nil && r.Parameters {
		if released, err = r.releaseParameters(k); err != nil {
			return err
		}
		r.opt.Step()
	}
	if r.Trace != nil {
		r.Trace(k, released)
	}
	r.on.Step(k+1, r.Steps)
	return r.dev.Err()
}

// draw sets the codes and classes of step k.
func (r *run) draw(k int) error {
	rng := r.on.Key.Rand("codes", k)
	labels := r.labels(rng, r.images(), r.batch-r.images(), r.Turns, k)
	hot, err := r.loss.hot(labels, len(r.public.Classes))
	if err != nil {
		return err
	}
	z, class := r.latents(rng, labels)
	r.codes.Set32(z)
	r.class.SetInts(class)
	r.hot.Set32(hot)
	return nil
}

// generateBatch makes the images and the gradient of the public term at them.
func (r *run) generateBatch() {
	r.pass = &nn.Pass{Training: true, Class: r.class}
	r.made = r.net.Forward(r.pass, r.codes)
	flat := r.made.Reshape(r.batch, -1)
	r.features, r.gradient = join(flat, r.hot), r.dev.Zeros(device.Float32, r.batch, flat.Dim(1))
	r.loss.public(r.gradient, r.features, r.images())
}

// addPrivate adds the gradient of the private term of step k; an empty batch has none.
func (r *run) addPrivate(head *device.Array, k int) error {
	y, err := r.private(k)
	if err != nil || len(y.Labels) == 0 {
		return err
	}
	fy, err := r.loss.features(y, len(r.public.Classes))
	if err != nil {
		return err
	}
	grad := head.Like()
	r.loss.private(grad, r.features.Rows(0, head.Dim(0)), fy)
	device.Add(head, head, grad)
	return nil
}

// differentiate takes the gradient at the images through the network and, unless the gradients of
// the parameters are what is released, moves these.
func (r *run) differentiate() {
	nn.ZeroGrads(r.net.Params())
	if r.Sanitiser != nil && !r.Parameters {
		r.weighFresh(r.gradient.Rows(r.images(), r.batch))
	}
	r.pass.Rewind()
	r.net.VJP(r.pass, r.gradient.Reshape(r.made.Shape()...))
	if r.Sanitiser == nil || !r.Parameters {
		r.opt.Step()
	}
}

// weighFresh clips the gradient at the n′ fresh images, which depends on no private one, so that it
// is at most √(n′/(2n − n′)) times as long as that at the n images may be: the ratio of both before
// they are clipped, where all images are independent and alike and the cost is |x−y|². Without it
// repulsion, which has no noise, outweighs attraction.
func (r *run) weighFresh(g *device.Array) {
	n, fresh := r.images(), g.Dim(0)
	if fresh == 0 {
		return
	}
	ratio := r.Sanitiser.Sensitivity(n) / r.Sanitiser.Sensitivity(fresh) * math.Sqrt(float64(fresh)/float64(2*n-fresh))
	device.Scale(g, 1/ratio, g)
	r.Sanitiser.Clip(g)
	device.Scale(g, ratio, g)
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
