package hue

import (
	"image/color"
	"math"
	"testing"

	"github.com/lucasb-eyer/go-colorful"
)

// vision is a kind of colour vision: the light that a reader sees of linear light (Machado et al. 2009, severity 1).
type vision [3][3]float64

var (
	normal = vision{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	protan = vision{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}
	deutan = vision{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}
	tritan = vision{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}
)

// seen returns a colour as it appears to a reader.
func (v vision) seen(c color.Color) colorful.Color {
	of, _ := colorful.MakeColor(c)
	r, g, b := of.LinearRgb()
	at := func(i int) float64 { return v[i][0]*r + v[i][1]*g + v[i][2]*b }
	return colorful.LinearRgb(max(at(0), 0), max(at(1), 0), max(at(2), 0)).Clamped()
}

// distance is the CIEDE2000 difference of two colours to a reader: about 1 is just noticeable side
// by side, 10 is plain at a glance.
func distance(v vision, a, b color.Color) float64 {
	return 100 * v.seen(a).DistanceCIEDE2000(v.seen(b))
}

// lightness is L*, 0 for black and 100 for white.
func lightness(c color.Color) float64 {
	l, _, _ := normal.seen(c).Lab()
	return 100 * l
}

// TestPalette: the first k colours are at least so far apart (CIEDE2000) for normal, protan and deutan readers, and
// stand out from white paper. The distances are those of the palette, rounded down; 10 is plain at a glance.
func TestPalette(t *testing.T) {
	least := []float64{2: 49, 3: 28, 4: 20, 5: 16, 6: 12, 7: 12}
	for k := 2; k < len(least); k++ {
		got := math.Inf(1)
		for _, v := range []vision{normal, protan, deutan} {
			for i := range k {
				for j := range i {
					got = min(got, distance(v, Categorical(i), Categorical(j)))
				}
			}
		}
		t.Logf("first %d colours: least distance %.1f", k, got)
		if got < least[k] {
			t.Errorf("the first %d colours are %.1f apart, want %.0f", k, got, least[k])
		}
	}
	for k := range 7 {
		// WCAG asks 3:1 of graphics; two of the colours have 2.2, which lines of 1.2 pt with glyphs make up for.
		_, y, _ := normal.seen(Categorical(k)).Xyz()
		if c := 1.05 / (y + 0.05); c < 2.2 {
			t.Errorf("colour %d has contrast %.2f with white, want 2.2", k, c)
		}
	}
	if Categorical(7) != Categorical(0) {
		t.Error("the palette does not repeat after seven colours")
	}
}

// TestSimulate: greys look the same to all, and red and green come closer for red-green blind readers.
func TestSimulate(t *testing.T) {
	red, green, grey := rgb(0xC83C3C), rgb(0x6E8228), rgb(0x808080)
	for _, v := range []vision{protan, deutan, tritan} {
		// the matrices' rows add up to 1 within 10⁻⁶; the rest is rounding
		if d := 100 * v.seen(grey).DistanceCIEDE2000(normal.seen(grey)); d > 0.5 {
			t.Errorf("grey moves by %.2f under vision %v", d, v)
		}
	}
	for _, v := range []vision{protan, deutan} {
		if a, b := distance(normal, red, green), distance(v, red, green); b > 0.6*a {
			t.Errorf("vision %v: red and green are %.1f apart, normally %.1f", v, b, a)
		}
	}
}

// TestSequential: lightness runs evenly from end to end, so that order survives in grey, and no step is much larger
// to the eye than another.
func TestSequential(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Map
		// ratio bounds the largest over the smallest distance of 64 equal steps: 2.5 and 1.8 here, of which rounding to
		// eight bits makes about a third.
		ratio float64
	}{{"Viridis", Viridis, 2.8}, {"Ink", Ink, 2.2}} {
		const n = 64
		first, last := lightness(c.m(0)), lightness(c.m(1))
		least, most := math.Inf(1), 0.0
		for i := 1; i <= n; i++ {
			a, b := c.m(float64(i-1)/n), c.m(float64(i)/n)
			if (lightness(b)-lightness(a))*(last-first) <= 0 {
				t.Errorf("%s: lightness is not monotone at step %d", c.name, i)
			}
			// Eight bits resolve L* to about 0.4.
			if want := first + (last-first)*float64(i)/n; math.Abs(lightness(b)-want) > 0.6 {
				t.Errorf("%s(%d/%d) has L* = %.2f, want %.2f", c.name, i, n, lightness(b), want)
			}
			d := distance(normal, a, b)
			least, most = min(least, d), max(most, d)
		}
		t.Logf("%s: L* %.1f to %.1f, steps of ΔE %.2f to %.2f", c.name, first, last, least, most)
		if most > c.ratio*least {
			t.Errorf("%s: steps between %.2f and %.2f, ratio over %.1f", c.name, least, most, c.ratio)
		}
		if math.Abs(last-first) < 70 {
			t.Errorf("%s spans only %.0f of lightness", c.name, last-first)
		}
	}
}

// TestViridis compares with the published table at its ends and quarters.
func TestViridis(t *testing.T) {
	for at, want := range map[float64]color.NRGBA{
		0: rgb(0x440154), 0.25: rgb(0x3B528B), 0.5: rgb(0x21918C), 0.75: rgb(0x5EC962), 1: rgb(0xFDE725),
	} {
		// Ours moves at constant speed of L*, the original at constant speed of CAM02's J'; they stay this close.
		if d := distance(normal, Viridis(at), want); d > 4 {
			t.Errorf("Viridis(%g) = %v is %.1f from %v", at, Viridis(at), d, want)
		}
	}
}

func TestMapEdges(t *testing.T) {
	for name, m := range map[string]Map{"Viridis": Viridis, "Ink": Ink} {
		if m(-1) != m(0) || m(2) != m(1) || m(math.Inf(1)) != m(1) || m(math.Inf(-1)) != m(0) {
			t.Errorf("%s does not clip", name)
		}
		if m(math.NaN()) != Missing {
			t.Errorf("%s(NaN) = %v, want %v", name, m(math.NaN()), Missing)
		}
	}
	if Ink(0) != rgb(0xFFFFFF) {
		t.Errorf("Ink(0) = %v, want the white of paper", Ink(0))
	}
}
