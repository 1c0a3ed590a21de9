package train_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"
)

// simple is one parameter under SGD and its average.
type simple struct {
	p     *nn.Param
	opt   *train.Optimiser
	ema   *train.EMA
	check train.Checkpoint
}

func newSimple(dev *device.Device) *simple {
	s := &simple{p: param(dev, device.Float64, "w", []float64{1, -2})}
	params := []*nn.Param{s.p}
	s.opt, s.ema = train.SGD{Rate: 1}.For(params), train.NewEMA(.5, params)
	s.opt.Average(s.ema)
	s.check.Params = map[string][]*nn.Param{"net": params, "sgd": s.opt.State(), "ema": s.ema.State()}
	return s
}

func (s *simple) step() {
	s.p.Grad.SetFloats([]float64{1, 1})
	s.opt.Step()
}

// A factor that was set once, long before, is in force after a resume; and a factor set meanwhile is not.
func TestFactorIsResumedOnDevice(t *testing.T) {
	dev := nntest.InScope(t)
	path := filepath.Join(t.TempDir(), "run.ckpt")
	plain, slow := newSimple(dev), newSimple(dev)
	slow.opt.SetFactor(.1)
	for _, c := range []struct {
		name     string
		from, to *simple
		want     []float64
	}{
		{"slow", slow, newSimple(dev), []float64{.8, -2.2}},
		{"plain", plain, slow, []float64{-1, -4}},
	} {
		c.from.step()
		must.Do(c.from.check.Save(path))
		must.Do(c.to.check.Load(path))
		c.from.step()
		c.to.step()
		near(t, c.name+", continued", floats(c.from.p.Value), c.want, 1e-15)
		near(t, c.name+", resumed", floats(c.to.p.Value), floats(c.from.p.Value), 0)
	}
}

// A run stored while its averages are in the network knows so when it comes back.
func TestSwapIsResumedOnDevice(t *testing.T) {
	dev := nntest.InScope(t)
	path := filepath.Join(t.TempDir(), "run.ckpt")
	first, second := newSimple(dev), newSimple(dev)
	first.step()
	trained := floats(first.p.Value)
	first.ema.Swap()
	must.Do(first.check.Save(path))
	must.Do(second.check.Load(path))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a swapped average took in its own network")
			}
		}()
		second.opt.Step()
	}()
	second.ema.Swap()
	if got := floats(second.p.Value); !slices.Equal(got, trained) {
		t.Errorf("parameters %v after the swap back, want %v", got, trained)
	}
}

// Loading onto a device that has failed says so and changes nothing, on the host either; recovered, it loads.
func TestLoadOnFailedDeviceOnDevice(t *testing.T) {
	dev := nntest.InScope(t)
	path := filepath.Join(t.TempDir(), "run.ckpt")
	from, to := newRun(dev, 1, 8), newRun(dev, 2, 8)
	from.steps(3)
	must.Do(from.Save(path))
	to.steps(1)
	before := to.numbers(t)
	device.Gather(dev.New(device.Float32, 1, 3), dev.Zeros(device.Float32, 2, 3), dev.FromInts([]int32{9}, 1))
	if err := to.Load(path); !errors.Is(err, device.ErrIndex) {
		t.Errorf("error %v, want that of the device", err)
	}
	if err := dev.Recover(); !errors.Is(err, device.ErrIndex) {
		t.Fatal(err)
	}
	if !slices.Equal(to.numbers(t), before) {
		t.Error("the run changed")
	}
	must.Do(to.Load(path))
	if !slices.Equal(to.numbers(t), from.numbers(t)) {
		t.Error("after Recover another run was loaded")
	}
}
