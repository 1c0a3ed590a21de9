package analytic

import (
	"math"
	"math/rand/v2"

	"github.com/lucasb-eyer/go-colorful"
)

// rgb is a colour in sRGB, each channel in [0, 1].
type rgb [3]float64

// landscape is a picture: pixel (row, column) is at[row·w + column].
type landscape struct {
	w, h int
	at   []rgb
}

// paint fills a picture from a function of x in [0, w/h] and y in [0, 1], y downward.
func paint(w, h int, colour func(x, y float64) rgb) landscape {
	p := landscape{w, h, make([]rgb, w*h)}
	for i := range p.at {
		c := colour((float64(i%w)+0.5)/float64(h), (float64(i/w)+0.5)/float64(h))
		for k, v := range c {
			p.at[i][k] = min(max(v, 0), 1)
		}
	}
	return p
}

// sunset is the sea at dusk: a sky from blue to orange, clouds lit from below, the sun, its glitter on the water, and an
// island.
func sunset(rng *rand.Rand, w, h int) landscape {
	clouds, waves, coast, grain := newNoise(rng), newNoise(rng), newNoise(rng), newNoise(rng)
	const horizon = 0.62
	sunX := 0.62 * float64(w) / float64(h)
	sky := func(x, y float64) rgb {
		c := gradient(y/horizon, rgb{.10, .13, .33}, rgb{.36, .25, .48}, rgb{.83, .41, .36}, rgb{.99, .70, .36})
		d := math.Hypot(x-sunX, (y - horizon + 0.1))
		c = blend(c, rgb{1, .86, .55}, 0.75*math.Exp(-d*d/0.03))
		cover := smooth(0.50, 0.72, clouds.fractal(2.2*x, 7*y))
		c = blend(c, gradient(y/horizon, rgb{.22, .18, .36}, rgb{.62, .32, .42}, rgb{1, .58, .35}), 0.75*cover)
		return blend(c, rgb{1, .95, .78}, smooth(0.062, 0.052, d))
	}
	return paint(w, h, func(x, y float64) rgb {
		var c rgb
		island := horizon - 0.16*max(0, coast.fractal(2.4*x, 0)-0.42)*smooth(0.75, 0.2, x/1.5)*4
		switch {
		case y > horizon:
			depth := (y - horizon) / (1 - horizon)
			wave := waves.fractal(5*x, 26*math.Sqrt(depth))
			c = blend(sky(x, horizon-0.85*(y-horizon)), rgb{.07, .10, .22}, 0.35+0.4*depth)
			glitter := math.Exp(-(x-sunX)*(x-sunX)/(0.006+0.05*depth)) * smooth(0.45, 0.65, wave)
			c = blend(c, rgb{1, .78, .45}, 0.9*glitter)
			c = blend(c, rgb{.05, .06, .15}, 0.5*smooth(0.55, 0.35, wave))
		case y > island:
			c = blend(rgb{.10, .07, .14}, rgb{.30, .17, .22}, coast.fractal(14*x, 14*y))
		default:
			c = sky(x, y)
		}
		return shade(c, 0.96+0.08*grain.fractal(60*x, 60*y))
	})
}

// forest is a lake in the mountains by day: haze, ridges one behind the other, firs, and their reflection.
func forest(rng *rand.Rand, w, h int) landscape {
	ridges, leaves, clouds, water, grain := newNoise(rng), newNoise(rng), newNoise(rng), newNoise(rng), newNoise(rng)
	const shore = 0.74
	scene := func(x, y float64) rgb {
		c := gradient(y/0.5, rgb{.36, .60, .86}, rgb{.62, .79, .93}, rgb{.86, .92, .93})
		c = blend(c, rgb{1, 1, 1}, 0.8*smooth(0.5, 0.75, clouds.fractal(2*x, 5*y)))
		for k := range 4 {
			near := float64(k) / 3
			top := 0.30 + 0.1*float64(k) - (0.22-0.12*near)*(ridges.fractal((1.6+1.2*near)*x+17*float64(k), 3*float64(k))-0.35)
			if k >= 2 { // firs: a comb of narrow peaks
				top -= 0.045 * near * math.Abs(math.Mod(38*x+3*ridges.fractal(9*x, 40), 1)-0.5)
			}
			if y > top {
				leaf := leaves.fractal((12+16*near)*x, (12+16*near)*y)
				c = blend(rgb{.47, .62, .70}, blend(rgb{.05, .20, .09}, rgb{.34, .52, .16}, leaf*leaf*1.6), 0.25+0.75*near)
			}
		}
		return c
	}
	return paint(w, h, func(x, y float64) rgb {
		if y < shore {
			return shade(scene(x, y), 0.95+0.1*grain.fractal(60*x, 60*y))
		}
		depth := (y - shore) / (1 - shore)
		ripple := water.fractal(6*x, 30*depth)
		c := blend(scene(x+0.03*(ripple-0.5), shore-0.9*(y-shore)-0.02*ripple), rgb{.13, .36, .42}, 0.35+0.25*depth)
		return shade(blend(c, rgb{.75, .88, .92}, 0.4*smooth(0.6, 0.8, ripple)), 0.95+0.1*grain.fractal(60*x, 60*y))
	})
}

// noise is smooth value noise on a lattice.
type noise struct {
	lattice [64 * 64]float64
}

func newNoise(rng *rand.Rand) *noise {
	n := new(noise)
	for i := range n.lattice {
		n.lattice[i] = rng.Float64()
	}
	return n
}

// at is the noise at a point, in [0, 1].
func (n *noise) at(x, y float64) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	v := func(dx, dy int) float64 { return n.lattice[((int(fy)+dy)&63)*64+(int(fx)+dx)&63] }
	tx, ty := smooth(0, 1, x-fx), smooth(0, 1, y-fy)
	return (1-ty)*((1-tx)*v(0, 0)+tx*v(1, 0)) + ty*((1-tx)*v(0, 1)+tx*v(1, 1))
}

// fractal adds five octaves, in [0, 1].
func (n *noise) fractal(x, y float64) float64 {
	sum, weight, total := 0.0, 1.0, 0.0
	for range 5 {
		sum += weight * n.at(x, y)
		total += weight
		weight /= 2
		x, y = 2*x+5.3, 2*y+1.7
	}
	return sum / total
}

// smooth rises from 0 at a to 1 at b, or falls where a > b.
func smooth(a, b, x float64) float64 {
	t := min(max((x-a)/(b-a), 0), 1)
	return t * t * (3 - 2*t)
}

func blend(a, b rgb, t float64) rgb {
	for k := range a {
		a[k] += t * (b[k] - a[k])
	}
	return a
}

func shade(c rgb, by float64) rgb {
	for k := range c {
		c[k] *= by
	}
	return c
}

// gradient runs through colours as t goes from 0 to 1.
func gradient(t float64, colours ...rgb) rgb {
	t = min(max(t, 0), 1) * float64(len(colours)-1)
	k := min(int(t), len(colours)-2)
	return blend(colours[k], colours[k+1], t-float64(k))
}

// oklab is a colour in Ottosson's OKLab (2020), in which distances are about those that the eye sees: lightness,
// green–red, blue–yellow.
func (c rgb) oklab() [3]float64 {
	l, a, b := colorful.Color{R: c[0], G: c[1], B: c[2]}.OkLab()
	return [3]float64{l, a, b}
}

// fromOKLab is the inverse of oklab, clipped to what a screen can show.
func fromOKLab(c [3]float64) rgb {
	out := colorful.OkLab(c[0], c[1], c[2]).Clamped()
	return rgb{out.R, out.G, out.B}
}
