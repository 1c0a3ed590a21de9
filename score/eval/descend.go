package eval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/data/batch"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
)

// trainer is the state of a training by gradient descent.
type trainer struct {
	*Model
	recipe
	images *data.Images
	opt    *train.Optimiser
	random *device.Stream
	rows   []float32 // the pixels of a batch
	labels []int32
}

// descend trains by the recipe: epochs in random order until patience or epochs run out.
func (m *Model) descend(ctx context.Context, images *data.Images, r recipe, rng *rand.Rand) error {
	fit, held, err := r.hold(rng, images.Len())
	if err != nil {
		return err
	}
	epochs := cmp.Or(m.Classifier.Epochs, r.epochs)
	defer m.dev.Scope().Close()
	t := &trainer{Model: m, recipe: r, images: images, opt: r.optimiser(m), random: m.dev.Stream(rng.Uint64())}
	best := t.snapshot()
	batches, err := batch.Epochs(rng, len(fit), r.batch)
	if err != nil {
		return err
	}
	m.Run = Run{Complete: r.patience == 0, HeldOut: math.NaN()}
	heldOut := images.Take(held)
	perEpoch := (len(fit) + r.batch - 1) / r.batch
	schedule, step, sum := train.Cosine(epochs*perEpoch, 0), 0, 0.
	for _, indices := range batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.cosine {
			t.opt.SetFactor(schedule(step))
		}
		sum += t.step(fit, indices)
		if step++; step%perEpoch != 0 {
			continue
		}
		if err := m.dev.Err(); err != nil {
			return fmt.Errorf("eval: training: %w", err)
		}
		m.Run.Epochs++
		m.Run.Loss, sum = sum/float64(len(fit)), 0
		if err := t.look(ctx, heldOut, best); err != nil {
			return err
		}
		if r.patience > 0 && m.Run.Epochs-m.Run.Best >= r.patience {
			m.Run.Complete = true
			break
		}
		if m.Run.Epochs == epochs {
			break
		}
	}
	if r.patience > 0 {
		best.restore()
	}
	return m.dev.Sync()
}

// step is one step from the batch of fit's indices, and returns the sum of its losses.
func (t *trainer) step(fit, indices []int) float64 {
	defer t.dev.Scope().Close()
	t.rows, t.labels = t.rows[:0], t.labels[:0]
	for _, i := range indices {
		t.rows = t.images.AppendRows(t.rows, fit[i:i+1])
		t.labels = append(t.labels, int32(t.images.Labels[fit[i]]))
	}
	rescale(t.rows, t.images.Lo, t.images.Hi)
	p := &nn.Pass{Training: true, ParamsOnly: true, Random: t.random}
	nn.ZeroGrads(t.Params())
	x := t.dev.From32(t.rows, len(indices), t.Shape.Channels, t.Shape.Height, t.Shape.Width)
	loss := back(p, t.net, x, t.labels, 1/float64(len(indices)))
	t.opt.Step()
	return loss
}

// back adds factor times the gradient of the sum of the losses of some examples, and returns that
// sum; NaN where the device has an error.
func back(p *nn.Pass, net nn.Layer, x *device.Array, labels []int32, factor float64) (loss float64) {
	logits := net.Forward(p, x)
	losses, grad := x.Device().New(x.Type(), len(labels)), logits.Like()
	device.CrossEntropy(losses, grad, logits, x.Device().FromInts(labels, len(labels)))
	device.Scale(grad, factor, grad)
	net.VJP(p, grad)
	each, err := losses.Float64s()
	if err != nil {
		return math.NaN()
	}
	for _, v := range each {
		loss += v
	}
	return loss
}

// look tests on the held-out images and keeps the weights if they are the best so far.
func (t *trainer) look(ctx context.Context, held *data.Images, best *snapshot) error {
	run := &t.Run
	if t.patience == 0 {
		run.Best = run.Epochs
		return nil
	}
	score, err := t.Test(ctx, held)
	if err == nil && (run.Best == 0 || score.Accuracy > run.HeldOut) {
		run.Best, run.HeldOut = run.Epochs, score.Accuracy
		best.take()
	}
	return err
}

// snapshot holds other weights of a model.
type snapshot struct {
	params []*nn.Param
	copies []*device.Array
}

func (m *Model) snapshot() *snapshot {
	s := &snapshot{params: m.Params()}
	for _, p := range s.params {
		s.copies = append(s.copies, p.Value.Clone())
	}
	return s
}

func (s *snapshot) take() {
	for i, p := range s.params {
		device.Convert(s.copies[i], p.Value)
	}
}

func (s *snapshot) restore() {
	for i, p := range s.params {
		device.Convert(p.Value, s.copies[i])
	}
}
