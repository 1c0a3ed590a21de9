package train_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
)

func normal(dev *device.Device, rng *rand.Rand, t device.DType, shape ...int) *device.Array {
	a := dev.New(t, shape...)
	v := make([]float64, a.Len())
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	a.SetFloats(v)
	return a
}

func norm(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

func grads(net nn.Layer) (all []float64) {
	for _, p := range nn.Trainable(net.Params()) {
		all = append(all, floats(p.Grad)...)
	}
	return all
}

// run is a training run with everything that a checkpoint keeps: parameters, running statistics, singular vectors,
// moments, averages, a stream on the device and a generator on the host.
type run struct {
	dev    *device.Device
	net    nn.Layer
	opt    *train.Optimiser
	ema    *train.EMA
	stream *device.Stream
	pcg    *rand.PCG
	train.Checkpoint
}

func newRun(dev *device.Device, seed uint64, width int) *run {
	r := &run{dev: dev, stream: dev.Stream(seed), pcg: rand.NewPCG(seed, 1)}
	r.net = nn.Seq(
		&nn.Dense{In: 3, Out: width, Spectral: &nn.Spectral{}}, &nn.BatchNorm{Channels: width}, nn.ReLU(),
		&nn.Dropout{Rate: .2}, &nn.Dense{In: width, Out: 1},
	)
	r.net.Init(dev, device.Float32, rand.New(rand.NewPCG(seed, 2)))
	r.opt = train.Adam{Rate: .01}.For(r.net.Params())
	r.ema = train.NewEMA(.9, r.net.Params())
	r.opt.Average(r.ema)
	r.Checkpoint = train.Checkpoint{
		Params:  map[string][]*nn.Param{"net": r.net.Params(), "adam": r.opt.State(), "ema": r.ema.State()},
		Sources: map[string]train.Source{"batches": r.pcg, "dropout": train.Stream{Stream: r.stream}},
	}
	return r
}

// steps trains on, with the cosine of the number of steps done as the rate's factor.
func (r *run) steps(n int) {
	schedule := train.Cosine(20, .1)
	for range n {
		func() {
			defer r.dev.Scope().Close()
			r.opt.SetFactor(schedule(int(r.Step)))
			p := &nn.Pass{Training: true, Random: r.stream}
			nn.ZeroGrads(r.net.Params())
			y := r.net.Forward(p, normal(r.dev, rand.New(r.pcg), device.Float32, 8, 3))
			r.net.VJP(p, y)
			r.opt.Step()
			r.Step++
		}()
	}
}

// numbers is all that the run's future depends on.
func (r *run) numbers(t *testing.T) (all []float64) {
	for _, group := range []string{"net", "adam", "ema"} {
		for _, p := range r.Params[group] {
			if p.Value.Type() != device.Int32 {
				all = append(all, floats(p.Value)...)
				continue
			}
			v := must.Get(p.Value.GetInts())
			for _, k := range v {
				all = append(all, float64(k))
			}
		}
	}
	_, position := must.Get2(r.stream.State())
	state, _ := r.pcg.MarshalBinary()
	for _, b := range state {
		all = append(all, float64(b))
	}
	return append(all, float64(position), float64(r.Step))
}
