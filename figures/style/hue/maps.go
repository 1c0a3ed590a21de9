package hue

import (
	"image/color"
	"math"
	"sort"
	"sync"

	"github.com/lucasb-eyer/go-colorful"
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

func lookup(table []color.NRGBA, t float64) color.NRGBA {
	if math.IsNaN(t) {
		return Missing
	}
	return table[int(math.Round(min(max(t, 0), 1)*float64(len(table)-1)))]
}

var (
	viridis = ramp(0x440154, 0x472D7B, 0x3B528B, 0x2C728E, 0x21918C, 0x28AE80, 0x5EC962, 0xADDC30, 0xFDE725)
	ink     = ramp(0xFFFFFF, 0xC9E3F0, 0x7DB8DA, 0x3A80BC, 0x20509A, 0x132A63, 0x0A1030)
)

// ramp joins anchors by straight lines in OKLab and samples them at points of equally spaced lightness.
func ramp(anchors ...uint32) func() []color.NRGBA {
	return sync.OnceValue(func() []color.NRGBA {
		const fine = 4096
		curve, level := make([]colorful.Color, fine+1), make([]float64, fine+1)
		for i := range curve {
			at := float64(i) / fine * float64(len(anchors)-1)
			k := min(int(at), len(anchors)-2)
			a, _ := colorful.MakeColor(rgb(anchors[k]))
			b, _ := colorful.MakeColor(rgb(anchors[k+1]))
			curve[i] = a.BlendOkLab(b, at-float64(k)).Clamped()
			level[i], _, _ = curve[i].Lab()
		}
		out := make([]color.NRGBA, resolution)
		for i := range out {
			want := level[0] + (level[fine]-level[0])*float64(i)/(resolution-1)
			k := sort.Search(fine,
				func(k int) bool { return (level[k] >= want) == (level[fine] > level[0]) || level[k] == want })
			r, g, b := curve[k].RGB255()
			out[i] = color.NRGBA{R: r, G: g, B: b, A: 255}
		}
		return out
	})
}

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255}
}

// Categorical returns the colour of the k-th of several series, k ≥ 0. There are seven; they repeat.
func Categorical(k int) color.NRGBA {
	hex := [...]uint32{0x0072B2, 0xD55E00, 0x333333, 0x56B4E9, 0x009E73, 0xCC79A7, 0xE69F00}
	return rgb(hex[k%len(hex)])
}
