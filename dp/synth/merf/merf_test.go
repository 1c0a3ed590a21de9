package merf

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"

	"gonum.org/v1/gonum/floats"
)

// halves is 8×8 images of two classes: the upper or lower half is bright.
func halves(n int) *data.Images {
	rng := rand.New(rand.NewPCG(1, 1))
	m := must.Get(data.New(n, 1, 8, 8))
	m.Labels, m.Classes = make([]int, n), []string{"upper", "lower"}
	for i := range n {
		m.Labels[i] = i % 2
		for j := range 32 {
			m.Row(i)[i%2*32+j] = .7 + .3*rng.Float32()
		}
	}
	return m
}

// One record more moves what is released by at most 1, and nearly by 1: also one that is far out of its range.
func TestSensitivity(t *testing.T) {
	dev := nntest.CPU(t)
	rng := rand.New(rand.NewPCG(2, 2))
	c := must.Get(Config{Features: 200, Length: 2}.withDefaults())
	f := &fit{
		Config: c,
		dev:    dev,
		public: synth.Public{Classes: []string{"a", "b"}},
		w:      frequencies(dev, rng, 100, 64, 2),
	}
	a, b := math.Sqrt(1-c.Count), math.Sqrt(c.Count)
	flat := func(m *data.Images) (out []float64) {
		sum, count := must.Get2(f.sums(m))
		for l := range sum {
			for _, v := range sum[l] {
				out = append(out, a*v)
			}
			out = append(out, b*count[l])
		}
		return out
	}
	for trial := range 100 {
		m := halves(1 + rng.IntN(30))
		last := m.Row(m.Len() - 1)
		for j := range last {
			last[j] = []float32{rng.Float32(), 0, 1, float32(math.NaN()), float32(1e30 * rng.NormFloat64())}[trial%5]
		}
		moved := floats.Distance(flat(m), append(make([]float64, 0), flat(m.Slice(0, m.Len()-1))...), 2)
		// Sums are exact; the norm of 402 float64 rounds by 402·2⁻⁵³ at most.
		if moved > 1+1e-13 || moved < .999 {
			t.Fatalf("trial %d: moved by %.17g", trial, moved)
		}
	}
}

// A record's features are the same bits whoever is there and wherever it stands.
func TestOthersDoNotMove(t *testing.T) {
	dev := nntest.CPU(t)
	rng := rand.New(rand.NewPCG(5, 2))
	const size, n = 202, 13
	f := &fit{
		Config: Config{Features: size},
		dev:    dev,
		public: synth.Public{Classes: []string{"a"}},
		w:      frequencies(dev, rng, size/2, 784, 3),
	}
	m := must.Get(data.New(n, 1, 28, 28))
	for i := range m.Pixels() {
		m.Pixels()[i] = rng.Float32()
	}
	features := func(m *data.Images) (out []float64) {
		must.Do(f.each(m, func(_ int, phi []float64) { out = append(out, phi...) }))
		return out
	}
	all := features(m)
	for from := range n {
		for _, to := range []int{from + 1, min(from+2, n), n} {
			if !slices.Equal(features(m.Slice(from, to)), all[from*size:to*size]) {
				t.Errorf("images %d to %d have other features by themselves", from, to)
			}
		}
	}
}

func TestParameters(t *testing.T) {
	for name, c := range map[string]Config{"Length": {Length: 1e-38}, "Batch": {Batch: 1}, "Count": {Count: 1},
		"Features": {Features: 3}, "Noise": {NoiseMultiplier: math.NaN()}} {
		if _, err := c.Train(t.Context(), nntest.CPU(t), halves(4), synth.Run{}); !errors.Is(err, dp.ErrParameter) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	bad := halves(4)
	bad.Labels[1] = 2
	if _, err := (Config{}).Train(t.Context(), nntest.CPU(t), bad, synth.Run{}); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("a label that is no class: %v", err)
	}
}

// With little noise the generator draws each class on its side.
func TestLearns(t *testing.T) {
	dev := nntest.CPU(t)
	c, g := must.Get2(synth.Calibrate(t.Context(), Config{
		Features: 400,
		Length:   3,
		Steps:    150,
		Batch:    40,
	}, synth.Public{}, dp.Budget{Epsilon: 5, Delta: 1e-5}))
	if g.Epsilon > 5 || g.Epsilon < 4.999 {
		t.Errorf("guarantee %v", g)
	}
	gen := must.Get(c.Train(t.Context(), dev, halves(400), synth.Run{Key: release.SeededKey(1)}))
	m := must.Get(gen.Sample(rand.New(rand.NewPCG(3, 3)), 50))
	right := 0
	for i, l := range m.Labels {
		half := [2]float64{}
		for j, v := range m.Row(i) {
			half[j/32] += float64(v)
		}
		if half[l] > 1.2*half[1-l] {
			right++
		}
	}
	if right < 45 {
		t.Errorf("%d of 50 images are bright on their side", right)
	}
}

// A run that is stopped goes on with the same codes, and ends in the same images; its one release is spent once.
func TestGoesOn(t *testing.T) {
	c := Config{Features: 200, Length: 3, Steps: 9, Batch: 20, NoiseMultiplier: 1}
	images := halves(100)
	draw := func(ctx context.Context, r synth.Run) ([]float32, error) {
		r.Key, r.Every = release.SeededKey(1), 2
		gen, err := c.Train(ctx, nntest.CPU(t), images, r)
		if err != nil {
			return nil, err
		}
		m, err := gen.Sample(rand.New(rand.NewPCG(3, 3)), 20)
		if err != nil {
			return nil, err
		}
		return m.Pixels(), nil
	}
	want := must.Get(draw(t.Context(), synth.Run{}))
	ctx, stop := context.WithCancel(t.Context())
	r := synth.Run{Dir: t.TempDir(), Progress: func(done, _ int) {
		if done == 5 {
			stop()
		}
	}}
	if _, err := draw(ctx, r); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped: %v", err)
	}
	first := 0
	r.Progress = func(done, _ int) {
		if first == 0 {
			first = done
		}
	}
	got, err := draw(t.Context(), r)
	if err != nil || !slices.Equal(got, want) || first != 6 {
		t.Errorf("went on with step %d: %v", first, err)
	}
	b, err := os.ReadFile(filepath.Join(r.Dir, "ledger"))
	if err != nil || strings.Count(string(b), "\nstep ") != 1 {
		t.Errorf("ledger %q, %v", b, err)
	}
}
