package semidual

import (
	"cmp"
	"fmt"
	"math"

	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/release"
	"coupling/dp/synth"
)

const in = check.In("semidual")

// Config says what is learnt and how the budget is split; it is a synth.Method. A zero field means
// its default, which was found on MNIST and Fashion-MNIST. Choosing settings on the
// private data itself costs budget that is not accounted for here.
type Config struct {
	PerClass int     `default:"20"`  // atoms of a class
	Basis    int     `default:"144"` // coefficients of a channel; see Basis
	Clip     float64 `default:"5"`   // bound C of |w⊗(y−x)|₂, in units where black is 0 and white is 1
	Reg      float64 `default:"2"`   // entropic regularisation, in the same units squared
	Split    float64 `default:".05"` // β² in (0, 1): the share of a step's budget for the potentials
	Steps    int     `default:"30"`  // releases of w and w⊗(y−x)

	Local      int     // coefficients of a channel that covariances are taken of; 0: 49, negative: no covariances
	LocalClip  float64 `default:"30"` // bound of |a|² for an outer product aaᵀ
	LocalShare float64 `default:".3"` // their share of the whole budget, as Σ 1/σ²
	// in half periods over the image: a coefficient of this frequency is assumed to have half the
	// variance of the lowest one, and outer products are scaled by that; 0: they are not scaled
	Bend     float64
	Contrast float64 // variance of a sample's pixels, over that of the frequencies released; 0: 1, negative: no Tone

	// NoiseMultiplier is σ of a step; 0 is none, and no privacy. synth.Calibrate sets it.
	NoiseMultiplier float64
}

// withDefaults checks and fills in.
func (c Config) withDefaults() (Config, error) {
	err := check.All(in.Defaults(&c), in.Noise(c.NoiseMultiplier))
	c.Local, c.Contrast = cmp.Or(c.Local, 49), cmp.Or(c.Contrast, 1)
	switch {
	case err != nil:
	case c.Split >= 1 || c.LocalShare >= 1:
		err = in.Bad("Split = %g, LocalShare = %g: must be below 1", c.Split, c.LocalShare)
	case c.Bend != 0 && !(c.Bend >= 1 && c.Bend <= 1e6):
		err = in.Bad("Bend = %g: must be 0, which scales nothing, or in [1, 1e6]", c.Bend)
	case math.IsNaN(c.Contrast) || math.IsInf(c.Contrast, 0):
		err = in.Bad("Contrast = %g: must be finite", c.Contrast)
	}
	return c, err
}

// spreads is the number of releases of covariances: about the means of classes, from which atoms
// grow, and about atoms. One atom is the mean, and the first is all there is.
func (c Config) spreads() int {
	switch {
	case c.Local < 0:
		return 0
	case c.PerClass == 1:
		return 1
	}
	return 2
}

// localNoise is the multiplier of a release of covariances: 1/σ² is its part of LocalShare of the whole Σ 1/σ².
func (c Config) localNoise() float64 {
	return c.NoiseMultiplier * math.Sqrt((1-c.LocalShare)/c.LocalShare*float64(c.spreads())/float64(c.Steps))
}

// Releases returns the number of releases of a training.
func (c Config) Releases() int {
	c, _ = c.withDefaults() // out of range: Event says so
	return c.Steps + c.spreads()
}

// Alongside returns the noise multiplier of one more release that has the given share, in (0, 1), of the whole
// budget, as Σ 1/σ².
func (c Config) Alongside(share float64) float64 {
	c, _ = c.withDefaults()
	total := float64(c.Steps)
	if c.spreads() > 0 {
		total /= 1 - c.LocalShare
	}
	return c.NoiseMultiplier * math.Sqrt((1-share)/share/total)
}

// Describe names the mechanism and its settings.
func (c Config) Describe() (mechanism, settings string) {
	c, _ = c.withDefaults() // out of range: Event says so
	return "private semi-dual transport: noisy sums of transport weights, clipped displacements and clipped outer " +
		"products", fmt.Sprintf("%+v", c)
}

