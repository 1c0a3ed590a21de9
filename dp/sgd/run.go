package sgd

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"coupling/dp/release"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
)

// run is a training under way.
type run struct {
	Training
	dev    *device.Device
	key    release.Key
	opt    *train.Optimiser
	mean   *train.EMA // nil: none
	ck     train.Checkpoint
	ledger *release.Ledger
}

// Run initialises the network on the device and trains it, from where an earlier run in Dir was ended. Initial weights,
// batches, the randomness of losses and noise come from the key: give the same one to go on. Weights are the same bits in
// the end, killed or not, on the same kind of device; another kind is refused in Dir. The error wraps release.ErrLedger where Dir
// holds another run or more than Steps steps, which Event would not account for, and where a step that is played again
// would not release what the ledger says that it did; and release.ErrBusy where another process trains in Dir.
func (t Training) Run(ctx context.Context, dev *device.Device, key release.Key) error {
	if err := t.check(); err != nil {
		return err
	}
	r := &run{Training: t, dev: dev, key: key}
	if r.Schedule == nil {
		r.Schedule = train.Constant()
	}
	r.Net.Init(dev, r.Type, key.Rand("weights", 0))
	r.opt = t.Optimiser.For(r.Net.Params())
	defer r.opt.Free()
	if t.Average > 0 {
		r.mean = train.NewEMA(t.Average, r.Net.Params())
		defer r.mean.Free()
	}
	if err := r.open(); err != nil {
		return err
	}
	if r.ledger != nil {
		defer func() { _ = r.ledger.Close() }()
	}
	for r.ck.Step < int64(t.Steps) {
		if err := ctx.Err(); err != nil {
			return errors.Join(err, r.save())
		}
		if err := r.step(int(r.ck.Step)); err != nil {
			return err
		}
		r.ck.Step++
		if t.Trace != nil { // before the checkpoint: who is killed in between sees the step again, not never
			if err := t.Trace(int(r.ck.Step)); err != nil {
				return err
			}
		}
		if r.ck.Step%int64(orInt(t.Every, 100)) == 0 {
			if err := r.save(); err != nil {
				return err
			}
		}
	}
	if err := r.save(); err != nil {
		return err
	}
	if r.mean != nil {
		r.mean.Swap()
	}
	return dev.Sync()
}

// open takes up what Dir holds.
func (r *run) open() error {
	r.ck.Params = map[string][]*nn.Param{"net": r.Net.Params(), "optimiser": r.opt.State()}
	if r.mean != nil {
		r.ck.Params["mean"] = r.mean.State()
	}
	if r.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(r.Dir, 0o777); err != nil {
		return err
	}
	of, err := r.identity()
	if err != nil {
		return err
	}
	if r.ledger, err = release.OpenLedger(filepath.Join(r.Dir, "ledger"), of); err != nil {
		return err
	}
	if err = r.resume(); err != nil {
		_ = r.ledger.Close()
	}
	return err
}

// resume loads the checkpoint, if there is one, and refuses to go on where Event would say less than what was released.
func (r *run) resume() error {
	if err := r.ck.Load(r.checkpoint()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if r.Multiplier > 0 {
		return r.ledger.Covers(int(r.ck.Step), r.Steps)
	}
	if r.ck.Step > int64(r.Steps) {
		return bad("Steps = %d: there is a checkpoint of step %d in Dir = %s", r.Steps, r.ck.Step, r.Dir)
	}
	return nil
}

func (r *run) checkpoint() string { return filepath.Join(r.Dir, "checkpoint") }

func (r *run) save() error {
	if r.Dir == "" {
		return r.dev.Sync()
	}
	return r.ck.Save(r.checkpoint())
}

// identity is what a run is, the records by a code that tells nothing to who has not the key, and the key by a fingerprint.
// It refuses other runs at once; what it does not see, such as a Schedule or the rounding of a processor, the marks of
// the ledger do.
func (r *run) identity() (string, error) {
	print := sha256.Sum256(append([]byte("fingerprint"), r.key[:]...))
	code := hmac.New(sha256.New, r.key[:])
	if err := r.Objective.Digest(code); err != nil {
		return "", err
	}
	on := r.dev.Info() // without how many workers it has, which changes no bit
	start := sha256.New()
	for _, p := range r.Net.Params() {
		v, err := p.Value.Float64s()
		if err != nil {
			return "", err
		}
		fmt.Fprintln(start, p.Name, p.Value.Shape())
		_ = binary.Write(start, binary.LittleEndian, v) // a hash takes everything
	}
	line, err := json.Marshal(map[string]any{
		"net": fmt.Sprintf("%x", start.Sum(nil)[:8]), "type": r.Type.String(), "objective": fmt.Sprintf("%T", r.Objective), "records": fmt.Sprintf("%x", code.Sum(nil)[:16]),
		"clip": r.Clip, "multiplier": r.Multiplier, "rate": r.Rate, "virtual": r.virtual(), "optimiser": fmt.Sprintf("%T%+v", r.Optimiser, r.Optimiser), "average": r.Average,
		"device": []any{on.Kind, on.Name, on.TF32}, "key": fmt.Sprintf("%x", print[:8]),
	})
	return string(line), err
}

// step does step k: the ledger is told between the sum and its noise, when nothing has been released.
func (r *run) step(k int) error {
	defer r.dev.Scope().Close()
	batch, err := release.Poisson(r.key.Source("batch", k), r.Objective.Len(), r.Rate)
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
	size := r.Rate * float64(r.Objective.Len())
	for i := range sum {
		sum[i] /= size
	}
	setGrads(r.Net.Params(), sum)
	r.opt.SetFactor(r.Schedule(k))
	r.opt.Step()
	if r.mean != nil { // the first steps count less, for what the network begins with is noise
		r.mean.UpdateBy(min(r.Average, float64(k+1)/float64(k+10)))
	}
	return r.dev.Err()
}

// release returns the sum with noise.
func (r *run) release(k int, sum []float64) ([]float64, error) {
	if r.Multiplier == 0 {
		return sum, nil
	}
	sigma := r.sigma()
	mark := r.key.Mark("dpsgd", k, sum, sigma)
	if r.ledger != nil {
		if err := r.ledger.Spend(k, mark); err != nil {
			return nil, err
		}
	}
	return r.key.Noisy(mark, sum, sigma, r.sensitivity())
}
