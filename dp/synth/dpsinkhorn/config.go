package dpsinkhorn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/initial"
	"coupling/lab/nn/train"
)

const in = check.In("dpsinkhorn")

var bad = in.Bad

// Training is algorithm 1: a generator is moved along a sanitised gradient of the semi-debiased
// Sinkhorn loss. It is a synth.Method.
type Training struct {
	Net       Net
	Loss      Loss
	Sanitiser Sanitiser // nil: neither clip nor noise, and no privacy
	// Parameters clips and noises the gradient of all parameters together, rather than that at the
	// images (the first row of the paper's table 2). The Sanitiser must be a WholeBatch:
	// sensitivity 2·Bound holds of any vector that is clipped to Bound, and the event is the same.
	Parameters bool
	// Turns gives generated images the classes in turn, instead of at random.
	Turns    bool
	Images   int     // n, generated images of a step beside the fresh ones; 0: 50
	Rate     float64 // probability of a private image to be in a step's batch
	Steps    int
	Adam     train.Adam
	SGD      *train.SGD                            // in place of Adam, if not nil
	Schedule train.Schedule                        // of the learning rate; nil: constant
	Trace    func(step int, release *device.Array) // called with each step's release; may be nil
}

// Net is the network of a generator: one of the three. Channels, Size and Classes are those of the private images.
type Net struct {
	DCGAN  *arch.DCGAN
	BigGAN *arch.BigGAN
	MLP    *MLP
}

// MLP is a generator of small images of any size: dense layers with ReLU and batch normalisation
// from a latent code and an embedding of the class, and tanh. It is ours: on images of few pixels
// the noise is short, and a step takes a millisecond.
type MLP struct {
	Latent, Embed int
	Hidden        []int // widths of the layers between
	// Output is the standard deviation of the last layer's first weights; 0: PyTorch's law. From small ones images
	// begin grey, and no pixel
	// is left at the wrong end of tanh by the first steps, from where no gradient leads back.
	Output float64
}

func (g MLP) net(p synth.Public) nn.Layer {
	sizes := append(append([]int{g.Latent + g.Embed}, g.Hidden...), p.Values())
	layers := []nn.Layer{&nn.AppendClass{Embedding: nn.Embedding{Classes: len(p.Classes), Width: g.Embed}}}
	layers = append(layers, arch.MLP{Sizes: sizes, BatchNorm: true}.Net().Layers...)
	if g.Output > 0 {
		layers[len(layers)-1].(*nn.Dense).Weights = initial.Normal(0, g.Output)
	}
	return nn.Seq(append(layers, nn.Tanh(), &nn.Reshape{Shape: []int{p.Channels, p.Height, p.Width}})...)
}

// String returns the network's settings, without the distribution of its initial weights, which is a
// function.
func (n Net) String() string {
	switch {
	case n.DCGAN != nil:
		g := *n.DCGAN
		g.Weights = nil
		return fmt.Sprintf("DCGAN%+v", g)
	case n.BigGAN != nil:
		g := *n.BigGAN
		g.Weights = nil
		return fmt.Sprintf("BigGAN%+v", g)
	case n.MLP != nil:
		return fmt.Sprintf("MLP%+v", *n.MLP)
	}
	return "no network"
}

func (n Net) build(p synth.Public) (net nn.Layer, latent int, err error) {
	switch {
	case n.DCGAN != nil && n.BigGAN == nil && n.MLP == nil:
		g := *n.DCGAN
		g.Channels, g.Size, g.Classes = p.Channels, p.Height, len(p.Classes)
		if p.Height != p.Width || p.Height != 28 && p.Height != 32 {
			return nil, 0, bad("images of %d×%d: DCGAN makes 28×28 or 32×32", p.Height, p.Width)
		}
		return g.Net(), g.Latent, nil
	case n.BigGAN != nil && n.DCGAN == nil && n.MLP == nil:
		g := *n.BigGAN
		g.Channels, g.Classes = p.Channels, len(p.Classes)
		blocks := cmp.Or(g.Blocks, 3)
		if side := 4 << blocks; p.Height != side || p.Width != side {
			return nil, 0, bad("images of %d×%d: BigGAN of %d blocks makes %d×%d", p.Height, p.Width, blocks,
				side, side)
		}
		return g.Net(), g.Latent, nil
	case n.MLP != nil && n.DCGAN == nil && n.BigGAN == nil:
		g := *n.MLP
		if g.Latent < 1 || g.Embed < 1 || len(g.Hidden) > 0 && slices.Min(g.Hidden) < 1 {
			return nil, 0, bad("Net.MLP = %+v: all sizes must be at least 1", g)
		}
		return g.net(p), g.Latent, nil
	}
	return nil, 0, bad("Net: must have one network")
}

