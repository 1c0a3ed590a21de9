package dsm

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
	"coupling/score"

	"gonum.org/v1/gonum/mat"
)

// mixture is two Gaussians in the plane, of weights .3 and .7.
func mixture() *score.Mixture {
	a := must.Get(score.NewGaussian([]float64{-1.5, 0}, mat.NewSymDense(2, []float64{.2, .1, .1, .2})))
	b := must.Get(score.NewGaussian([]float64{1.5, 1}, mat.NewSymDense(2, []float64{.1, 0, 0, .3})))
	return must.Get(score.NewMixture([]float64{.3, .7}, a, b))
}

func sample(rng *rand.Rand, n int) *mat.Dense {
	x := mat.NewDense(n, 2, nil)
	for i := range n {
		u, v := rng.NormFloat64(), rng.NormFloat64()
		if rng.Float64() < .3 {
			x.SetRow(i, []float64{-1.5 + math.Sqrt(.2)*u, math.Sqrt(.2) * (u/2 + math.Sqrt(.75)*v)})
		} else {
			x.SetRow(i, []float64{1.5 + math.Sqrt(.1)*u, 1 + math.Sqrt(.3)*v})
		}
	}
	return x
}

// off is the relative error of a score at a level, where the data with its noise is.
func off(rng *rand.Rand, got, want score.Field, x *mat.Dense, sigma float64) float64 {
	y := mat.DenseCopyOf(x)
	y.Apply(func(_, _ int, v float64) float64 { return v + sigma*rng.NormFloat64() }, y)
	n, d := y.Dims()
	a, b := mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
	must.Do(errors.Join(got.Score(a, y, sigma), want.Score(b, y, sigma)))
	a.Sub(a, b)
	return mat.Norm(a, 2) / mat.Norm(b, 2)
}

// A network that was prepared gives the same scores at every call, level and number of rows, and frees what it kept.
func TestPrepare(t *testing.T) {
	dev := devicetest.CPU(t)
	rng := rand.New(rand.NewPCG(1, 9))
	net := &nn.Dense{In: 2, Out: 2}
	net.Init(dev, device.Float32, rng)
	defer nn.Free(net.Params())
	f := &Network{Net: nn.Seq(net, nn.Tanh()), Device: dev, Shape: []int{2}, Sigmas: []float64{1, .1}, Batch: 3}
	before, _, _ := dev.Live()
	p, done := score.Prepare(f, 7)
	for range 3 {
		for _, n := range []int{7, 3, 2} {
			x, want, got := sample(rng, n), mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil)
			for _, sigma := range []float64{1, .1} {
				if err := errors.Join(f.Score(want, x, sigma), p.Score(got, x, sigma)); err != nil ||
					!mat.Equal(want, got) {
					t.Errorf("%d rows at %g: %v, prepared %v, %v", n, sigma, mat.Formatted(want),
						mat.Formatted(got), err)
				}
			}
		}
	}
	done()
	if now, _, _ := dev.Live(); now != before {
		t.Errorf("%d arrays before, %d after", before, now)
	}
}

// Scores at points that lie on a GPU are those of points that come from the host; a CPU has no
// other memory, so chains stay there.
func TestNetworkOnDevice(t *testing.T) {
	dev := must.Get(device.Open(""))
	defer dev.Close()
	rng := rand.New(rand.NewPCG(1, 9))
	net := MLP(2, []float64{1, .1}, 16)
	net.Init(dev, device.Float32, rng)
	defer nn.Free(net.Params())
	f := &Network{Net: net, Device: dev, Shape: []int{2}, Sigmas: []float64{1, .1}, Batch: 3}
	based := *f
	if based.Base = mixture(); based.OnDevice(7) != nil {
		t.Error("a network on a base is on the device without its base")
	}
	r := f.OnDevice(7)
	if on := dev.Key() != "cpu"; r == nil || !on {
		if r != nil || on {
			t.Errorf("on a %s: %v", dev.Key(), r)
		}
		return
	}
	defer r.Close()
	defer dev.Scope().Close()
	x, want := sample(rng, 7), mat.NewDense(7, 2, nil)
	for _, sigma := range []float64{.1, 1} {
		err := r.Level(sigma)
		got, failed := r.Score(dev.FromDense(device.Float64, x)).Mat()
		if err := errors.Join(err, failed, f.Score(want, x, sigma)); err != nil || !mat.EqualApprox(want, got, 1e-6) {
			t.Errorf("at %g: %v, from the host %v, %v", sigma, mat.Formatted(got), mat.Formatted(want), err)
		}
	}
}

// A small network learns the score of a mixture: measured where the data is, in units in which zero
// scores have error 1, and sampled with annealed Langevin dynamics the shares of the parts come
// out.
func TestLearnsMixture(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a network")
	}
	dev, f := devicetest.CPU(t), mixture()
	rng := rand.New(rand.NewPCG(1, 1))
	levels := must.Get(score.Geometric(3, .1, 8))
	net := MLP(2, levels, 64, 64)
	var first, last float64
	s := must.Get(Training{
		Sigmas: levels,
		Steps:  2500,
		Batch:  256,
		Rate:   2e-3,
		Decay:  .99,
		Trace: func(k int, loss float64) {
			if k <= 50 {
				first += loss / 50
			}
			if k > 2450 {
				last += loss / 50
			}
		},
	}.Run(t.Context(), rng, dev, net, sample(rng, 5000), nil))
	if !(last < .9*first) {
		t.Errorf("loss %.3f at first, %.3f at last", first, last)
	}
	defer nn.Free(net.Params())
	x := sample(rng, 500)
	for _, sigma := range levels {
		// A network of this size and time comes to .1 to .2; one that ignores its level, or has the
		// sign wrong, to > .5.
		if off := off(rng, s, f, x, sigma); off > .35 {
			t.Errorf("sigma = %.2f: relative error of the score %.2f", sigma, off)
		}
	}
	c := score.Start(rng, mat.NewDense(1000, 2, nil))
	c.Jitter(3)
	must.Do((score.Langevin{Levels: levels, Steps: 60, Step: .002, Denoise: true}).Run(t.Context(), s, c))
	right := 0
	for i := range 1000 {
		if c.X.At(i, 0) > 0 {
			right++
		}
	}
	if right < 600 || right > 800 { // sampling error 15, the rest is learning
		t.Errorf("%d of 1000 on the right, want 700", right)
	}
}

