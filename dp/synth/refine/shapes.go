package refine

import (
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp/synth"
)

// shapes draws images of overlapping ellipses and boxes of random places, sizes and colours. They
// do not depend on private images, nor on their own labels, which are the classes in turn. The
// numbers, in units of an image's side and of the range of values, are rough ones of photographs in
// general, and were not tuned.
type shapes struct{ public synth.Public }

// fine is the number of points in each direction over which a pixel is averaged.
const fine = 2

// Sample draws n images.
func (s shapes) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	return synth.Draw(s.public, "shapes", n, 0, func(labels []int) (values []float64, err error) {
		for range labels {
			values = append(values, s.draw(rng)...)
		}
		return values, nil
	})
}

// draw returns the values of an image: a ground, in every second image another one below a line, shapes, and noise.
func (s shapes) draw(rng *rand.Rand) []float64 {
	p := &painter{rng: rng, channels: s.public.Channels, height: fine * s.public.Height, width: fine * s.public.Width}
	p.values = make([]float64, p.channels*p.height*p.width)
	p.mean = p.colour(.13)
	for k := range p.mean {
		p.mean[k] += .47
	}
	p.paint(func(_, _ float64) bool { return true })
	if rng.IntN(2) == 0 {
		level, slope := rng.Float64()-.5, .2*rng.NormFloat64()
		p.paint(func(x, y float64) bool { return y > level+slope*x })
	}
	for range 3 + rng.IntN(25) {
		p.paint(p.shape())
	}
	return p.pixels(.06 * rng.Float64())
}

// painter draws into an image of fine times as many points in each direction as it has pixels.
type painter struct {
	rng                     *rand.Rand
	channels, height, width int
	values, mean            []float64
}

// colour is a Gaussian value of each channel, most of which all channels share.
func (p *painter) colour(spread float64) []float64 {
	out, shared := make([]float64, p.channels), p.rng.NormFloat64()
	for k := range out {
		out[k] = spread * (.9*shared + .45*p.rng.NormFloat64())
	}
	return out
}

// shape is a turned ellipse or box, small ones more often than large ones.
func (p *painter) shape() (inside func(x, y float64) bool) {
	rng := p.rng
	radius := min(.04*math.Pow(rng.Float64(), -.7), .6)
	cx, cy := rng.Float64()-.5, rng.Float64()-.5
	sin, cos := math.Sincos(2 * math.Pi * rng.Float64())
	wide, box := math.Exp(.6*rng.NormFloat64()), rng.IntN(2) == 0
	return func(x, y float64) bool {
		u, v := (cos*(x-cx)+sin*(y-cy))/wide, (cos*(y-cy)-sin*(x-cx))*wide
		if box {
			return max(math.Abs(u), math.Abs(v)) < .9*radius
		}
		return u*u+v*v < radius*radius
	}
}

// paint fills the points inside with a colour that changes slowly; x and y are in [−½, ½).
func (p *painter) paint(inside func(x, y float64) bool) {
	colour, dx, dy := p.colour(.22), .15*p.rng.NormFloat64(), .15*p.rng.NormFloat64()
	for i := range p.height {
		for j := range p.width {
			x, y := float64(j)/float64(p.width)-.5, float64(i)/float64(p.height)-.5
			if !inside(x, y) {
				continue
			}
			for k, v := range colour {
				p.values[(k*p.height+i)*p.width+j] = p.mean[k] + v + dx*x + dy*y
			}
		}
	}
}

// pixels are means over points, with noise.
func (p *painter) pixels(noise float64) []float64 {
	out := make([]float64, len(p.values)/fine/fine)
	for i, v := range p.values {
		row, column := i/p.width, i%p.width
		out[row/fine*(p.width/fine)+column/fine] += v / (fine * fine)
	}
	for i := range out {
		out[i] += noise * p.rng.NormFloat64()
	}
	return out
}
