package raster_test

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"pgregory.net/rapid"

	"coupling/figures/style/raster"
	_ "coupling/lab/draws"
)

// brute integrates the matrix over each bin on the finest common grid.
func brute(m mat.Matrix, w, h int) []float64 {
	r, c := m.Dims()
	out := make([]float64, w*h)
	for k := range out {
		x0, y0 := k%w*c, k/w*r
		sum, n := 0.0, 0
		for y := y0; y < y0+r; y++ {
			for x := x0; x < x0+c; x++ {
				if v := m.At(y/h, x/w); v-v == 0 {
					sum, n = sum+v, n+1
				}
			}
		}
		out[k] = sum / float64(n)
	}
	return out
}

// TestResample compares with brute force for up- and downsampling, with cells missing.
func TestResample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9)
		r, c, w, h := size.Draw(t, "r"), size.Draw(t, "c"), size.Draw(t, "w"), size.Draw(t, "h")
		m := mat.NewDense(r, c, nil)
		value := rapid.SampledFrom([]float64{0, 1, -2, 3.5, 1e6, math.NaN(), math.Inf(1)})
		for i := range r * c {
			m.Set(i/c, i%c, value.Draw(t, "value"))
		}
		got, want := raster.Resample(m, w, h), brute(m, w, h)
		for k := range want {
			// Sums of at most 81·81 terms in another order: 10⁶·10⁴ units in the last place at worst.
			if same := math.Abs(got[k]-want[k]) <= 1e-9*(1+math.Abs(want[k])) ||
				(math.IsNaN(got[k]) && math.IsNaN(want[k])); !same {
				t.Fatalf("bin %d: %g, want %g", k, got[k], want[k])
			}
		}
	})
}

// TestMass: averaging keeps the mass of the matrix.
func TestMass(t *testing.T) {
	const n = 613
	m := mat.NewDense(n, n, nil)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n * n {
		m.Set(i/n, i%n, r.ExpFloat64())
	}
	const w, h = 101, 57
	var sum float64
	for _, v := range raster.Resample(m, w, h) {
		sum += v
	}
	if got, want := sum/(w*h), mat.Sum(m)/(n*n); math.Abs(got-want) > 1e-12 {
		t.Errorf("mean %v after resampling, want %v", got, want)
	}
}

// TestRowWithoutRaw: a matrix that hides its rows, as a transpose does, is read element by element.
func TestRowWithoutRaw(t *testing.T) {
	m := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	got := raster.Resample(m.T(), 2, 3)
	if diff := cmp.Diff([]float64{1, 4, 2, 5, 3, 6}, got); diff != "" {
		t.Errorf("transpose (−want +got):\n%s", diff)
	}
}

func TestBins(t *testing.T) {
	for _, c := range []struct {
		n, dots int
		bitmap  bool
		want    int
	}{
		{1000, 400, true, 400}, // more cells than dots
		{1000, 400, false, 400},
		{300, 400, true, 400}, // cells of 1⅓ dots: resampled
		{300, 400, false, 300},
		{10, 400, true, 10}, // large cells are repeated
	} {
		if got := raster.Bins(c.n, c.dots, c.bitmap); got != c.want {
			t.Errorf("Bins(%d, %d, %t) = %d, want %d", c.n, c.dots, c.bitmap, got, c.want)
		}
	}
}

// TestDrawOnDots: on a bitmap each pixel of the image becomes whole dots of exactly its colour.
func TestDrawOnDots(t *testing.T) {
	c := vgimg.NewWith(vgimg.UseWH(72, 72), vgimg.UseDPI(72)) // one dot a point
	img := image.NewRGBA(image.Rect(0, 0, 3, 2))
	for i := range 6 {
		img.Set(i%3, i/3, color.NRGBA{R: uint8(40 * i), G: 7, B: 200, A: 255})
	}
	raster.Draw(c, vg.Rectangle{Min: vg.Point{X: 10, Y: 20}, Max: vg.Point{X: 40, Y: 40}}, img)
	for y := range 72 {
		for x := range 72 {
			want := color.Color(color.White)
			if x >= 10 && x < 40 && y >= 32 && y < 52 {
				want = img.At((x-10)/10, (y-32)/10)
			}
			r, g, b, _ := c.Image().At(x, y).RGBA()
			wr, wg, wb, _ := want.RGBA()
			if r != wr || g != wg || b != wb {
				t.Fatalf("dot (%d, %d) is %v, want %v", x, y, c.Image().At(x, y), want)
			}
		}
	}
}

func ExampleResample() {
	m := mat.NewDense(2, 4, []float64{
		1, 1, 0, 0,
		1, 1, 0, 4,
	})
	fmt.Println(raster.Resample(m, 2, 1))
	// Output: [1 1]
}