// A run that is killed and resumed from its checkpoint ends with the same bits.
func TestResumesBitForBit(t *testing.T) {
	dev := devicetest.CPU(t)
	levels := []float64{1, .3}
	x := sample(rand.New(rand.NewPCG(2, 2)), 100)
	fit := func(ctx context.Context, path string, stop func(int)) (*mat.Dense, error) {
		net := MLP(2, levels, 8)
		f, err := Training{
			Sigmas: levels,
			Steps:  40,
			Batch:  16,
			Path:   path,
			Every:  10,
			Trace:  func(k int, _ float64) { stop(k) },
		}.
			Run(ctx, rand.New(rand.NewPCG(3, 3)), dev, net, x, nil)
		defer nn.Free(net.Params())
		if err != nil {
			return nil, err
		}
		s := mat.NewDense(100, 2, nil)
		return s, f.Score(s, x, .3)
	}
	whole := must.Get(fit(t.Context(), "", func(int) {}))
	path := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := fit(ctx, path, func(k int) {
		if k == 25 { // after the checkpoint at 20
			cancel()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	resumed := must.Get(fit(t.Context(), path, func(k int) {
		if k <= 20 {
			t.Errorf("step %d again", k)
		}
	}))
	if !mat.Equal(whole, resumed) {
		t.Error("other numbers after a resume")
	}
	// What is stored is of this run, and of no other.
	for name, tr := range map[string]Training{
		"levels": {Sigmas: []float64{1, .2}, Steps: 40, Batch: 16, Path: path},
		"batch":  {Sigmas: levels, Steps: 40, Batch: 17, Path: path},
		"fewer":  {Sigmas: levels, Steps: 30, Batch: 16, Path: path},
	} {
		net := MLP(2, levels, 8)
		_, err := tr.Run(t.Context(), rand.New(rand.NewPCG(3, 3)), dev, net, x, nil)
		if !errors.Is(err, train.ErrMismatch) && !errors.Is(err, ErrParameter) {
			t.Errorf("%s: error %v", name, err)
		}
		nn.Free(net.Params())
	}
}

// The average of a run much shorter than 1/(1 − Decay) steps is of the weights that it reached, not
// of those at which it began.
func TestAverageOfAShortRun(t *testing.T) {
	dev := devicetest.CPU(t)
	x := sample(rand.New(rand.NewPCG(2, 2)), 100)
	scores := func(steps int, decay float64) *mat.Dense {
		net := MLP(2, []float64{1, .3}, 8)
		defer func() { nn.Free(net.Params()) }()
		f := must.Get(Training{
			Sigmas: []float64{1, .3},
			Steps:  steps,
			Batch:  16,
			Rate:   1e-2,
			Decay:  decay,
		}.Run(t.Context(), rand.New(rand.NewPCG(3, 3)), dev, net, x, nil))
		s := mat.NewDense(100, 2, nil)
		must.Do(f.Score(s, x, .3))
		return s
	}
	first, last, average := scores(0, 0), scores(60, -1), scores(60, 0)
	average.Sub(average, last)
	first.Sub(first, last)
	if left := mat.Norm(average, 2) / mat.Norm(first, 2); left > .5 { // .94 with a decay of .999 from the first step on
		t.Errorf("the average is %.2f of the way back to the first weights", left)
	}
}

// A network on a base learns what the base lacks, here the score of a mixture beyond that of one
// Gaussian: the sum is nearer to the truth at every trained level and the base alone above them. A
// base that enters with another sign or without its σ leaves errors of order one.
func TestLearnsOnABase(t *testing.T) {
	dev, truth := devicetest.CPU(t), mixture()
	rng := rand.New(rand.NewPCG(5, 1))
	base := must.Get(score.NewGaussian([]float64{.6, .7}, mat.NewSymDense(2, []float64{2, .6, .6, .5})))
	levels := []float64{.5, .25}
	net := DenoisingMLP([]float64{.6, .7}, 1, levels, 32, 1)
	net.OnBase = true
	training := Training{Sigmas: levels, Base: base, Steps: 400, Batch: 128, Rate: 3e-3, Decay: .99}
	f := must.Get(training.Run(t.Context(), rng, dev, net, sample(rng, 2000), nil))
	defer nn.Free(net.Params())
	x := sample(rng, 500)
	if off(rng, f, base, x, 1) != 0 {
		t.Error("above the trained levels the score is not the base's")
	}
	for _, sigma := range levels {
		if off, was := off(rng, f, truth, x, sigma), off(rng, base, truth, x, sigma); !(off < .5*was) {
			t.Errorf("sigma = %g: error %.3g, the base's %.3g", sigma, off, was)
		}
	}
}
