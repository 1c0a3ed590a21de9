package semidual

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// fit is Train under a seeded key.
func fit(t testing.TB, c Config, images *data.Images, seed uint64) *Model {
	t.Helper()
	m := must.Get(c.Train(t.Context(), nntest.CPU(t), images, synth.Run{Key: release.SeededKey(seed)}))
	return m.(*Model)
}

// calibrated has the least noise that is (eps, 1e-5)-differentially private.
func calibrated(t testing.TB, c Config, eps float64) (Config, dp.Guarantee) {
	c, g := must.Get2(synth.Calibrate(t.Context(), c, synth.Public{
		Records:  1000,
		Classes:  []string{"top", "bottom"},
		Channels: 1,
		Height:   8,
		Width:    8,
	}, dp.Budget{Epsilon: eps, Delta: 1e-5}))
	return c, g
}

// blobs is 8×8 images of two classes, each a bright square at one of two places.
func blobs(n int) *data.Images {
	rng := rand.New(rand.NewPCG(1, 1))
	m := must.Get(data.New(n, 1, 8, 8))
	m.Labels, m.Classes = make([]int, n), []string{"top", "bottom"}
	for i := range n {
		m.Labels[i] = i % 2
		x, y := 4*rng.IntN(2), 4*m.Labels[i]
		for a := range 4 {
			for b := range 4 {
				m.Row(i)[(y+a)*8+x+b] = .6 + .4*rng.Float32()
			}
		}
	}
	return m
}

// The basis is orthonormal: decoding is the inverse of encoding where all coefficients are kept, and a projection else.
func TestBasis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Basis{C: rapid.IntRange(1, 3).Draw(t, "C"), H: rapid.IntRange(1, 9).Draw(t, "H"),
			W: rapid.IntRange(1, 9).Draw(t, "W")}
		b.Size = rapid.IntRange(0, b.H*b.W).Draw(t, "Size")
		seed := rapid.Uint64().Draw(t, "seed")
		rng := rand.New(rand.NewPCG(seed, 0))
		x := mat.NewDense(2, b.C*b.H*b.W, nil)
		x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, x)
		y := b.Encode(x)
		again := b.Encode(b.Decode(y))
		if !mat.EqualApprox(y, again, 1e-12) {
			t.Fatal("not a projection")
		}
		if (b.Size == 0 || b.Size == b.H*b.W) && !mat.EqualApprox(x, b.Decode(y), 1e-12) {
			t.Fatal("not the identity")
		}
	})
}

// Every split of steps into sizes takes all of them, and ends at the number of atoms.
func TestLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := &trainer{Config: Config{PerClass: rapid.IntRange(1, 100).Draw(t, "atoms"),
			Steps: rapid.IntRange(2, 100).Draw(t, "steps")}}
		sum, levels := 0, tr.levels()
		for _, l := range levels {
			sum += l.steps
		}
		if sum != tr.Steps || levels[len(levels)-1].atoms != tr.PerClass {
			t.Fatalf("%v", levels)
		}
	})
}

// What noise does to a spectrum is undone: a covariance of a few directions comes back from its noisy release, better
// than the release itself, and is positive semidefinite.
func TestDenoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const d, s = 60, .1
	truth := mat.NewSymDense(d, nil)
	for k := range 4 {
		u := mat.NewVecDense(d, nil)
		for i := range d {
			u.SetVec(i, rng.NormFloat64()/math.Sqrt(d))
		}
		truth.SymRankOne(truth, float64(3+k), u)
	}
	noisy := pack(truth)
	for i := range noisy {
		noisy[i] += s * rng.NormFloat64()
	}
	released := unpack(noisy, d)
	got := Denoise(unpack(noisy, d), s)
	off := func(m *mat.SymDense) float64 {
		var diff mat.Dense
		diff.Sub(m, truth)
		return mat.Norm(&diff, 2)
	}
	if a, b := off(got), off(released); a > .6*b {
		t.Errorf("off by %g, the release itself by %g", a, b)
	}
	var e mat.EigenSym
	if !e.Factorize(got, false) {
		t.Fatal("no eigenvalues")
	}
	for _, v := range e.Values(nil) {
		if v < -1e-12 {
			t.Errorf("eigenvalue %g", v)
		}
	}
}

