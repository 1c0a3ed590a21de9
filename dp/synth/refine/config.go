package refine

import (
	"fmt"

	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/dp/synth/semidual"
	"coupling/lab/nn/train"
)

const in = check.In("refine")

// Config says what is refined and how; it is a synth.Method. A zero field means the value in
// brackets, which was found on MNIST. Choosing settings on the private data itself costs budget that
// is not accounted for here.
type Config struct {
	Base   semidual.Config // whose NoiseMultiplier sets the noise of all releases
	Jitter synth.Jitter    // of the base's samples before they are refined
	Share  float64         // of the moments in the whole budget, as Σ 1/σ² [0.3]
	Axes   int             // coordinates of an image [60]
	Pool   int             // samples that networks learn from [20,000]
	Epochs int             // of the classifier [3]
	Width  int             // channels of the U-Net at full resolution [8]
	Batch  int             // images of a step, at least two a class [200]
	Steps  int             // of the U-Net [400]
	Adam   train.Adam      // Rate [2e-3], falling to a tenth along a cosine
}

// Suggested returns settings for a budget of eps at δ about 1e-5 on images of that kind, from public
// numbers alone: the smaller eps times images a class, the fewer coordinates.
func Suggested(eps float64, p synth.Public) Config {
	c := Config{Base: semidual.Suggested(eps, p)}
	if eps*float64(p.Records)/float64(max(len(p.Classes), 1)) < .6*6000 {
		c.Axes = 30
	}
	return c
}

// Handwriting is Suggested with the prior knowledge of semidual.Handwriting.
func Handwriting(eps float64, p synth.Public) Config {
	c, base := Suggested(eps, p), semidual.Handwriting(eps, p)
	c.Base, c.Jitter = base.Method.(semidual.Config), base.Jitter
	return c
}

func (c Config) withDefaults() (Config, error) {
	err := check.All(
		check.Default(in, "Share", &c.Share, .3), check.Default(in, "Axes", &c.Axes, 60), check.Default(in, "Pool", &c.Pool, 20_000),
		check.Default(in, "Epochs", &c.Epochs, 3), check.Default(in, "Width", &c.Width, 8), check.Default(in, "Batch", &c.Batch, 200),
		check.Default(in, "Steps", &c.Steps, 400), check.Default(in, "Adam.Rate", &c.Adam.Rate, 2e-3))
	if err == nil && c.Share >= 1 {
		err = in.Bad("Share = %g: must be below 1", c.Share)
	}
	return c, err
}

// filled is withDefaults for images of that kind.
func (c Config) filled(p synth.Public) (Config, error) {
	c, err := c.withDefaults()
	switch classes := len(p.Classes); {
	case err != nil:
	case c.Batch < 2*classes || c.Pool < 100*classes || c.Pool < c.Batch:
		err = in.Bad("Batch = %d, Pool = %d: must be at least 2 and 100 images of each of %d classes", c.Batch, c.Pool, classes)
	case p.Height%4 != 0 || p.Width%4 != 0 || p.Height < 16 || p.Width < 16:
		err = in.Bad("images of %d×%d: sides must be multiples of 4 from 16", p.Height, p.Width)
	case c.Axes > units:
		err = in.Bad("Axes = %d: must be at most %d", c.Axes, units)
	case p.Records > mostRecords:
		err = in.Bad("%d images: sums are exact for at most %d", p.Records, mostRecords)
	}
	return c, err
}

// noise is the noise multiplier of the moments.
func (c Config) noise() float64 { return c.Base.Alongside(c.Share) }

// Describe names the mechanism, its settings and what is assumed of images.
func (c Config) Describe() (mechanism, settings string) {
	c, _ = c.withDefaults() // out of range: Event says so
	mechanism, settings = synth.Jittered{Method: c.Base, Jitter: c.Jitter}.Describe()
	return mechanism + "; then moments of features by class, released once, and a network fitted to them",
		fmt.Sprintf("%s; refined with Share:%g Axes:%d Pool:%d Epochs:%d Width:%d Batch:%d Steps:%d Adam:%+v", settings, c.Share, c.Axes, c.Pool, c.Epochs, c.Width, c.Batch, c.Steps, c.Adam)
}

// WithNoise sets Base.NoiseMultiplier.
func (c Config) WithNoise(sigma float64) synth.Method {
	c.Base = c.Base.WithNoise(sigma).(semidual.Config)
	return c
}

// Event is that of the base, and one more Gaussian mechanism.
func (c Config) Event(p synth.Public) (dp.Event, error) {
	c, err := c.filled(p)
	base, other := c.Base.Event(p)
	if err := check.All(err, other); err != nil {
		return nil, err
	}
	return dp.Compose{base, dp.Gaussian{NoiseMultiplier: c.noise() * (1 - release.GridMargin)}}, nil
}
