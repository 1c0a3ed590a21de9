package refine

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/dp/synth/semidual"
	"coupling/lab/device"

	"gonum.org/v1/gonum/floats"
)

func cpu(t testing.TB) *device.Device {
	t.Helper()
	dev, err := device.CPU{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

// bars are images of 16×16 with a bright bar, upright or level by their label, three pixels wide and sharp.
func bars(t testing.TB, seed uint64, n int) *data.Images {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	m, err := data.New(n, 1, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	m.Labels, m.Classes = make([]int, n), []string{"upright", "level"}
	for i := range n {
		m.Labels[i] = i % 2
		at := 3 + rng.IntN(8)
		for j := range m.Row(i) {
			place := j % 16
			if m.Labels[i] == 1 {
				place = j / 16
			}
			if place >= at && place < at+3 {
				m.Row(i)[j] = 1
			}
		}
	}
	return m
}

func small() Config {
	return Config{Base: semidual.Config{PerClass: 2, Basis: 64, Local: 16, Steps: 4}, Axes: 10}
}

func featuresOf(t testing.TB, pool *data.Images, axes int) *features {
	t.Helper()
	f, err := newFeatures(cpu(t), pool, axes)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// One record more moves the released sum by exactly its own part, of norm at most 1, whatever it is and wherever it stands. Without
// the limit on norms the part of stripes everywhere is far longer; without the rounding the order of sums shows.
func TestOneRecordMovesTheSumByAtMostOne(t *testing.T) {
	f := featuresOf(t, bars(t, 1, 400), 60)
	images := bars(t, 2, 507) // more than a chunk
	stripes, noise, odd := images.Row(0), images.Row(100), images.Row(506)
	for j := range stripes {
		stripes[j], noise[j], odd[j] = float32(j/4%2), rand.Float32(), float32(math.NaN())
	}
	values := func(m *data.Images) (out []float64) {
		sum, err := f.sums(m)
		if err != nil {
			t.Fatal(err)
		}
		sum.visit(func(v *float64, _ float64) { out = append(out, *v) })
		return out
	}
	var factors []float64
	f.noMoments().visit(func(_ *float64, factor float64) { factors = append(factors, factor) })
	all, longest := values(images), 0.
	for _, i := range []int{0, 3, 100, 506} {
		order := slices.DeleteFunc(rand.Perm(images.Len()), func(k int) bool { return k == i })
		without, alone := values(images.Take(order)), values(images.Take([]int{i}))
		for k, v := range all {
			if v-without[k] != alone[k] {
				t.Fatalf("record %d: value %d moves by %g beside others, by %g alone", i, k, v-without[k], alone[k])
			}
		}
		floats.Mul(alone, factors)
		norm := floats.Norm(alone, 2)
		if longest = max(longest, norm); norm > 1 {
			t.Errorf("record %d moves the sum by %.17g", i, norm)
		}
	}
	if longest < .99 {
		t.Errorf("the longest part has norm %g: no record reaches the bound, so the test would not see one that passes it", longest)
	}
}

// Rows of the bank tell edges and lines of every direction apart, and none answers to even brightness but the blurred channel.
func TestFilters(t *testing.T) {
	const all = edges + 2*lines + 1
	w := make([]float64, all*kernel*kernel)
	filters(nil, w, []int{all, 1, kernel, kernel})
	at := func(f int) []float64 { return w[f*kernel*kernel:][:kernel*kernel] }
	for f := range all {
		want := 0.
		if f == all-1 {
			want = 1
		}
		if sum := floats.Sum(at(f)); math.Abs(sum-want) > 1e-12 {
			t.Errorf("filter %d sums to %g, want %g", f, sum, want)
		}
		for g := range f {
			if floats.Distance(at(f), at(g), math.Inf(1)) < .01 {
				t.Errorf("filters %d and %d are alike", f, g)
			}
		}
	}
}

// The moments have their share of Σ 1/σ², and the whole is one Gaussian mechanism of that precision.
func TestEvent(t *testing.T) {
	p := synth.Public{Records: 1000, Classes: []string{"a", "b"}, Channels: 1, Height: 16, Width: 16}
	c := small()
	c.Share = .4
	c = c.WithNoise(20).(Config)
	e, err := c.Event(p)
	if err != nil {
		t.Fatal(err)
	}
	all, err := dp.Epsilon(e, dp.Relation{}, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	precision := 4/(20*20.)/(1-.3) + 1/(c.noise()*c.noise())
	if share := 1 / (c.noise() * c.noise()) / precision; math.Abs(share-.4) > 1e-12 {
		t.Errorf("the moments have %g of the budget, want .4", share)
	}
	one, err := dp.Epsilon(dp.Gaussian{NoiseMultiplier: 1 / math.Sqrt(precision) * (1 - release.GridMargin)}, dp.Relation{}, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(all.Epsilon/one.Epsilon-1) > 1e-6 {
		t.Errorf("ε = %g, that of one Gaussian mechanism %g", all.Epsilon, one.Epsilon)
	}
}

// Without noise coordinates of moved samples have the private images' means by class more nearly than samples have.
func TestRefines(t *testing.T) {
	images := bars(t, 3, 600)
	off := func(rate float64) float64 {
		c := small()
		c.Axes, c.Steps, c.Rate = 100, 40, rate
		s, err := c.Train(t.Context(), cpu(t), images, synth.Run{Key: release.SeededKey(4)})
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Sample(rand.New(rand.NewPCG(1, 1)), 600)
		if err != nil {
			t.Fatal(err)
		}
		if low, high := slices.Min(m.Pixels()), slices.Max(m.Pixels()); low < 0 || high > 1 {
			t.Fatalf("values are in [%g, %g]", low, high)
		}
		var of [2][]float64
		for k, m := range []*data.Images{m, images} {
			sum, err := s.(*Sampler).sums(m)
			if err != nil {
				t.Fatal(err)
			}
			for l, n := range sum.count {
				floats.Scale(1/n, sum.first.RawRowView(l))
				of[k] = append(of[k], sum.first.RawRowView(l)...)
			}
		}
		return floats.Distance(of[0], of[1], 2)
	}
	before, after := off(1e-6), off(.1)
	if after > .5*before {
		t.Errorf("the distance of means is %.3f before, %.3f after", before, after)
	}
}

// A run in a folder repeats its releases and ends in the same images; other settings, or one release more, are refused.
func TestOneLedger(t *testing.T) {
	dir, images := t.TempDir(), bars(t, 5, 200)
	c := small().WithNoise(5).(Config)
	train := func(c Config) (*data.Images, error) {
		s, err := c.Train(t.Context(), cpu(t), images, synth.Run{Key: release.SeededKey(6), Dir: dir})
		if err != nil {
			return nil, err
		}
		return s.Sample(rand.New(rand.NewPCG(1, 1)), 20)
	}
	a, err := train(c)
	if err != nil {
		t.Fatal(err)
	}
	b, err := train(c)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Pixels(), b.Pixels()) {
		t.Error("the same run in the same folder makes other images")
	}
	c.Share = .5
	if _, err := train(c); !errors.Is(err, release.ErrLedger) {
		t.Errorf("other settings in the same folder: %v, want ErrLedger", err)
	}
}

// The statement says what is assumed of handwriting, and nothing of the kind of other images.
func TestDescribe(t *testing.T) {
	p := synth.Public{Records: 60_000, Classes: []string{"a", "b"}, Channels: 1, Height: 28, Width: 28}
	for i, c := range []Config{Suggested(1, p), Handwriting(1, p)} {
		if _, settings := c.Describe(); strings.Contains(settings, "assumed") != (i == 1) {
			t.Errorf("settings %q", settings)
		}
	}
}

func TestRefusals(t *testing.T) {
	p := synth.Public{Records: 1000, Classes: []string{"a", "b"}, Channels: 1, Height: 16, Width: 16}
	odd := p
	odd.Width = 18
	c := small().WithNoise(5).(Config)
	if _, err := c.Event(odd); !errors.Is(err, synth.ErrParameter) {
		t.Errorf("a side of 18: %v", err)
	}
	c.Share = 1
	if _, err := c.Event(p); !errors.Is(err, synth.ErrParameter) {
		t.Errorf("Share = 1: %v", err)
	}
	if _, err := small().Event(p); !errors.Is(err, synth.ErrParameter) {
		t.Errorf("no noise: %v", err)
	}
}