// Atoms find the squares, at a sound ε, and the numbers of records are about right; the same key gives the same bits on
// any number of processors, another key does not.
func TestTrain(t *testing.T) {
	images := blobs(2000)
	c, g := calibrated(t, Config{
		PerClass:  4,
		Steps:     12,
		Basis:     40,
		Local:     10,
		Reg:       .5,
		Clip:      3,
		LocalClip: 5,
	}, 2)
	if g.Epsilon > 2 || g.Epsilon < 1.999 {
		t.Errorf("guarantee %v", g)
	}
	m := fit(t, c, images, 1)
	atoms := must.Get(m.Sample(rand.New(rand.NewPCG(1, 2)), 200))
	left := 0
	for i, l := range atoms.Labels {
		var half, side [2]float64
		for j, v := range atoms.Row(i) {
			half[j/32] += float64(v)
			side[j%8/4] += float64(v)
		}
		if half[l] < 2*half[1-l] {
			t.Errorf("image %d of class %d: %v", i, l, half)
		}
		if side[0] > side[1] {
			left++
		}
	}
	if left < 50 || left > 150 { // half of 200: 7 standard deviations
		t.Errorf("%d of 200 squares on the left", left)
	}
	for l, n := range m.Count {
		if math.Abs(n-1000) > 200 { // noise of σ/β, averaged over 12 steps
			t.Errorf("class %d has %g records, want 1000", l, n)
		}
	}
	before := runtime.GOMAXPROCS(3)
	again := fit(t, c, images, 1)
	runtime.GOMAXPROCS(before)
	other := fit(t, c, images, 2)
	if !mat.Equal(m.Atoms[0], again.Atoms[0]) || !mat.Equal(m.Spread[1], again.Spread[1]) {
		t.Error("the same key gave another model")
	}
	if mat.Equal(m.Atoms[0], other.Atoms[0]) {
		t.Error("another key gave the same model")
	}
}

// The noise of steps and of covariances is what the event says, relative to their sensitivity of 1.
func TestReleaseNoise(t *testing.T) {
	c := must.Get(Config{Steps: 7, LocalShare: .2, NoiseMultiplier: 3}.withDefaults())
	tr := &trainer{Config: c, out: &release.Run{Key: release.SeededKey(9), Releases: 2}}
	event := must.Get(c.Event(synth.Public{Records: 100, Height: 8, Width: 8}))
	said := event.(dp.Compose)
	const grid = 1 - release.GridMargin
	for i, sigma := range []float64{
		said[0].(dp.Repeat).Event.(dp.Gaussian).NoiseMultiplier / grid,
		said[1].(dp.Repeat).Event.(dp.Gaussian).NoiseMultiplier / grid,
	} {
		stream, at := []string{"step", "spread"}[i], []float64{tr.NoiseMultiplier, tr.localNoise()}[i]
		noisy := must.Get(tr.out.Release(stream, 0, make([]float64, 20_000), at, 1))
		// 20,000 values: the estimate has a relative standard error of .005.
		if sd := floats.Norm(noisy, 2) / math.Sqrt(20_000); math.Abs(sd/sigma-1) > .025 {
			t.Errorf("%s: noise of standard deviation %g, the event says %g", stream, sd, sigma)
		}
	}
	if said[0].(dp.Repeat).Times != 7 || said[1].(dp.Repeat).Times != 2 {
		t.Errorf("%v: want 7 steps and 2 covariances", said)
	}
}

// No training releases more often than its event says, whatever its numbers of steps and atoms; a
// run that was stopped plays its releases again, and ends in the same atoms.
func TestReleasesAreCounted(t *testing.T) {
	images := blobs(4)
	for _, c := range []Config{{Steps: 1}, {Steps: 2, PerClass: 8}, {Steps: 3, Local: -1}, {Steps: 12, PerClass: 9},
		{Steps: 16, PerClass: 8, Local: -1}, {Steps: 31, PerClass: 1}, {Steps: 3, PerClass: 1, Bend: 3}} {
		c.NoiseMultiplier, c.Basis = 1, 4
		want := fit(t, c, images, 5)
		ctx, stop := context.WithCancel(t.Context())
		r := synth.Run{Key: release.SeededKey(5), Dir: t.TempDir(), Progress: func(done, of int) {
			if 2*done >= of {
				stop()
			}
		}}
		if _, err := c.Train(ctx, nntest.CPU(t), images, r); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("%+v: %v", c, err)
		}
		got, err := c.Train(t.Context(), nntest.CPU(t), images, r)
		if err != nil || !mat.Equal(got.(*Model).Atoms[1], want.Atoms[1]) {
			t.Errorf("%+v: resumed: %v", c, err)
		}
		c.NoiseMultiplier = 2
		if _, err := c.Train(t.Context(), nntest.CPU(t), images, r); !errors.Is(err, release.ErrLedger) {
			t.Errorf("%+v: other noise: %v", c, err)
		}
	}
}