// WithNoise sets NoiseMultiplier.
func (c Config) WithNoise(sigma float64) synth.Method {
	c.NoiseMultiplier = sigma
	return c
}

// Event is what training releases of one record: for dp.Epsilon, with the relation of one record more or less. Each
// step is the Gaussian mechanism, and so are the covariances. The multipliers are lowered by release.GridMargin for
// the grid of the noise.
func (c Config) Event(p synth.Public) (dp.Event, error) {
	c, err := c.withDefaults()
	if err := check.All(err, in.Noisy(c.NoiseMultiplier), c.checkRecords(p)); err != nil {
		return nil, err
	}
	const grid = 1 - release.GridMargin
	e := dp.Compose{dp.Repeat{Times: c.Steps, Event: dp.Gaussian{NoiseMultiplier: c.NoiseMultiplier * grid}}}
	if n := c.spreads(); n > 0 {
		e = append(e, dp.Repeat{Times: n, Event: dp.Gaussian{NoiseMultiplier: c.localNoise() * grid}})
	}
	return e, nil
}

func (c Config) checkRecords(p synth.Public) error {
	if most := mostRecords(p.Height, p.Width, c.LocalClip); p.Records > most {
		return in.Bad("%d images of %d×%d: sums are exact, as their sensitivity needs, for at most %d", p.Records,
			p.Height, p.Width, most)
	}
	return nil
}

// Suggested returns settings for a budget of eps at δ about 1e-5 on images of that kind: with more
// images in a class, or a larger ε, more atoms are affordable. They were found on MNIST (6,000
// images a class: 50 atoms a class at ε = 10, 10 at 1, one Gaussian at 0.3) and scale with eps
// times images a class over channels, lengths with the values of an image, C·H·W; in colour fewer
// coefficients have covariances, as a held-out part of CIFAR-10 has it. Contrast makes up for
// frequencies that are left out where noise is small; where it is not, some of the variance
// released is noise, and it is 1. Only public numbers go in.
func Suggested(eps float64, p synth.Public) Config {
	size := float64(p.Values()) / 784
	c := Config{Basis: 144, Local: 144, LocalShare: .5, Clip: 5 * math.Sqrt(size), Reg: 2 * size, LocalClip: 30 * size}
	switch strength := eps * float64(p.Records) / float64(max(len(p.Classes), 1)) / 6000 /
		float64(max(p.Channels, 1)); {
	case strength >= 5:
		c.PerClass, c.Steps, c.Contrast = 50, 30, 1.2
	case strength >= 2:
		c.PerClass, c.Steps, c.Contrast = 20, 20, 1.2
	case strength >= .6:
		c.PerClass, c.Steps, c.Basis, c.Local = 10, 15, 100, 100
	case strength >= .15: // the covariance of a class says more than a few atoms, and noise hides it first
		c.PerClass, c.Steps, c.LocalShare, c.Bend = 1, 4, .8, 3
	default:
		c.PerClass, c.Steps, c.Basis, c.Local = 1, 3, 64, 36
	}
	if p.Channels > 1 {
		c.Local = min(c.Local, 64)
	}
	return c
}

// Handwriting is Suggested for bright strokes on black, with prior knowledge of them: small changes
// of place, size, slant and form do not matter. None of it is learnt from the images; on other
// images, such as clothes, it costs accuracy. The sizes were chosen on a sixth of MNIST's training
// images that the model had not seen.
func Handwriting(eps float64, p synth.Public) synth.Jittered {
	c := Suggested(eps, p)
	if c.Contrast = 1.2; c.PerClass == 10 { // strokes are nearly black and white
		c.Basis, c.Local = 144, 144
	} else if c.PerClass < 10 {
		c.Contrast = 1.4
	}
	return synth.Jittered{Method: c, Jitter: synth.Jitter{
		Rotate:  .12,
		Shear:   .15,
		Scale:   .08,
		Shift:   .036,
		Elastic: .036,
	}}
}
