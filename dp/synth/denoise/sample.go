package denoise

import (
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/lab/device"

	"gonum.org/v1/gonum/mat"
)

// Generator is a trained denoiser: post-processing of what training released.
type Generator struct {
	*denoiser
	dev *device.Device
}

// together is the number of images drawn at a time.
const together = 1000

// Sample draws n images with values in [0, 1], the classes in turn. It costs 2·Draw passes of the network for each.
func (g *Generator) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	return g.public.Draw("dp-sgd", n, min(max(n, 1), together), func(labels []int) ([]float32, error) {
		x, err := g.flow(rng, labels)
		if err != nil {
			return nil, err
		}
		var pixels []float32
		for _, v := range g.basis.Decode(mat.NewDense(len(labels), len(g.spread), x)).RawMatrix().Data {
			pixels = append(pixels, float32(v))
		}
		return pixels, nil
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
