package denoise

import (
	"fmt"

	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/synth"
	"coupling/lab/nn/train"
)

const in = check.In("denoise")

// Config says how the denoiser is trained; it is a synth.Method. A zero field means its
// default, which was found on MNIST. Choosing settings on the private data itself costs budget
// that is not accounted for here.
type Config struct {
	Basis   int        `default:"100"` // coefficients of a channel; see semidual.Basis
	Hidden  int        `default:"128"` // width of the two hidden layers
	Records int        // public number of private images, about: Suggested sets it, and there is no other default
	Batch   int        `default:"2048"` // private images of a step that are expected; at most Records
	Steps   int        `default:"250"`
	Clip    float64    `default:"1"` // bound of an image's gradient
	Adam    train.Adam // Rate, falling to a tenth along a cosine; 0: 5e-3
	Average float64    `default:".95"` // decay of the moving average of weights
	Least   float64    `default:".15"` // smallest noise level s, in units where black is 0 and white is 1
	Most    float64    `default:"6"`   // largest
	Prior   float64    `default:"1.6"` // spread of the lowest frequency
	Bend    float64    `default:"6"`   // frequency at which the spread is half of it, in half periods over the image
	Draw    int        `default:"18"`  // steps of Heun's rule for a sample
	// NoiseMultiplier is σ; 0 is none, and no privacy. synth.Calibrate sets it.
	NoiseMultiplier float64
}

// Suggested returns the settings that were best on MNIST within half a minute on two cores: the
// smaller ε, the fewer and larger the steps and the smaller the network.
func Suggested(eps float64, p synth.Public) Config {
	c := Config{Batch: 2048, Steps: 250, Adam: train.Adam{Rate: .015}}
	switch {
	case eps >= 5:
		c.Batch, c.Steps, c.Adam.Rate = 1024, 500, 5e-3
	case eps < .7:
		c.Batch, c.Steps, c.Adam.Rate, c.Hidden, c.Basis = 4096, 100, .04, 48, 64
	}
	c.Batch, c.Records = min(c.Batch, p.Records), p.Records
	return c
}

func (c Config) withDefaults() (Config, error) {
	err := check.All(in.Defaults(&c), check.Default(in, "Adam.Rate", &c.Adam.Rate, 5e-3),
		in.Noise(c.NoiseMultiplier), in.Positive("Records", float64(c.Records)))
	if err == nil && !(c.Least < c.Most) {
		err = in.Bad("Least = %g, Most = %g: must be increasing", c.Least, c.Most)
	}
	return c, err
}

// rate is the probability of an image to be in a step's batch.
func (c Config) rate() float64 { return min(float64(c.Batch)/float64(c.Records), 1) }

// Describe names the mechanism and its settings.
func (c Config) Describe() (mechanism, settings string) {
	c, _ = c.withDefaults() // out of range: Event says so
	return "DP-SGD on a class-conditional denoiser: sums of clipped gradients, one of each image", fmt.Sprintf("%+v", c)
}

// WithNoise sets NoiseMultiplier.
func (c Config) WithNoise(sigma float64) synth.Method {
	c.NoiseMultiplier = sigma
	return c
}

// Event returns the event of training, for dp.Epsilon under the relation of one record more or less.
func (c Config) Event(synth.Public) (dp.Event, error) {
	c, err := c.withDefaults()
	if err := check.All(err, in.Noisy(c.NoiseMultiplier)); err != nil {
		return nil, err
	}
	return dp.SGD(c.NoiseMultiplier, c.rate(), c.Steps), nil
}
