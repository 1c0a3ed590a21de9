package denoise

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/sgd"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/stat"
)

// halves are images of 8×8 that are bright on the left or on the right, by their label.
func halves(n int) *data.Images {
	rng := rand.New(rand.NewPCG(8, 9))
	m := must.Get(data.New(n, 1, 8, 8))
	m.Labels, m.Classes = make([]int, n), []string{"left", "right"}
	for i := range n {
		m.Labels[i] = i % 2
		for j := range m.Row(i) {
			m.Row(i)[j] = .2 * rng.Float32()
			if j%8/4 == m.Labels[i] {
				m.Row(i)[j] += .7
			}
		}
	}
	return m
}

var eights = synth.Public{Records: 100, Classes: []string{"left", "right"}, Channels: 1, Height: 8, Width: 8}

func small() Config {
	return Config{Basis: 16, Hidden: 24, Records: 100, Batch: 100, Steps: 150, Bend: 3, Adam: train.Adam{Rate: 1e-2}}
}

// brightRight is the share of images that are bright on the side of their label.
func brightRight(m *data.Images) (share float64) {
	for i, l := range m.Labels {
		half := [2]float64{}
		for j, v := range m.Row(i) {
			half[j%8/4] += float64(v)
		}
		if half[l] > half[1-l] {
			share += 1 / float64(m.Len())
		}
	}
	return share
}

// With little noise the denoiser learns which half is bright, with a lot it does not.
func TestLearns(t *testing.T) {
	images := halves(400)
	for _, noise := range []float64{0, 1, 1000} {
		c := small()
		c.Records, c.NoiseMultiplier = 400, noise
		g := must.Get(c.Train(t.Context(), nntest.CPU(t), images, synth.Run{Key: release.SeededKey(3)}))
		m := must.Get(g.Sample(rand.New(rand.NewPCG(1, 1)), 300))
		if a := brightRight(m); (a > .85) != (noise < 10) {
			t.Errorf("noise %g: %g of the images are bright on the right side", noise, a)
		}
	}
}

// A row of the cotangent depends on its own record and its own randomness: alone or among others,
// first or last, it is the same. Privacy rests on it.
func TestRowsAreOnTheirOwn(t *testing.T) {
	dev, images := nntest.CPU(t), halves(20)
	c := must.Get(small().withDefaults())
	d := newDenoiser(c, eights)
	d.net.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 2)))
	rows := func(images *data.Images, at ...int) [][]float64 {
		dy := must.Get(newRecords(d, images).Cotangent(sgd.Batch{
			Net:     d.net,
			Pass:    &nn.Pass{},
			Dev:     dev,
			Records: at,
			Rand:    func(record int) *rand.Rand { return rand.New(rand.NewPCG(7, uint64(record))) },
		}))
		m := must.Get(dy.Mat())
		var out [][]float64
		for i := range at {
			out = append(out, m.RawRowView(i))
		}
		return out
	}
	near := func(what string, a, b []float64) {
		for j := range a {
			if math.Abs(a[j]-b[j]) > 1e-5 { // products of some 50 terms of size 1 in float32
				t.Fatalf("%s: entry %d is %g and %g", what, j, a[j], b[j])
			}
		}
	}
	alone := rows(images, 5)[0]
	near("first of three", rows(images, 5, 9, 2)[0], alone)
	near("last of three", rows(images, 9, 2, 5)[2], alone)
	other := halves(20)
	for i := range other.Len() {
		if i != 5 {
			clear(other.Row(i))
			other.Labels[i] = 1
		}
	}
	near("among other images", rows(other, 9, 2, 5)[2], alone)
	other.Labels[5] = 1 - other.Labels[5]
	if again := rows(other, 5)[0]; math.Abs(again[0]-alone[0]) < 1e-4 {
		t.Error("another label changes nothing: the test has no teeth")
	}
}

// A network that says 0 makes D the denoiser of independent Gaussians of the prior spread, and
// samples have that spread, less what D takes away at the last level.
func TestSamplerOnGaussians(t *testing.T) {
	c := must.Get(small().withDefaults())
	c.Draw = 60
	g := &Generator{denoiser: newDenoiser(c, eights), dev: nntest.CPU(t)}
	g.net.Init(g.dev, device.Float32, rand.New(rand.NewPCG(1, 2)))
	for _, p := range g.net.Params() {
		device.Fill(p.Value, 0)
	}
	const n = 4000
	x := must.Get(g.flow(rand.New(rand.NewPCG(3, 4)), make([]int, n)))
	for k, d := range g.spread {
		column := make([]float64, n)
		for i := range column {
			column[i] = x[i*len(g.spread)+k]
		}
		skip, _ := g.around(k, c.Least)
		want := skip * math.Hypot(d, c.Least)
		// Standard error 1/√(2n) = 1.1 %, of which three; Heun's rule with 60 steps adds less than 1 %.
		if got := stat.StdDev(column, nil); math.Abs(got/want-1) > .045 {
			t.Errorf("coefficient %d: spread %g, want %g", k, got, want)
		}
	}
}

