package semidual

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/dp/synth"
	_ "coupling/lab/draws"
	"coupling/lab/must"

	"pgregory.net/rapid"
)

// anyBumps is a pixel of a few atoms.
func anyBumps(t *rapid.T) bumps {
	n := rapid.IntRange(1, 4).Draw(t, "atoms")
	b := make(bumps, n)
	for j := range b {
		b[j] = bump{weight: 1 / float64(n), at: rapid.Float64Range(-.1, 1.1).Draw(t, "at"),
			width: rapid.Float64Range(.01, .4).Draw(t, "width")}
	}
	return b
}

// The closed forms are the integrals that they stand for.
func TestClamped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, gain, dark := anyBumps(t), rapid.Float64Range(1, steepest).Draw(t, "gain"),
			rapid.Float64Range(-.5, .8).Draw(t, "dark")
		mean, square, inside := 0., 0., 0.
		const steps, far = 4000, 7.
		for _, g := range b {
			for k := range steps {
				z := (float64(k)+.5)/steps*2*far - far
				p := g.weight * density(z) * 2 * far / steps
				u := gain * (g.at + g.width*z - dark)
				v := min(max(u, 0), 1)
				mean += p * v
				square += p * v * v
				if u == v {
					inside += p
				}
			}
		}
		m, s, in := b.clamped(gain, dark)
		// The midpoint rule is off by half a step of z, 1.75e-3 long, times the density .4, at each
		// of two ends of the interval inside; means are continuous there, and off by less.
		if math.Abs(m-mean) > 1e-4 || math.Abs(s-square) > 1e-4 || math.Abs(in-inside) > 1.5e-3 {
			t.Fatalf("%v %v %v, by integration %v %v %v", m, s, in, mean, square, inside)
		}
	})
}

// A line has the mean and the variance that is asked for unless it is as steep or as flat as it may be.
func TestMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, contrast := anyBumps(t), rapid.Float64Range(.5, 2).Draw(t, "contrast")
		_, variance := b.moments()
		mean := rapid.Float64Range(0, .99).Draw(t, "mean")
		gain, dark := b.match(mean, contrast)
		m, square, _ := b.clamped(gain, dark)
		if math.Abs(m-mean) > hairline {
			t.Fatalf("gain %g, dark %g: mean %g, want %g", gain, dark, m, mean)
		}
		// Eight halvings of [1, 8] leave .03 of the gain; a variance, at most ¼, grows by less than
		// .35 for a gain of 1.
		want, got := min(contrast*variance, mean*(1-mean)), square-m*m
		if inside := gain > 1.05 && gain < steepest-.05; inside && math.Abs(got-want) > .01 ||
			got > want+.01 && gain > 1.05 || got < want-.01 && gain < steepest-.05 {
			t.Fatalf("gain %g: variance %g, want %g", gain, got, want)
		}
	})
}

// A tone is made of what else a model holds, and of nothing that it does not; with it samples have
// the mean that the model has, from which mere clamping moves them.
func TestTone(t *testing.T) {
	c, _ := calibrated(t, Config{PerClass: 4, Steps: 12, Basis: 40, Local: 30, Reg: .5, Clip: 3, LocalClip: 5}, 1)
	m := fit(t, c, blobs(1500), 1)
	copied := Model{Basis: m.Basis, Atoms: m.Atoms, Weight: m.Weight, Spread: m.Spread, Keep: m.Keep, Mean: m.Mean}
	if again := copied.tone(1); !slices.Equal(again.Gain, m.Tone.Gain) || !slices.Equal(again.Dark, m.Tone.Dark) {
		t.Error("a copy of the model has another tone")
	}
	plain := *m
	plain.Tone = nil
	with, without := meanOff(m), meanOff(&plain)
	// A mean of 8000 draws in [0, 1] is off by .5/√8000 = .006 on the average at most.
	if with > .006 || with > without/2 {
		t.Errorf("means are off by %g, without a tone by %g", with, without)
	}
}

// Without noise the Mean is that of records, up to the frequencies that the basis omits; the mean
// of atoms, which are clamped, is not.
func TestMean(t *testing.T) {
	records := blobs(1500)
	m := fit(t, Config{PerClass: 4, Steps: 12, Basis: 40, Local: 30, Reg: .5, Clip: 30, LocalClip: 5}, records, 1)
	top, bottom := m.Basis.Decode(m.Atoms[0]), m.Basis.Decode(m.Atoms[1])
	byMean, byAtoms := 0., 0.
	for p := range records.Dim() {
		mean, atoms := 0., 0.
		for i := range records.Len() {
			mean += float64(records.Row(i)[p]) / float64(records.Len())
		}
		for j := range m.Weight[0] {
			atoms += (m.Weight[0][j]*top.At(j, p) + m.Weight[1][j]*bottom.At(j, p)) / 2
		}
		byMean, byAtoms = byMean+math.Abs(m.Mean[p]-mean), byAtoms+math.Abs(atoms-mean)
	}
	if byMean > byAtoms/4 {
		t.Errorf("Mean is off by %g over all pixels, that of atoms by %g", byMean, byAtoms)
	}
}

// meanOff is by how much the mean of samples is off the model's Mean, on the average over pixels.
func meanOff(m *Model) (sum float64) {
	const n = 8000
	s := must.Get(m.Sample(rand.New(rand.NewPCG(7, 7)), n))
	for p := range s.Dim() {
		mean := min(max(m.Mean[p], 0), 1)
		for i := range n {
			mean -= float64(s.Row(i)[p]) / n
		}
		sum += math.Abs(mean) / float64(s.Dim())
	}
	return sum
}

func TestContrastChecked(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := (Config{NoiseMultiplier: 1, Contrast: v}).
			Event(synth.Public{Records: 100, Height: 8, Width: 8}); !errors.Is(err, synth.ErrParameter) {
			t.Errorf("Contrast = %g: %v", v, err)
		}
	}
}
