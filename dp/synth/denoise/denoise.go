package denoise

import (
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp/synth"
	"coupling/dp/synth/semidual"
	"coupling/lab/device"
	"coupling/lab/nn"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/logspace"
)

// denoiser is D: the network F with its skip and output scaling.
type denoiser struct {
	Config
	public synth.Public
	basis  *semidual.Basis
	spread []float64 // d_k, of all channels
	net    nn.Layer
}

func newDenoiser(c Config, p synth.Public) *denoiser {
	d := &denoiser{Config: c, public: p, basis: &semidual.Basis{C: p.Channels, H: p.Height, W: p.Width, Size: c.Basis}}
	frequencies := d.basis.Frequencies()
	for range p.Channels {
		for _, f := range frequencies {
			r := math.Hypot(float64(f[0]), float64(f[1])) / c.Bend
			d.spread = append(d.spread, c.Prior/(1+r*r))
		}
	}
	body := nn.Seq(&nn.Dense{In: d.width(), Out: c.Hidden}, nn.SiLU(),
		&nn.Dense{In: c.Hidden, Out: c.Hidden}, nn.SiLU())
	// The last layer also gets the input, so that functions linear in it, such as the mean of a
	// class, are learnt at once.
	d.net = nn.Seq(&nn.Concat{Branches: []nn.Layer{nil, body}}, &nn.Dense{In: d.width() + c.Hidden, Out: len(d.spread)})
	return d
}

// times is the number of features of a noise level.
const times = 5

// width is that of the network's input: coefficients, the label as onehot, and features of the noise level.
func (d *denoiser) width() int { return len(d.spread) + len(d.public.Classes) + times }

// input fills a row of the network's input for noisy coefficients at noise level s.
func (d *denoiser) input(row []float32, noisy []float64, s float64, label int) {
	k := len(d.spread)
	for j, v := range noisy {
		row[j] = float32(v / math.Hypot(s, d.spread[j]))
	}
	clear(row[k:])
	row[k+label] = 1
	t := logspace.Log(s)
	for j, v := range [times]float64{t / 2, math.Sin(t), math.Cos(t), math.Sin(2 * t), math.Cos(2 * t)} {
		row[k+len(d.public.Classes)+j] = float32(v)
	}
}

// around is skip and out of coefficient k.
func (d *denoiser) around(k int, s float64) (skip, out float64) {
	v, r := d.spread[k], math.Hypot(s, d.spread[k])
	return v / r * v / r, s * v / r
}

// apply sets to to D(x, s), rows of coefficients.
func (d *denoiser) apply(dev *device.Device, to, x []float64, s float64, labels []int) error {
	defer dev.Scope().Close()
	k, w := len(d.spread), d.width()
	in := make([]float32, len(labels)*w)
	for i, l := range labels {
		d.input(in[i*w:(i+1)*w], x[i*k:(i+1)*k], s, l)
	}
	f, err := d.net.Forward(&nn.Pass{ForwardOnly: true}, dev.From32(in, len(labels), w)).Float64s()
	if err != nil {
		return err
	}
	for j := range k {
		skip, out := d.around(j, s)
		for i := j; i < len(x); i += k {
			to[i] = skip*x[i] + out*f[i]
		}
	}
	return nil
}

// Generator is a trained denoiser: post-processing of what training released.
type Generator struct {
	*denoiser
	dev *device.Device
}

// Sample draws n images with values in [0, 1], the classes in turn. It costs 2·Draw passes of the network for each.
func (g *Generator) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	return synth.Draw(g.public, "dp-sgd", n, 0, func(labels []int) ([]float64, error) {
		x, err := g.flow(rng, labels)
		if err != nil {
			return nil, err
		}
		return g.basis.Decode(mat.NewDense(len(labels), len(g.spread), x)).RawMatrix().Data, nil
	})
}

// bent is the exponent of the noise levels of the steps: their cube roots are equally spaced.
const bent = 3

// flow draws coefficients: Heun's rule from noise down to Least, and D there.
func (g *Generator) flow(rng *rand.Rand, labels []int) ([]float64, error) {
	k := len(g.spread)
	x := make([]float64, len(labels)*k)
	for i := range x {
		x[i] = math.Hypot(g.Most, g.spread[i%k]) * rng.NormFloat64()
	}
	first, second, ahead := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	top, bottom := math.Pow(g.Most, 1./bent), math.Pow(g.Least, 1./bent)
	level := func(j int) float64 { return math.Pow(top+(bottom-top)*float64(j)/float64(g.Draw), bent) }
	for j := range g.Draw {
		s, next := level(j), level(j+1)
		if err := g.apply(g.dev, first, x, s, labels); err != nil {
			return nil, err
		}
		for i, v := range x {
			ahead[i] = v + (next-s)*(v-first[i])/s
		}
		if err := g.apply(g.dev, second, ahead, next, labels); err != nil {
			return nil, err
		}
		for i, v := range x {
			x[i] += (next - s) / 2 * ((v-first[i])/s + (ahead[i]-second[i])/next)
		}
	}
	return x, g.apply(g.dev, x, x, level(g.Draw), labels)
}
