package hue

import (
	"image/color"
	"math"
)

// vec is a point of a three-dimensional colour space.
type vec [3]float64

func (m matrix) apply(v vec) (w vec) {
	for i := range m {
		w[i] = m[i][0]*v[0] + m[i][1]*v[1] + m[i][2]*v[2]
	}
	return w
}

type matrix [3]vec

// linear is the light of an sRGB colour, each primary in [0, 1].
func linear(c color.Color) vec {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	var v vec
	for i, u := range [3]uint8{n.R, n.G, n.B} {
		s := float64(u) / 255
		if s <= 0.04045 {
			v[i] = s / 12.92
		} else {
			v[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return v
}

// encode is the sRGB colour nearest to linear light, clipped to the gamut.
func encode(v vec) color.NRGBA {
	var u [3]uint8
	for i, x := range v {
		x = min(max(x, 0), 1)
		if x <= 0.0031308 {
			x *= 12.92
		} else {
			x = 1.055*math.Pow(x, 1/2.4) - 0.055
		}
		u[i] = uint8(math.Round(255 * x))
	}
	return color.NRGBA{R: u[0], G: u[1], B: u[2], A: 255}
}

// Ottosson's matrices: linear sRGB to cone responses, their cube roots to OKLab, and the inverses.
var (
	toLMS = matrix{
		{0.4122214708, 0.5363325363, 0.0514459929},
		{0.2119034982, 0.6806995451, 0.1073969566},
		{0.0883024619, 0.2817188376, 0.6299787005},
	}
	toLab = matrix{
		{0.2104542553, 0.7936177850, -0.0040720468},
		{1.9779984951, -2.4285922050, 0.4505937099},
		{0.0259040371, 0.7827717662, -0.8086757660},
	}
	fromLab = matrix{
		{1, 0.3963377774, 0.2158037573},
		{1, -0.1055613458, -0.0638541728},
		{1, -0.0894841775, -1.2914855480},
	}
	fromLMS = matrix{
		{4.0767416621, -3.3077115913, 0.2309699292},
		{-1.2684380046, 2.6097574011, -0.3413193965},
		{-0.0041960863, -0.7034186147, 1.7076147010},
	}
)

// oklab is the OKLab colour of linear light.
func oklab(v vec) vec {
	v = toLMS.apply(v)
	for i := range v {
		v[i] = math.Cbrt(v[i])
	}
	return toLab.apply(v)
}

// light is the linear light of an OKLab colour; it may lie outside the gamut.
func light(v vec) vec {
	v = fromLab.apply(v)
	for i := range v {
		v[i] *= v[i] * v[i]
	}
	return fromLMS.apply(v)
}

// cielab is the CIE L*a*b* colour (D65) of linear light.
func cielab(v vec) vec {
	xyz := matrix{
		{0.4124564, 0.3575761, 0.1804375},
		{0.2126729, 0.7151522, 0.0721750},
		{0.0193339, 0.1191920, 0.9503041},
	}.apply(v)
	white := vec{0.95047, 1, 1.08883}
	for i := range xyz {
		const d = 6. / 29
		if t := xyz[i] / white[i]; t > d*d*d {
			xyz[i] = math.Cbrt(t)
		} else {
			xyz[i] = t/(3*d*d) + 4./29
		}
	}
	return vec{116*xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])}
}

// Lightness is the CIE lightness L* of a colour, 0 for black and 100 for white.
func Lightness(c color.Color) float64 { return cielab(linear(c))[0] }

// Contrast is the WCAG 2 contrast ratio of two colours, from 1 (none) to 21 (black on white).
func Contrast(a, b color.Color) float64 {
	luminance := func(c color.Color) float64 {
		v := linear(c)
		return 0.2126*v[0] + 0.7152*v[1] + 0.0722*v[2]
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
