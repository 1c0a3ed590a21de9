package semidual

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/dp/dpsinkhorn"
	"coupling/dp/release"

	"pgregory.net/rapid"
)

// anyBumps is a pixel of a few atoms.
func anyBumps(t *rapid.T) bumps {
	n := rapid.IntRange(1, 4).Draw(t, "atoms")
	b := bumps{width: rapid.Float64Range(.01, .4).Draw(t, "width"), weight: make([]float64, n), at: make([]float64, n)}
	for j := range n {
		b.weight[j], b.at[j] = 1/float64(n), rapid.Float64Range(-.1, 1.1).Draw(t, "at")
	}
	return b
}

// The closed forms are the integrals that they stand for.
func TestClamped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, gain, dark := anyBumps(t), rapid.Float64Range(1, steepest).Draw(t, "gain"), rapid.Float64Range(-.5, .8).Draw(t, "dark")
		mean, square, inside := 0., 0., 0.
		const steps, far = 4000, 7.
		for j, w := range b.weight {
			for k := range steps {
				z := (float64(k)+.5)/steps*2*far - far
				p := w * density(z) * 2 * far / steps
				u := gain * (b.at[j] + b.width*z - dark)
				v := min(max(u, 0), 1)
				mean += p * v
				square += p * v * v
				if u == v {
					inside += p
				}
			}
		}
		m, s, in := b.clamped(gain, dark)
		// The midpoint rule is off by half a step of z, 1.75e-3 long, times the density .4, at each of two ends of the interval
		// inside; means are continuous there, and off by less.
		if math.Abs(m-mean) > 1e-4 || math.Abs(s-square) > 1e-4 || math.Abs(in-inside) > 1.5e-3 {
			t.Fatalf("%v %v %v, by integration %v %v %v", m, s, in, mean, square, inside)
		}
	})
}

// A line keeps the mean, and has the variance that is asked for unless it is as steep or as flat as it may be.
func TestMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, contrast := anyBumps(t), rapid.Float64Range(.5, 2).Draw(t, "contrast")
		gain, dark := b.match(contrast)
		mean, variance := b.moments()
		mean = min(max(mean, 0), 1)
		m, square, _ := b.clamped(gain, dark)
		if math.Abs(m-mean) > hairline {
			t.Fatalf("gain %g, dark %g: mean %g, want %g", gain, dark, m, mean)
		}
		// Eight halvings of [1, 8] leave .03 of the gain; a variance, at most ¼, grows by less than .35 for a gain of 1.
		want, got := min(contrast*variance, mean*(1-mean)), square-m*m
		if inside := gain > 1.05 && gain < steepest-.05; inside && math.Abs(got-want) > .01 || got > want+.01 && gain > 1.05 || got < want-.01 && gain < steepest-.05 {
			t.Fatalf("gain %g: variance %g, want %g", gain, got, want)
		}
	})
}

// Tones are made of what else a model holds, and of nothing that it does not; with them samples have the means of classes that
// the model has, from which mere clamping moves them.
func TestTones(t *testing.T) {
	dev, images := open(t), blobs(t, 1500)
	c, _, err := Config{PerClass: 4, Steps: 12, Basis: 40, Local: 30, Reg: .5, Clip: 3, LocalClip: 5}.Calibrate(t.Context(), 1, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Train(t.Context(), dev, images, 2, release.SeededKey(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	copied := Model{Basis: m.Basis, Atoms: m.Atoms, Weight: m.Weight, Spread: m.Spread, Keep: m.Keep}
	for l, tone := range copied.tones(c.Contrast) {
		for p := range tone.Gain {
			if tone.Gain[p] != m.Tones[l].Gain[p] || tone.Dark[p] != m.Tones[l].Dark[p] {
				t.Fatalf("class %d, pixel %d: %g and %g, of the model alone %g and %g", l, p, m.Tones[l].Gain[p], m.Tones[l].Dark[p], tone.Gain[p], tone.Dark[p])
			}
		}
	}
	off := func(m *Model) (sum float64) {
		const n = 8000
		s, err := m.Sample(rand.New(rand.NewPCG(7, 7)), n)
		if err != nil {
			t.Fatal(err)
		}
		for l, x := range m.Atoms {
			pixels := m.Basis.Decode(x)
			for p := range 64 {
				mean := 0.
				for j, w := range m.Weight[l] {
					mean += w * pixels.At(j, p)
				}
				for i := l; i < n; i += 2 {
					mean -= float64(s.Row(i)[p]) / (n / 2)
				}
				sum += math.Abs(mean)
			}
		}
		return sum / 128
	}
	plain := *m
	plain.Tones = nil
	with, without := off(m), off(&plain)
	// A mean of 4000 draws in [0, 1] is off by .5/√4000 = .008 on the average at most.
	if with > .01 || with > without/2 {
		t.Errorf("means are off by %g, without tones by %g", with, without)
	}
}

func TestContrastChecked(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := (Config{Noise: 1, Contrast: v}).Event(); !errors.Is(err, dpsinkhorn.ErrParameter) {
			t.Errorf("Contrast = %g: %v", v, err)
		}
	}
}
