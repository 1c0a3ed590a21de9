package semidual

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/audit"
	"coupling/dp/release"
	"coupling/dp/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// strokes are 20×20 images of slanted bars of random width, height, slant and place, of one class.
func strokes(t testing.TB, n int) *data.Images {
	t.Helper()
	m, err := data.New(n, 1, 20, 20)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	m.Labels, m.Classes = make([]int, n), []string{"bar"}
	for i := range n {
		wide, high, slant, x0, y0 := 2+rng.Float64(), 4+2*rng.Float64(), rng.NormFloat64()/3, 9+rng.Float64(), 9+rng.Float64()
		for k := range m.Row(i) {
			y := float64(k/20) - y0
			x := float64(k%20) - x0 - slant*y
			m.Row(i)[k] = float32(math.Exp(-(x*x/wide/wide + y*y/high/high) / 2))
		}
	}
	return m
}

// Aligned images have the standard moments and vary less; the pose gives the image back; and samples get poses of the law.
func TestAlign(t *testing.T) {
	images := strokes(t, 200)
	f := frame{1, 20, 20, .15}
	var apart, before float64
	var first, last []float64
	var poses []pose
	row, scratch, again := make([]float64, 400), make([]float64, 400), make([]float64, 400)
	for i := range images.Len() {
		synth.Unit(row, images, i)
		was := append([]float64(nil), row...)
		poses = append(poses, f.take(row, scratch))
		for k, v := range f.pose(row) {
			// The aligned image is sampled at pixels, and what left the frame is lost.
			if math.Abs(v) > .05 {
				t.Fatalf("image %d: coordinate %d of the aligned pose is %g", i, k, v)
			}
		}
		f.put(again, row, poses[i])
		if d := floats.Distance(again, was, 2) / floats.Norm(was, 2); d > .15 { // two interpolations
			t.Errorf("image %d comes back changed by %g", i, d)
		}
		if i == 0 {
			first, last = append(first, row...), was
		}
		apart, before = apart+floats.Distance(first, row, 2), before+floats.Distance(last, was, 2)
	}
	if apart > .35*before {
		t.Errorf("aligned images are %g apart, others %g", apart, before)
	}
	m := fit(t, Config{PerClass: 1, Steps: 2, Align: .15, NoiseMultiplier: .01, LocalClip: 100, Clip: 100}, images, 1)
	drawn, err := m.Sample(rand.New(rand.NewPCG(1, 1)), 300)
	if err != nil {
		t.Fatal(err)
	}
	for k := range len(pose{}) {
		var of, got []float64
		for _, p := range poses {
			of = append(of, p[k])
		}
		for i := range drawn.Len() {
			synth.Unit(row, drawn, i)
			got = append(got, f.pose(row)[k])
		}
		mean, want := floats.Sum(got)/300, floats.Sum(of)/200
		if math.Abs(mean-want) > .12 {
			t.Errorf("coordinate %d of poses: mean %g of samples, %g of images", k, mean, want)
		}
	}
}

// An attack on the whole pipeline, alignment, law, steps and covariances, that sees every release and knows everything but whether one
// record is in, does not refute the claim; it does refute it where sensitivity is off by 1.5, which is noise of two thirds.
func TestAuditWholePipeline(t *testing.T) {
	if testing.Short() {
		t.Skip("48,000 trainings")
	}
	const delta = 1e-2
	dev, images := open(t), strokes(t, 4)
	clear(images.Row(3)) // the canary: a bright corner, which reaches every bound
	images.Row(3)[0] = 1
	p, err := synth.PublicOf(images)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Config{PerClass: 2, Steps: 2, Basis: 9, Local: 4, Reg: .01, Clip: .1, LocalClip: 2, Align: .15, LawShare: .3, Contrast: -1}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c, g, err := synth.Calibrate(t.Context(), c, p, dp.Budget{Epsilon: 1, Delta: delta})
	if err != nil {
		t.Fatal(err)
	}
	worlds := [2]*trainer{newTrainer(c, dev, images.Slice(0, 3), p, synth.Run{}, nil), newTrainer(c, dev, images, p, synth.Run{}, nil)}
	canary := newTrainer(c, dev, images.Slice(3, 4), p, synth.Run{}, nil)
	train := func(rng *rand.Rand, fault float64, world bool) (score float64, err error) {
		attacked := *worlds[0]
		if world {
			attacked = *worlds[1]
		}
		attacked.Key = release.SeededKey(rng.Uint64())
		attacked.public = attacked.Key.Rand("public", 0)
		attacked.out = &release.Run{Key: attacked.Key, Releases: c.releases()}
		attacked.NoiseMultiplier /= fault
		attacked.x, attacked.v, attacked.held, attacked.count = make([]*mat.Dense, 1), make([][]float64, 1), make([][]float64, 1), make([]float64, 1)
		attacked.out.Trace = func(stream string, released []float64) {
			var known, part []float64
			sigma := c.NoiseMultiplier
			for of, to := range map[*trainer]*[]float64{worlds[0]: &known, canary: &part} {
				of := *of
				of.x, of.v = attacked.x, attacked.v
				switch stream {
				case "step":
					*to, err = of.answer(nil)
				case "spread":
					*to, sigma = of.spreadAnswer(t), c.localNoise()
				case "law":
					*to, sigma = of.poses(), c.lawNoise()
				}
			}
			score += (floats.Dot(released, part) - floats.Dot(known, part)) / sigma / sigma
		}
		_, failed := attacked.train(t.Context(), p)
		return score, errors.Join(err, failed)
	}
	for _, fault := range []float64{1, 1.5} {
		found, err := audit.TwoWorlds[float64]{
			Run:   func(rng *rand.Rand, world bool) (float64, error) { return train(rng, fault, world) },
			Score: func(s float64) float64 { return s }, Trials: 12_000, Workers: 1,
		}.Epsilon(t.Context(), rand.New(rand.NewPCG(8, 8)), delta)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("fault %g: claimed ε = %g, found %g", fault, g.Epsilon, found.Epsilon)
		if found.Refutes(g.Epsilon) != (fault > 1) || found.Epsilon < .6 {
			t.Errorf("fault %g: claimed ε = %g, found %g", fault, g.Epsilon, found.Epsilon)
		}
	}
}