// A class that nobody has is learnt as noise says, without an error that would tell.
func TestEmptyClass(t *testing.T) {
	images := blobs(100)
	clear(images.Labels)
	c := Config{PerClass: 2, Steps: 4, Basis: 20, Local: 5, NoiseMultiplier: 3}
	images.Classes = []string{"top", "bottom", "nowhere"}
	m := fit(t, c, images, 3)
	must.Get(m.Sample(rand.New(rand.NewPCG(1, 2)), 9))
}

func TestParameters(t *testing.T) {
	images := blobs(10)
	for _, c := range []Config{{PerClass: -1}, {Clip: math.Inf(1)}, {Split: 1},
		{NoiseMultiplier: math.NaN()}, {LocalShare: 1}, {Bend: .5}, {Bend: math.NaN()}} {
		if _, err := c.Train(t.Context(), nntest.CPU(t), images, synth.Run{}); !errors.Is(err, synth.ErrParameter) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	images.Labels[3] = 2
	_, err := Config{}.Train(t.Context(), nntest.CPU(t), images, synth.Run{})
	if !errors.Is(err, synth.ErrParameter) {
		t.Errorf("label out of range: %v", err)
	}
	if _, err := (Config{}).Event(synth.Public{}); !errors.Is(err, synth.ErrParameter) {
		t.Errorf("no noise: %v", err)
	}
}

// Weights are those of masses, without atoms that were lost; draws follow them.
func TestWeights(t *testing.T) {
	w := weightsOf([]float64{10, 9, 11, -3, 2, 30})
	want := 59. / 6
	sum := 10 + 9 + 11 + 2*want // the last is cut to twice what is wanted
	for i, v := range []float64{10, 9, 11, 0, 0, 2 * want} {
		if math.Abs(w[i]-v/sum) > 1e-12 {
			t.Errorf("weight %d is %g, want %g", i, w[i], v/sum)
		}
	}
	rng := rand.New(rand.NewPCG(6, 6))
	const trials = 20_000
	got := make([]float64, len(w))
	for range trials {
		got[draw(rng, w)]++
	}
	for i, n := range got {
		if math.Abs(n/trials-w[i]) > 5*math.Sqrt(.25/trials) {
			t.Errorf("atom %d was drawn with rate %g, want %g", i, n/trials, w[i])
		}
	}
	if w := weightsOf([]float64{-1, -2}); w[0] != .5 || w[1] != .5 {
		t.Errorf("nothing but noise: %v", w)
	}
}

// Wiener's filter brings noisy atoms nearer to what they were, where the prior is right, and leaves their mean.
func TestFilter(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	b := &Basis{C: 1, H: 6, W: 6}
	b.choose()
	const atoms, noise = 40, .05
	grey := mat.NewDense(1, 36, nil)
	grey.Apply(func(_, _ int, _ float64) float64 { return .5 }, grey)
	centre := b.Encode(grey).RawRowView(0)
	truth, noisy := mat.NewDense(atoms, 36, nil), mat.NewDense(atoms, 36, nil)
	prior := mat.NewSymDense(36, nil)
	prior.SetSym(1, 1, .01) // all that atoms differ in
	for i := range atoms {
		for k, v := range centre {
			truth.Set(i, k, v)
			if k == 1 {
				truth.Set(i, k, v+.1*rng.NormFloat64())
			}
			noisy.Set(i, k, truth.At(i, k)+noise*rng.NormFloat64())
		}
	}
	tr := &trainer{
		Config:  Config{NoiseMultiplier: noise * math.Sqrt2, Clip: 1},
		basis:   b,
		keep:    b.lowest(36),
		x:       []*mat.Dense{mat.DenseCopyOf(noisy)},
		count:   []float64{atoms},
		counted: 1,
	}
	tr.filter([]*mat.SymDense{prior}, 3) // three steps, of which two average: noise of variance noise² is left
	off := func(m *mat.Dense) float64 {
		var d mat.Dense
		d.Sub(m, truth)
		return mat.Norm(&d, 2)
	}
	// Of 36 noisy coefficients one is left, shrunk by 4/5, and the noise of the mean.
	if got, before := off(tr.x[0]), off(noisy); got > .35*before {
		t.Errorf("off by %g after the filter and %g before", got, before)
	}
	for k := range 36 {
		if a, c := mat.Sum(tr.x[0].ColView(k)), mat.Sum(noisy.ColView(k)); math.Abs(a-c) > 1e-9*atoms {
			t.Errorf("mean of coefficient %d moved from %g to %g", k, c/atoms, a/atoms)
		}
	}
}
