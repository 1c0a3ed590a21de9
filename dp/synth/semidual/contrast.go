package semidual

import (
	"context"
	"math"

	"coupling/lab/device/cpu"

	"gonum.org/v1/gonum/mat"
)

// Tone maps the pixels of samples, each by its own line: u → min(1, max(0, Gain·(u − Dark))).
//
// A raw sample, an atom and a Gaussian step, is flat and noisy: strokes and edges are in
// frequencies that the basis omits, and a pixel that is always black is drawn on both sides of 0,
// so that clamping brightens it. The releases give the mean m and the variance v of a pixel over
// all classes. After its line the pixel has that mean, and Contrast times that variance,
// within the limits of images in [0, 1], whose variance is at most m(1−m), and of a gain in [1, 8].
// MNIST becomes nearly black and white; other images change less.
//
// The line is the same for all classes: with a line for each class, a CNN recognised classes by
// where the lines begin, which does not work on real images.
//
// It is computed from the model alone, so it is post-processing and costs no budget.
type Tone struct{ Gain, Dark []float64 }

const (
	steepest = 8    // gain
	hairline = 1e-4 // tolerance of means, relative to the range of an image
)

// tone finds the lines. The cost is about 50 evaluations of each atom at each pixel, a second or two on MNIST.
func (m *Model) tone(contrast float64) *Tone {
	pixels, within := make([]*mat.Dense, len(m.Atoms)), make([][]float64, len(m.Atoms))
	for l, x := range m.Atoms {
		pixels[l], within[l] = m.Basis.Decode(x), m.variance(l)
	}
	dim := len(within[0])
	t := &Tone{Gain: make([]float64, dim), Dark: make([]float64, dim)}
	_ = cpu.Chunks(context.Background(), dim, 1, func(p, _, _ int) {
		var b bumps
		for l, weights := range m.Weight {
			for j, w := range weights {
				b = append(b, bump{weight: w / float64(len(m.Weight)), at: pixels[l].At(j, p),
					width: math.Sqrt(within[l][p])})
			}
		}
		t.Gain[p], t.Dark[p] = b.match(m.Mean[p], contrast)
	})
	return t
}

// variance is that of each pixel about the atoms of a class: the diagonal of the covariance, decoded.
func (m *Model) variance(l int) []float64 {
	_, dim := m.Atoms[l].Dims()
	half := root(m.Spread[l])
	rows := mat.NewDense(len(m.Keep), dim, nil)
	for i := range m.Keep {
		for j, k := range m.Keep {
			rows.Set(i, k, half.At(i, j))
		}
	}
	out := make([]float64, m.Basis.C*m.Basis.H*m.Basis.W)
	y := m.Basis.Decode(rows)
	for i := range m.Keep {
		for p, v := range y.RawRowView(i) {
			out[p] += v * v
		}
	}
	return out
}

// apply maps a row of pixels.
func (t *Tone) apply(row []float64) {
	for p, u := range row {
		row[p] = t.Gain[p] * (u - t.Dark[p])
	}
}

// bumps is the distribution of a pixel before it is clamped: Gaussians about its values in the
// atoms.
type bumps []bump

type bump struct{ weight, at, width float64 }

// moments are mean and variance.
func (b bumps) moments() (mean, variance float64) {
	square := 0.
	for _, g := range b {
		mean += g.weight * g.at
		square += g.weight * (g.at*g.at + g.width*g.width)
	}
	return mean, square - mean*mean
}

// match finds the line with that mean after it and with a variance contrast times as large, or as
// near to that as possible: at constant mean, the variance grows with the gain.
func (b bumps) match(mean, contrast float64) (gain, dark float64) {
	_, variance := b.moments()
	mean = min(max(mean, 0), 1)
	if mean < hairline {
		return 1, steepest // black
	}
	variance = min(contrast*variance, mean*(1-mean))
	lo, hi := 1., float64(steepest)
	for range 8 {
		var got float64
		gain = (lo + hi) / 2
		if dark, got = b.darken(gain, mean, dark); got < variance {
			lo = gain
		} else {
			hi = gain
		}
	}
	return gain, dark
}

// darken finds the Dark at which a line of the given gain keeps the mean, by Newton steps inside a
// bracket, and the variance after it.
func (b bumps) darken(gain, mean, start float64) (dark, variance float64) {
	lo, hi := -2., 3. // images are in [0, 1], their low frequencies not far out
	dark = start
	for range 30 {
		m, square, inside := b.clamped(gain, dark)
		variance = square - m*m
		switch {
		case math.Abs(m-mean) < hairline:
			return dark, variance
		case m > mean:
			lo = dark
		default:
			hi = dark
		}
		if dark += (m - mean) / (gain * inside); !(dark > lo && dark < hi) { // or inside is 0
			dark = (lo + hi) / 2
		}
	}
	return dark, variance
}

// clamped are the mean and the mean square of min(1, max(0, gain·(u − dark))), and the probability
// that this is inside (0, 1). For z ~ N(μ, s²), with P the probability of (0, 1) and φ the density
// of N(0, 1),
//
//	E clamp(z)  = μP + s(φ(μ/s) − φ((1−μ)/s)) + P(z ≥ 1),
//	E clamp(z)² = (μ²+s²)P + s(μφ(μ/s) − (1+μ)φ((1−μ)/s)) + P(z ≥ 1).
func (b bumps) clamped(gain, dark float64) (mean, square, inside float64) {
	for _, g := range b {
		if g.weight == 0 {
			continue
		}
		mu, s := gain*(g.at-dark), max(gain*g.width, 1e-6)
		low, high := -mu/s, (1-mu)/s
		above := math.Erfc(high/math.Sqrt2) / 2
		in := math.Erfc(low/math.Sqrt2)/2 - above
		p, q := density(low), density(high)
		inside += g.weight * in
		mean += g.weight * (mu*in + s*(p-q) + above)
		square += g.weight * ((mu*mu+s*s)*in + s*(mu*p-(1+mu)*q) + above)
	}
	return mean, square, inside
}

// density is that of N(0, 1).
func density(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
