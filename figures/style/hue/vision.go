package hue

import (
	"image/color"
	"math"
)

// Vision is a kind of colour vision.
type Vision int

// The kinds of colour vision: normal, and without one of the three cones.
const (
	Normal Vision = iota
	Protan
	Deutan
	Tritan
)

// Simulate returns a colour as it appears to a reader with the given vision (Machado et al. 2009, severity 1).
func Simulate(c color.Color, v Vision) color.NRGBA {
	m := matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	switch v {
	case Protan:
		m = matrix{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}
	case Deutan:
		m = matrix{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}
	case Tritan:
		m = matrix{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}
	}
	return encode(m.apply(linear(c)))
}

// Distance is the CIEDE2000 difference of two colours: about 1 is just noticeable side by side, 10 is plain at a
// glance.
func Distance(a, b color.Color) float64 { return ciede2000(cielab(linear(a)), cielab(linear(b))) }

// ciede2000 follows the notation of Sharma et al. 2005, equations 2–22, with unit weights.
func ciede2000(p, q vec) float64 {
	const deg = math.Pi / 180
	c7 := math.Pow((math.Hypot(p[1], p[2])+math.Hypot(q[1], q[2]))/2, 7)
	g := 0.5 * (1 - math.Sqrt(c7/(c7+6103515625))) // 25⁷
	polar := func(v vec) (chroma, hue float64) {
		a := (1 + g) * v[1]
		hue = math.Atan2(v[2], a) / deg
		if hue < 0 {
			hue += 360
		}
		return math.Hypot(a, v[2]), hue
	}
	c1, h1 := polar(p)
	c2, h2 := polar(q)

	dh, mean := h2-h1, (h1+h2)/2
	switch {
	case c1*c2 == 0:
		dh, mean = 0, h1+h2
	case dh > 180:
		dh -= 360
	case dh < -180:
		dh += 360
	}
	if c1*c2 != 0 && math.Abs(h1-h2) > 180 {
		if mean < 180 {
			mean += 180
		} else {
			mean -= 180
		}
	}
	l, c := (p[0]+q[0])/2, (c1+c2)/2
	t := 1 - 0.17*math.Cos((mean-30)*deg) + 0.24*math.Cos(2*mean*deg) + 0.32*math.Cos((3*mean+6)*deg) - 0.20*math.Cos((4*mean-63)*deg)
	sl := 1 + 0.015*(l-50)*(l-50)/math.Sqrt(20+(l-50)*(l-50))
	sc, sh := 1+0.045*c, 1+0.015*c*t
	c7 = math.Pow(c, 7)
	turn := -math.Sin(60*deg*math.Exp(-math.Pow((mean-275)/25, 2))) * 2 * math.Sqrt(c7/(c7+6103515625))
	x, y, z := (q[0]-p[0])/sl, (c2-c1)/sc, 2*math.Sqrt(c1*c2)*math.Sin(dh/2*deg)/sh
	return math.Sqrt(x*x + y*y + z*z + turn*y*z)
}
