package sgd

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"coupling/dp/release"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
)

// run is the state of a training.
type run struct {
	Training
	dev  *device.Device
	out  release.Run
	opt  *train.Optimiser
	mean *train.EMA // nil: none

	epoch [][]int // batches of the epoch drawn last, for a random allocation
	drawn int
}

// Run initialises the network on the device and trains it; it resumes an earlier run in Dir.
// Initial weights, batches, the randomness of losses and noise come from the key, which must be the
// same to resume. The final weights are the same bits, killed or not, on the same kind of device;
// Dir refuses another kind. The error wraps ErrParameter for shapes that do not fit together,
// before anything is spent; release.ErrLedger where Dir holds another run or more than Steps steps,
// or where a repeated step would release other values; and release.ErrBusy where another process
// trains in Dir.
func (t Training) Run(ctx context.Context, dev *device.Device, key release.Key) error {
	if err := t.fit(dev); err != nil {
		return err
	}
	r := &run{Training: t, dev: dev, out: release.Run{
		Key:      key,
		Releases: t.Steps,
		Dir:      t.Dir,
		Records:  t.Objective.Digest,
	}}
	if r.Schedule == nil {
		r.Schedule = train.Constant()
	}
	r.Net.Init(dev, r.Type, key.Rand("weights", 0))
	defer dev.Scope().Close()
	r.opt = t.Optimiser.For(r.Net.Params())
	ck := train.Checkpoint{Params: map[string][]*nn.Param{"net": r.Net.Params(), "optimiser": r.opt.State()}}
	if t.Average > 0 {
		r.mean = train.NewEMA(t.Average, r.Net.Params())
		r.opt.Average(r.mean)
		ck.Params["mean"] = r.mean.State()
	}
	start, err := Fingerprint(r.Net.Params())
	if err != nil {
		return err
	}
	on := dev.Info() // without the number of workers, which changes no bit
	r.out.Settings = map[string]any{
		"mechanism": "DP-SGD", "net": start, "type": r.Type.String(), "objective": fmt.Sprintf("%T", r.Objective),
		"clip": r.Clip, "multiplier": r.NoiseMultiplier, "rate": r.Rate, "batch": r.Batch,
		"virtual": r.virtual(), "optimiser": fmt.Sprintf("%T%+v", r.Optimiser, r.Optimiser), "average": r.Average,
		"device": []any{on.Kind, on.Name, on.TF32},
	}
	if r.Epoch > 0 {
		r.out.Settings.(map[string]any)["epoch"] = []int{r.Epoch, r.selected()}
	}
	if err := r.out.Open(); err != nil {
		return err
	}
	defer func() { _ = r.out.Close() }()
	if err := r.out.Loop(ctx, release.Loop{
		Steps: t.Steps,
		Step:  r.step,
		State: &ck,
		Done:  &ck.Step,
		Every: t.Every,
	}); err != nil {
		return err
	}
	if r.mean != nil {
		r.mean.Swap()
	}
	return dev.Sync()
}

// Fingerprint returns a digest of the names, shapes and values of a network's parameters.
func Fingerprint(params []*nn.Param) (string, error) {
	h := sha256.New()
	for _, p := range params {
		v, err := p.Value.Float64s()
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, p.Name, p.Value.Shape())
		_ = binary.Write(h, binary.LittleEndian, v) // a hash takes everything
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// batch draws the batch of step k.
func (r *run) batch(k int) (_ []int, err error) {
	if r.Epoch == 0 {
		return release.Poisson(r.out.Key.Source("batch", k), r.Objective.Len(), r.Rate)
	}
	if epoch := k / r.Epoch; r.epoch == nil || epoch != r.drawn {
		r.drawn = epoch
		if r.epoch, err = release.Allocate(r.out.Key.Source("epoch", epoch), r.Objective.Len(), r.Epoch,
			r.selected()); err != nil {
			return nil, err
		}
	}
	return r.epoch[k%r.Epoch], nil
}

// step makes step k.
func (r *run) step(k int) error {
	defer r.dev.Scope().Close()
	batch, err := r.batch(k)
	if err != nil {
		return err
	}
	sum, err := r.sum(k, batch)
	if err != nil {
		return err
	}
	if sum, err = r.release(k, sum); err != nil {
		return err
	}
	for i := range sum {
		sum[i] /= r.Batch
	}
	setGrads(r.Net.Params(), sum)
	r.opt.SetFactor(r.Schedule(k))
	if r.mean != nil { // the first steps count less, since initial weights are noise
		r.mean.SetDecay(min(r.Average, float64(k+1)/float64(k+10)))
	}
	r.opt.Step()
	if r.Trace != nil { // before the checkpoint: if the run is killed here, Trace gets the step twice, not never
		if err := r.Trace(k + 1); err != nil {
			return err
		}
	}
	return r.dev.Err()
}

// release returns the sum with noise.
func (r *run) release(k int, sum []float64) ([]float64, error) {
	return r.out.Release("dpsgd", k, sum, r.sigma(), r.sensitivity())
}
