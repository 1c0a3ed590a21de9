package hue

import (
	"fmt"
	"image/color"
	"math"
	"testing"
)

// TestDistanceReference checks CIEDE2000 against pairs of the table of Sharma, Wu and Dalal (2005), which probes its
// branches, to the table's four decimals.
func TestDistanceReference(t *testing.T) {
	for _, c := range []struct {
		a, b vec
		want float64
	}{
		{vec{50, 2.6772, -79.7751}, vec{50, 0, -82.7485}, 2.0425},
		{vec{50, 3.1571, -77.2803}, vec{50, 0, -82.7485}, 2.8615},
		{vec{50, 0, 0}, vec{50, -1, 2}, 2.3669},
		{vec{50, 2.49, -0.001}, vec{50, -2.49, 0.0009}, 7.1792},
		{vec{50, 2.5, 0}, vec{73, 25, -18}, 27.1492},
		{vec{60.2574, -34.0099, 36.2677}, vec{60.4626, -34.1751, 39.4387}, 1.2644},
		{vec{2.0776, 0.0795, -1.1350}, vec{0.9033, -0.0636, -0.5514}, 0.9082},
	} {
		if got := ciede2000(c.a, c.b); math.Abs(got-c.want) > 5e-5 {
			t.Errorf("ΔE(%v, %v) = %.4f, want %.4f", c.a, c.b, got, c.want)
		}
		if got := ciede2000(c.b, c.a); math.Abs(got-c.want) > 5e-5 {
			t.Errorf("ΔE is not symmetric: %.4f, want %.4f", got, c.want)
		}
	}
}

// TestPalette: the first k colours are at least so far apart (CIEDE2000) for normal, protan and deutan readers, and
// stand out from white paper. The distances are those of the palette, rounded down; 10 is plain at a glance.
func TestPalette(t *testing.T) {
	least := []float64{2: 49, 3: 28, 4: 20, 5: 16, 6: 12, 7: 12}
	for k := 2; k < len(least); k++ {
		got := math.Inf(1)
		for _, v := range []Vision{Normal, Protan, Deutan} {
			for i := range k {
				for j := range i {
					got = min(got, Distance(Simulate(Categorical(i), v), Simulate(Categorical(j), v)))
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
		if c := Contrast(Categorical(k), color.White); c < 2.2 {
			t.Errorf("colour %d has contrast %.2f with white, want 2.2", k, c)
		}
	}
	if Categorical(7) != Categorical(0) {
		t.Error("the palette does not repeat after seven colours")
	}
}

// TestSimulate: greys look the same to all, and red and green come closer for red-green blind readers.
func TestSimulate(t *testing.T) {
	red, green := color.NRGBA{R: 200, G: 60, B: 60, A: 255}, color.NRGBA{R: 110, G: 130, B: 40, A: 255}
	for _, v := range []Vision{Protan, Deutan, Tritan} {
		grey := color.NRGBA{R: 128, G: 128, B: 128, A: 255}
		if d := Distance(Simulate(grey, v), grey); d > 0.5 { // the matrices' rows add up to 1 within 10⁻⁶; the rest is rounding
			t.Errorf("grey moves by %.2f under vision %d", d, v)
		}
	}
	for _, v := range []Vision{Protan, Deutan} {
		if a, b := Distance(red, green), Distance(Simulate(red, v), Simulate(green, v)); b > 0.6*a {
			t.Errorf("vision %d: red and green are %.1f apart, normally %.1f", v, b, a)
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
		first, last := Lightness(c.m(0)), Lightness(c.m(1))
		least, most := math.Inf(1), 0.0
		for i := 1; i <= n; i++ {
			a, b := c.m(float64(i-1)/n), c.m(float64(i)/n)
			if (Lightness(b)-Lightness(a))*(last-first) <= 0 {
				t.Errorf("%s: lightness is not monotone at step %d", c.name, i)
			}
			// Eight bits resolve L* to about 0.4.
			if want := first + (last-first)*float64(i)/n; math.Abs(Lightness(b)-want) > 0.6 {
				t.Errorf("%s(%d/%d) has L* = %.2f, want %.2f", c.name, i, n, Lightness(b), want)
			}
			d := Distance(a, b)
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

// TestBalance: both arms darken alike, the middle is nearly white, and the arms differ for every reader.
func TestBalance(t *testing.T) {
	if l := Lightness(Balance(0.5)); l < 95 {
		t.Errorf("the middle has L* = %.1f, want 95", l)
	}
	for i := 1; i <= 32; i++ {
		d := float64(i) / 64
		cold, warm := Balance(0.5-d), Balance(0.5+d)
		if diff := math.Abs(Lightness(cold) - Lightness(warm)); diff > 3 {
			t.Errorf("at ±%.2f the arms differ by %.1f in lightness", d, diff)
		}
		if d < 0.25 {
			continue
		}
		for _, v := range []Vision{Normal, Protan, Deutan, Tritan} {
			if e := Distance(Simulate(cold, v), Simulate(warm, v)); e < 15 {
				t.Errorf("at ±%.2f the arms are %.1f apart under vision %d, want 15", d, e, v)
			}
		}
	}
}

// TestViridis compares with the published table at its ends and quarters.
func TestViridis(t *testing.T) {
	for at, want := range map[float64]color.NRGBA{
		0: {R: 0x44, G: 0x01, B: 0x54, A: 255}, 0.25: {R: 0x3B, G: 0x52, B: 0x8B, A: 255},
		0.5: {R: 0x21, G: 0x91, B: 0x8C, A: 255}, 0.75: {R: 0x5E, G: 0xC9, B: 0x62, A: 255}, 1: {R: 0xFD, G: 0xE7, B: 0x25, A: 255},
	} {
		// Ours moves at constant speed of L*, the original at constant speed of CAM02's J'; they stay this close.
		if d := Distance(Viridis(at), want); d > 4 {
			t.Errorf("Viridis(%g) = %v is %.1f from %v", at, Viridis(at), d, want)
		}
	}
}

func TestMapEdges(t *testing.T) {
	for name, m := range map[string]Map{"Viridis": Viridis, "Ink": Ink, "Balance": Balance, "Grey": Grey} {
		if m(-1) != m(0) || m(2) != m(1) || m(math.Inf(1)) != m(1) || m(math.Inf(-1)) != m(0) {
			t.Errorf("%s does not clip", name)
		}
		if m(math.NaN()) != Missing {
			t.Errorf("%s(NaN) = %v, want %v", name, m(math.NaN()), Missing)
		}
		if Reverse(m)(0) != m(1) || Reverse(m)(math.NaN()) != Missing {
			t.Errorf("%s does not reverse", name)
		}
	}
	if Ink(0) != (color.NRGBA{R: 255, G: 255, B: 255, A: 255}) {
		t.Errorf("Ink(0) = %v, want the white of paper", Ink(0))
	}
}

func TestContrast(t *testing.T) {
	if c := Contrast(color.Black, color.White); math.Abs(c-21) > 1e-9 {
		t.Errorf("black on white has contrast %g, want 21 (WCAG 2)", c)
	}
	if l := Lightness(color.White); math.Abs(l-100) > 1e-3 { // the matrix is given to seven digits
		t.Errorf("white has L* = %g, want 100", l)
	}
}

func ExampleDistance() {
	blue, vermillion := Categorical(0), Categorical(1)
	fmt.Println(Distance(Simulate(blue, Deutan), Simulate(vermillion, Deutan)) > 40)
	// Output: true
}