// Suggested returns settings for small machines: a DCGAN, batches of 50, 2000 steps, and the
// sanitiser whose accounting holds.
func Suggested(p synth.Public) Training {
	return Training{
		Net: Net{DCGAN: &arch.DCGAN{Latent: 12, Embed: 4}}, Loss: Loss{L1: 1, Fresh: .4}, Sanitiser: WholeBatch{},
		Images: 50, Rate: min(50/float64(max(p.Records, 1)), 1), Steps: 2000, Adam: train.Adam{Rate: 1e-3, Decay: 2e-5},
	}
}

// Describe names the mechanism and its settings.
func (t Training) Describe() (mechanism, settings string) {
	return fmt.Sprint("DP-Sinkhorn: the gradient of a transport loss at generated images, ", t.Sanitiser),
		fmt.Sprintf("%v, loss %+v, %d generated images a step, rate %g, %d steps", t.Net, t.Loss, t.images(),
			t.Rate, t.Steps)
}

// WithNoise sets the multiplier of the Sanitiser; without one it takes a WholeBatch.
func (t Training) WithNoise(sigma float64) synth.Method {
	if t.Sanitiser == nil {
		t.Sanitiser = WholeBatch{}
	}
	t.Sanitiser = t.Sanitiser.WithNoise(sigma)
	return t
}

// Event is what training releases, for dp.Epsilon under the relation of one record more or less.
func (t Training) Event(p synth.Public) (dp.Event, error) {
	if t.Sanitiser == nil || t.Sanitiser.Noise() == 0 {
		return nil, bad("Sanitiser: without noise there is no privacy")
	}
	if _, _, _, err := t.build(p); err != nil {
		return nil, err
	}
	return t.Sanitiser.Event(t.images(), t.Rate, t.Steps), nil
}

func (t Training) images() int { return cmp.Or(t.Images, 50) }

// build checks the settings, and makes the network and the loss for images of that kind.
func (t Training) build(p synth.Public) (net nn.Layer, latent int, loss Loss, err error) {
	if net, latent, err = t.Net.build(p); err != nil {
		return nil, 0, loss, err
	}
	if _, whole := t.Sanitiser.(WholeBatch); t.Parameters && !whole {
		return nil, 0, loss, bad("Parameters: the sanitiser is %v: must be a WholeBatch", t.Sanitiser)
	}
	if t.Images < 0 || t.Steps < 0 {
		return nil, 0, loss, bad("Images = %d, Steps = %d: must not be negative", t.Images, t.Steps)
	}
	loss, err = t.Loss.withDefaults(p.Values(), len(p.Classes))
	return net, latent, loss, check.All(in.Rate(t.Rate), err, t.checkSanitiser())
}

// checkSanitiser refuses bounds and noise that are negative or NaN, with which there would be no
// noise.
func (t Training) checkSanitiser() error {
	if t.Sanitiser == nil {
		return nil
	}
	noise, moved := t.Sanitiser.Noise(), t.Sanitiser.Sensitivity(t.images())
	if !(noise >= 0) || math.IsInf(noise, 0) || !(moved > 0) || math.IsInf(moved, 0) {
		return bad("Sanitiser = %#v: sensitivity %g must be positive and noise %g not negative, both finite",
			t.Sanitiser, moved, noise)
	}
	return nil
}
