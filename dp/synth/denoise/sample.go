package denoise

import (
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/lab/device"
	"coupling/lab/nn"

	"gonum.org/v1/gonum/mat"
)

// Generator is a trained denoiser: post-processing of what training released.
type Generator struct {
	*denoiser
	dev   *device.Device
	names []string
	shape [3]int
}

// Params returns the weights.
func (g *Generator) Params() []*nn.Param { return g.net.Params() }

// Free frees the weights.
func (g *Generator) Free() { nn.Free(g.net.Params()) }

// together is how many images are drawn at a time.
const together = 1000

// Sample draws n images with values in [0, 1], the classes in turn. It costs 2·Draw passes of the network for each.
func (g *Generator) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	if n < 1 {
		return nil, bad("n = %d: must be at least 1", n)
	}
	out, err := data.New(n, g.shape[0], g.shape[1], g.shape[2])
	if err != nil {
		return nil, err
	}
	out.Name, out.Classes, out.Labels = "dp-sgd", g.names, make([]int, n)
	for i := range out.Labels {
		out.Labels[i] = i % g.classes
	}
	for from := 0; from < n; from += together {
		labels := out.Labels[from:min(from+together, n)]
		x, err := g.flow(rng, labels)
		if err != nil {
			return nil, err
		}
		pixels := out.Pixels()[from*out.Dim():]
		for i, v := range g.basis.Decode(mat.NewDense(len(labels), len(g.spread), x)).RawMatrix().Data {
			pixels[i] = float32(min(max(v, 0), 1))
		}
	}
	return out, nil
}

// bent bends the noise levels of the steps: their cube roots are at equal distances.
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
