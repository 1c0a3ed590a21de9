package hue

import (
	"image/color"
	"math"
	"sort"
	"sync"
)

// A Map sends [0, 1] to colours. Values outside are clipped; NaN is light grey.
type Map func(t float64) color.NRGBA

// Missing is the colour of a value that is not a number.
var Missing = color.NRGBA{R: 0xD0, G: 0xD0, B: 0xD0, A: 255}

// resolution is the number of colours in a tabulated map; more than eight bits of lightness can show.
const resolution = 512

// Viridis runs from dark violet through blue and green to yellow. It suits densities and fields.
func Viridis(t float64) color.NRGBA { return lookup(viridis(), t) }

// Ink runs from the white of the paper through blue to nearly black. It suits plans and counts, where zero is most
// of the picture and should cost no ink.
func Ink(t float64) color.NRGBA { return lookup(ink(), t) }

// Balance runs from blue through near-white at ½ to red. It suits signed quantities on a symmetric range.
func Balance(t float64) color.NRGBA { return lookup(balance(), t) }

// Grey runs from black to white.
func Grey(t float64) color.NRGBA {
	if math.IsNaN(t) {
		return Missing
	}
	y := uint8(math.Round(255 * min(max(t, 0), 1)))
	return color.NRGBA{R: y, G: y, B: y, A: 255}
}

// Reverse is a map travelled backwards.
func Reverse(m Map) Map { return func(t float64) color.NRGBA { return m(1 - t) } }

func lookup(table []color.NRGBA, t float64) color.NRGBA {
	if math.IsNaN(t) {
		return Missing
	}
	return table[int(math.Round(min(max(t, 0), 1)*float64(len(table)-1)))]
}

var viridis = sync.OnceValue(func() []color.NRGBA {
	return ramp(resolution, hexes(0x440154, 0x472D7B, 0x3B528B, 0x2C728E, 0x21918C, 0x28AE80, 0x5EC962, 0xADDC30, 0xFDE725))
})

var ink = sync.OnceValue(func() []color.NRGBA {
	return ramp(resolution, hexes(0xFFFFFF, 0xC9E3F0, 0x7DB8DA, 0x3A80BC, 0x20509A, 0x132A63, 0x0A1030))
})

var balance = sync.OnceValue(func() []color.NRGBA {
	cold := ramp(resolution, hexes(0x0B3C7D, 0x2F74B5, 0x83B6DA, 0xD5E6F0, 0xF7F7F7))
	warm := ramp(resolution, hexes(0x7A1A0B, 0xB5472A, 0xE0947A, 0xF5DCD1, 0xF7F7F7))
	for i := len(warm) - 2; i >= 0; i-- {
		cold = append(cold, warm[i])
	}
	return cold
})

func hexes(hex ...uint32) []vec {
	out := make([]vec, len(hex))
	for i, h := range hex {
		out[i] = oklab(linear(color.NRGBA{R: uint8(h >> 16), G: uint8(h >> 8), B: uint8(h), A: 255}))
	}
	return out
}

// ramp joins OKLab anchors by a Catmull–Rom curve and samples it at n points of equally spaced L*.
func ramp(n int, anchors []vec) []color.NRGBA {
	const fine = 4096
	curve, level := make([]vec, fine+1), make([]float64, fine+1)
	for i := range curve {
		curve[i] = light(catmullRom(anchors, float64(i)/fine))
		level[i] = cielab(curve[i])[0]
	}
	first, last := level[0], level[fine]
	rising := last > first
	out := make([]color.NRGBA, n)
	for i := range out {
		want := first + (last-first)*float64(i)/float64(n-1)
		k := sort.Search(fine, func(k int) bool { return level[k] >= want == rising || level[k] == want })
		out[i] = encode(curve[k])
	}
	return out
}

// catmullRom evaluates the curve through the anchors at t in [0, 1]; the ends continue straight.
func catmullRom(p []vec, t float64) (out vec) {
	s := t * float64(len(p)-1)
	k := min(int(s), len(p)-2)
	u := s - float64(k)
	for i := range out {
		b, c := p[k][i], p[k+1][i]
		a, d := 2*b-c, 2*c-b
		if k > 0 {
			a = p[k-1][i]
		}
		if k+2 < len(p) {
			d = p[k+2][i]
		}
		out[i] = b + u/2*(c-a+u*(2*a-5*b+4*c-d+u*(3*(b-c)+d-a)))
	}
	return out
}