// A perfect F* gives back the image: skip and out belong together.
func TestAround(t *testing.T) {
	c := must.Get(small().withDefaults())
	d := newDenoiser(c, eights)
	rng := rand.New(rand.NewPCG(5, 6))
	for k := range d.spread {
		s := c.Least * math.Pow(c.Most/c.Least, rng.Float64())
		skip, out := d.around(k, s)
		// F* of independent Gaussians has variance 1: out² = the variance of x given x + s·n.
		if given := d.spread[k] * d.spread[k] * (1 - skip); math.Abs(out*out/given-1) > 1e-12 {
			t.Errorf("coefficient %d at s = %g: out² = %g, variance %g", k, s, out*out, given)
		}
	}
}

// Calibrated noise meets the budget, with the event of what runs.
func TestCalibrate(t *testing.T) {
	p := eights
	p.Records = 60_000
	c, g := must.Get2(synth.Calibrate(t.Context(), Suggested(1, p), p, dp.Budget{Epsilon: 1, Delta: 1e-5}))
	event := must.Get(c.Event(p))
	again, err := dp.Epsilon(t.Context(), event, dp.Relation{}, 1e-5)
	if err != nil || g.Epsilon > 1 || again.Epsilon > 1+1e-8 || again.Epsilon < .999 {
		t.Errorf("calibrated to %v, the event has %v, %v", g, again, err)
	}
	if few := Suggested(1, eights); c.rate() != 2048./60_000 || few.rate() != 1 {
		t.Errorf("rates %g and %g", c.rate(), few.rate())
	}
}

// What is accounted for is what runs.
func TestEventIsOfWhatRuns(t *testing.T) {
	for _, batch := range []int{30, 100, 5000} {
		c := small()
		c.Batch, c.NoiseMultiplier = batch, .8
		c = must.Get(c.withDefaults())
		d := newDenoiser(c, eights)
		runs := must.Get(d.training(newRecords(d, halves(100))).Event())
		if said, err := c.Event(eights); err != nil || said != runs {
			t.Errorf("batches of %d: accounted for %v, %v, and %v runs", batch, said, err, runs)
		}
	}
}

// A run goes on in its folder; other images, and fewer steps than were spent, are refused there.
func TestDir(t *testing.T) {
	c, dir := small(), t.TempDir()
	c.Steps, c.NoiseMultiplier = 5, 1
	fit := func(images *data.Images) error {
		_, err := c.Train(t.Context(), nntest.CPU(t), images, synth.Run{Key: release.SeededKey(1), Dir: dir})
		return err
	}
	must.Do(fit(halves(100)))
	if err := fit(halves(100)); err != nil {
		t.Errorf("the same run again: %v", err)
	}
	other := halves(100)
	other.Labels[7] = 1 - other.Labels[7]
	if err := fit(other); !errors.Is(err, release.ErrLedger) {
		t.Errorf("another label: %v", err)
	}
	c.Steps = 4
	if err := fit(halves(100)); !errors.Is(err, release.ErrLedger) {
		t.Errorf("fewer steps than were spent: %v", err)
	}
}

// Bad parameters and images are refused.
func TestRefusals(t *testing.T) {
	images, label := halves(10), halves(10)
	label.Labels[3] = 2
	for name, c := range map[string]struct {
		change func(*Config)
		images *data.Images
	}{
		"basis":  {func(c *Config) { c.Basis = -1 }, images},
		"clip":   {func(c *Config) { c.Clip = math.NaN() }, images},
		"levels": {func(c *Config) { c.Least = 20 }, images},
		"noise":  {func(c *Config) { c.NoiseMultiplier = -1 }, images},
		"rate":   {func(c *Config) { c.Average = 1 }, images},
		"label":  {func(*Config) {}, label},
		"none":   {func(*Config) {}, nil},
		"number": {func(c *Config) { c.Records = 0 }, images},
	} {
		conf := small()
		c.change(&conf)
		_, err := conf.Train(t.Context(), nntest.CPU(t), c.images, synth.Run{Key: release.SeededKey(1)})
		if !errors.Is(err, dp.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := small().Event(eights); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("event without noise: %v", err)
	}
}
