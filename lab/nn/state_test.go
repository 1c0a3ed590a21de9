package nn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/nntest"
)

func values(t *testing.T, a *device.Array) []float64 {
	return must.Get(a.Float64s())
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tol*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

// The numbers are by hand: channel 0 has 1, 3 (mean 2, variance 1 or by n − 1 2), channel 1 has 0, 10.
func TestBatchNormStatistics(t *testing.T) {
	dev := nntest.InScope(t)
	b := &nn.BatchNorm{Channels: 2, Momentum: .5}
	b.Init(dev, device.Float64, nil)
	x := dev.From64([]float64{1, 0, 3, 10}, 2, 2)
	y := b.Forward(&nn.Pass{Training: true}, x)
	r0, r1 := 1/math.Sqrt(1+1e-5), 5/math.Sqrt(25+1e-5)
	near(t, "training", values(t, y), []float64{-r0, -r1, r0, r1}, 1e-14)
	near(t, "running mean", values(t, b.Mean.Value), []float64{1, 2.5}, 1e-15)
	near(t, "running variance", values(t, b.Var.Value), []float64{1.5, 25.5}, 1e-15)
	y = b.Forward(&nn.Pass{}, x)
	s0, s1 := 1/math.Sqrt(1.5+1e-5), 1/math.Sqrt(25.5+1e-5)
	near(t, "inference", values(t, y), []float64{0, -2.5 * s1, 2 * s0, 7.5 * s1}, 1e-14)
	near(t, "inference left the running mean", values(t, b.Mean.Value), []float64{1, 2.5}, 1e-15)
}

// Large means are no harm in float32: deviations are squared after the mean was taken off. E x² − (E x)² of 1000 ± 0.01
// would have an error of 1000²·2^−24 = 0.06 in a variance of 1e-4.
func TestBatchNormLargeMean(t *testing.T) {
	dev := nntest.InScope(t)
	b := &nn.BatchNorm{Channels: 1, Batch: true, NoAffine: true, Eps: 1e-12}
	b.Init(dev, device.Float32, nil)
	up, down := float32(1000+1./128), float32(1000-1./128) // exact in float32
	y := b.Forward(&nn.Pass{}, dev.From32([]float32{up, down, up, down}, 4, 1))
	near(t, "normalised", values(t, y), []float64{1, -1, 1, -1}, 1e-6)
}

// InstanceNorm++ by hand: two channels of two pixels, means 2 and 6, standardised over channels with n − 1 = 1:
// (−2, 2)/√8.
func TestInstanceNormPlusByHand(t *testing.T) {
	dev := nntest.InScope(t)
	l := &nn.InstanceNormPlus{Channels: 2}
	l.Init(dev, device.Float64, rand.New(rand.NewPCG(1, 2)))
	l.Gamma.Value.SetFloats([]float64{2, 3})
	l.Alpha.Value.SetFloats([]float64{.5, 1})
	l.Beta.Value.SetFloats([]float64{10, 20})
	y := l.Forward(&nn.Pass{}, dev.From64([]float64{1, 3, 4, 8}, 1, 2, 1, 2))
	m := 2 / math.Sqrt(8+1e-5)
	h0, h1 := 1/math.Sqrt(1+1e-5), 2/math.Sqrt(4+1e-5)
	near(t, "output", values(t, y), []float64{
		10 + 2*(-h0-.5*m), 10 + 2*(h0-.5*m), 20 + 3*(-h1+m), 20 + 3*(h1+m),
	}, 1e-14)
}

// Power iteration over training passes finds the largest singular value; passes at inference leave the vector alone.
func TestSpectralConverges(t *testing.T) {
	dev := nntest.InScope(t)
	d := &nn.Dense{In: 2, Out: 2, NoBias: true, Spectral: &nn.Spectral{}}
	d.Init(dev, device.Float64, rand.New(rand.NewPCG(1, 2)))
	d.W.Value.SetFloats([]float64{3, 0, 0, 1})
	x := dev.From64([]float64{1, 0, 0, 1}, 2, 2)
	for range 40 { // each pass squares 1/3 once: 3^−80
		d.Forward(&nn.Pass{Training: true}, x)
	}
	near(t, "weight over 3", values(t, d.Forward(&nn.Pass{}, x)), []float64{1, 0, 0, 1. / 3}, 1e-14)
	before := values(t, d.Spectral.U.Value)
	d.W.Value.SetFloats([]float64{1, 0, 0, 3})
	d.Forward(&nn.Pass{}, x)
	near(t, "singular vector after inference", values(t, d.Spectral.U.Value), before, 0)
}

// Dropout keeps the mean, drops its share, and whole channels where asked to. 5 standard errors of 20000 coins.
func TestDropoutShare(t *testing.T) {
	dev := nntest.InScope(t)
	const n = 20000
	x := dev.New(device.Float32, 2, n/10, 5, 1)
	device.Fill(x, 1)
	stream := dev.Stream(9)
	for _, d := range []*nn.Dropout{{Rate: .3}, {Rate: .3, Channels: true}} {
		y := values(t, d.Forward(&nn.Pass{Training: true, Random: stream}, x))
		dropped, mixed := 0, false
		for i, v := range y {
			if v == 0 {
				dropped++
			} else if math.Abs(v-1/.7) > 1e-6 {
				t.Fatalf("kept %v, want %v", v, 1/.7)
			}
			mixed = mixed || v != y[i/5*5]
		}
		coins := float64(n)
		if d.Channels {
			coins /= 5
		}
		if share := float64(dropped) / n; math.Abs(share-.3) > 5*math.Sqrt(.21/coins) {
			t.Errorf("Channels = %v: dropped %v, want .3", d.Channels, share)
		}
		if mixed == d.Channels {
			t.Errorf("Channels = %v: channels go apart: %v", d.Channels, mixed)
		}
	}
}

// A pass that keeps nothing holds the outputs of 20 blocks of four arrays and a few more, not all 80.
func TestForwardOnlyFrees(t *testing.T) {
	most := func(only bool) int64 {
		dev := nntest.Open(t)
		defer dev.Close()
		defer dev.Scope().Close()
		net := nn.Seq()
		for range 20 {
			net.Layers = append(net.Layers, &nn.Residual{Body: nn.Seq(nn.Tanh(), nn.Sigmoid(), nn.ELU())})
		}
		y := net.Forward(&nn.Pass{ForwardOnly: only}, dev.Zeros(device.Float64, 100, 100))
		values(t, y) // lives
		_, _, peak := dev.Live()
		return peak / (8 * 100 * 100)
	}
	kept, freed := most(false), most(true)
	if kept < 80 || freed > 26 {
		t.Errorf("%d arrays at once with VJP to come, %d without", kept, freed)
	}
}
