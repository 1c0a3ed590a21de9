package dsm

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/nntest"
	"coupling/score"

	"gonum.org/v1/gonum/mat"
)

func TestDenoiserOnDevice(t *testing.T) {
	nntest.RunCases(t, nntest.Open, []nntest.Case{
		{Name: "DenoisingMLP", Shape: []int{3, 4}, Classes: 2, Layer: func() nn.Layer {
			return DenoisingMLP([]float64{.1, -.2, .3, 1}, .7, []float64{1, .3}, 5, 1)
		}},
		{Name: "on a base", Shape: []int{3, 4}, Classes: 2, Layer: func() nn.Layer {
			net := DenoisingMLP([]float64{.1, -.2, .3, 1}, .7, []float64{1, .3}, 5, 1)
			net.OnBase = true
			return net
		}},
		{Name: "DenoisingUNet", Shape: []int{2, 1, 4, 4}, Classes: 2, Layer: func() nn.Layer {
			return DenoisingUNet(make([]float64, 16), .7, []float64{1, .3}, 1, 2)
		}},
		{Name: "images", Shape: []int{3, 1, 2, 2}, Classes: 2, Layer: func() nn.Layer {
			return &Denoiser{
				Sigmas: []float64{1, .3},
				Mean:   []float64{.1, -.2, .3, 1},
				Spread: .7,
				Body:   &nn.Conv2D{In: 1, Out: 1, Window: device.SquareWindow(3, 1, 1)},
			}
		}},
	})
}

// zero is a body that says nothing.
type zero struct{ nn.Layer }

func (zero) Params() []*nn.Param                           { return nil }
func (zero) Init(*device.Device, device.DType, *rand.Rand) {}
func (zero) Forward(_ *nn.Pass, x *device.Array) *device.Array {
	return x.Device().Zeros(x.Type(), x.Shape()...)
}

// Without its body a Denoiser is the score of a Gaussian.
func TestDenoiserOfNothing(t *testing.T) {
	dev := devicetest.CPU(t)
	mean, sigmas := []float64{1, -2}, []float64{2, .5}
	net := &Denoiser{Sigmas: sigmas, Mean: mean, Spread: 1.5, Body: zero{}}
	net.Init(dev, device.Float32, nil)
	defer nn.Free(net.Params())
	f := &Network{Net: net, Device: dev, Shape: []int{2}, Sigmas: sigmas}
	want := must.Get(score.NewGaussian(mean, mat.NewSymDense(2, []float64{2.25, 0, 0, 2.25})))
	x := sample(rand.New(rand.NewPCG(1, 1)), 20)
	a, b := mat.NewDense(20, 2, nil), mat.NewDense(20, 2, nil)
	for _, sigma := range sigmas {
		must.Do(errors.Join(f.Score(a, x, sigma), want.Score(b, x, sigma)))
		if !mat.EqualApprox(a, b, 1e-5) {
			t.Errorf("sigma = %g: score\n%v, want\n%v", sigma, mat.Formatted(a), mat.Formatted(b))
		}
	}
}

// A DenoisingMLP learns the mixture too, better than MLP in as many steps.
func TestDenoiserLearns(t *testing.T) {
	dev, f := devicetest.CPU(t), mixture()
	levels := must.Get(score.Geometric(3, .1, 8))
	worstOf := func(net nn.Layer) (worst float64) {
		rng := rand.New(rand.NewPCG(1, 1))
		s := must.Get(Training{
			Sigmas: levels,
			Steps:  500,
			Batch:  128,
			Rate:   4e-3,
			Decay:  .99,
		}.Run(t.Context(), rng, dev, net, sample(rng, 5000), nil))
		defer nn.Free(net.Params())
		for _, sigma := range levels {
			worst = max(worst, off(rng, s, f, sample(rng, 500), sigma))
		}
		return worst
	}
	plain, denoiser := worstOf(MLP(2, levels, 64, 64)), worstOf(DenoisingMLP([]float64{.6, .7}, 1.2, levels, 64, 1))
	t.Logf("largest relative error: %.3f plain, %.3f as a denoiser", plain, denoiser)
	if denoiser > .35 || denoiser > plain {
		t.Errorf("largest relative error %.3f as a denoiser, %.3f plain", denoiser, plain)
	}
}

func TestRefusals(t *testing.T) {
	dev := must.Get(device.Open("cpu"))
	defer dev.Close() // the networks of trainings that are refused are not freed
	rng := rand.New(rand.NewPCG(1, 1))
	levels := []float64{1, .5}
	nan := mat.NewDense(2, 2, []float64{0, 0, 0, math.NaN()})
	large := mat.NewDense(1, 2, []float64{0, 1e39})
	x := sample(rng, 10)
	for name, run := range map[string]struct {
		t    Training
		x    *mat.Dense
		want error
	}{
		"NaN":      {Training{Sigmas: levels, Steps: 1}, nan, ErrParameter},
		"none":     {Training{Steps: 1}, x, ErrParameter},
		"rising":   {Training{Sigmas: []float64{1, 2}, Steps: 1}, x, ErrParameter},
		"average":  {Training{Sigmas: levels, Decay: 1}, x, ErrParameter},
		"backward": {Training{Sigmas: levels, Rate: -1}, x, ErrParameter},
		"float32":  {Training{Sigmas: levels, Steps: 1}, large, ErrParameter},
		"decay":    {Training{Sigmas: levels, Decay: math.NaN()}, x, ErrParameter},
		"rate":     {Training{Sigmas: levels, Rate: math.Inf(1)}, x, ErrParameter},
		"diverges": {Training{Sigmas: levels, Steps: 20, Rate: 1e30}, x, score.ErrDiverged},
	} {
		if _, err := run.t.Run(t.Context(), rng, dev, MLP(2, levels, 4), run.x, nil); !errors.Is(err, run.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := (Training{Sigmas: levels}).
		Run(t.Context(), rng, dev, MLP(2, levels, 4), x, []int{3}); !errors.Is(err, score.ErrShape) {
		t.Errorf("shape: error %v", err)
	}
	f := &Network{Net: MLP(2, levels, 4), Device: dev, Shape: []int{2}, Sigmas: levels}
	f.Net.Init(dev, device.Float32, rng)
	for name, err := range map[string]error{
		"sigma":     f.Score(mat.NewDense(10, 2, nil), x, math.NaN()),
		"dst":       f.Score(mat.NewDense(9, 2, nil), x, 1),
		"dimension": f.Score(mat.NewDense(1, 3, nil), mat.NewDense(1, 3, nil), 1),
	} {
		if !errors.Is(err, ErrParameter) && !errors.Is(err, score.ErrShape) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
