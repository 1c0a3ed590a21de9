package synth

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	_ "coupling/lab/draws"
)

const many = 40_000

// sample draws many points and fails on an error.
func sample(t *testing.T, points *mat.Dense, err error) (x, y, r2 []float64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if n, d := points.Dims(); n != many || d != 2 {
		t.Fatalf("%d×%d points: want %d×2", n, d, many)
	}
	x, y = column(points, 0), column(points, 1)
	r2 = make([]float64, many)
	for i := range r2 {
		r2[i] = x[i]*x[i] + y[i]*y[i]
	}
	return x, y, r2
}

// With t uniform in [1.5π, 4.5π]: E t cos t = 2, E t sin t = 2/3π, E t² = 9.75π².
func TestSwissRoll(t *testing.T) {
	points, err := SwissRoll(newRand(1), many, 0)
	x, y, r2 := sample(t, points, err)
	for i := range x {
		s := math.Sqrt(r2[i])
		if s < 1.5*math.Pi-1e-12 || s > 4.5*math.Pi+1e-12 ||
			math.Hypot(x[i]-s*math.Cos(s), y[i]-s*math.Sin(s)) > 1e-12 {
			t.Fatalf("point (%v, %v) is not on the spiral", x[i], y[i])
		}
	}
	near(t, "x", x, 2)
	near(t, "y", y, 2/(3*math.Pi))
	near(t, "r²", r2, 9.75*math.Pi*math.Pi)
	radii := make([]float64, many)
	for i := range radii {
		radii[i] = math.Sqrt(r2[i])
	}
	fits(t, "t", radii, distuv.Uniform{Min: 1.5 * math.Pi, Max: 4.5 * math.Pi}.CDF)

	points, err = SwissRoll(newRand(2), many, 0.25)
	_, _, r2 = sample(t, points, err)
	near(t, "r² with noise", r2, 9.75*math.Pi*math.Pi+2*0.25*0.25)
}

// Upper moon: mean (0, 2/π); lower: (1, ½ - 2/π).
func TestMoons(t *testing.T) {
	points, err := Moons(newRand(3), many, 0)
	x, y, _ := sample(t, points, err)
	upper := make([]float64, many)
	for i := range x {
		onUpper := math.Abs(math.Hypot(x[i], y[i])-1) < 1e-12 && y[i] >= 0
		onLower := math.Abs(math.Hypot(x[i]-1, y[i]-0.5)-1) < 1e-12 && y[i] <= 0.5
		switch {
		case onUpper:
			upper[i] = 1
		case !onLower:
			t.Fatalf("point (%v, %v) is on neither moon", x[i], y[i])
		}
	}
	near(t, "share of the upper moon", upper, 0.5)
	near(t, "x", x, 0.5)
	near(t, "y", y, 0.25)
}

func TestCircles(t *testing.T) {
	points, err := Circles(newRand(4), many, 0.5, 0)
	x, y, r2 := sample(t, points, err)
	angles := make([]float64, many)
	for i := range x {
		if r := math.Sqrt(r2[i]); math.Abs(r-1) > 1e-12 && math.Abs(r-0.5) > 1e-12 {
			t.Fatalf("radius %v", r)
		}
		angles[i] = math.Atan2(y[i], x[i])
	}
	near(t, "r²", r2, 0.625)
	fits(t, "angle", angles, distuv.Uniform{Min: -math.Pi, Max: math.Pi}.CDF)
}

func TestEightGaussians(t *testing.T) {
	points, err := EightGaussians(newRand(5), many, 4, 0.3)
	x, y, r2 := sample(t, points, err)
	var counts [8]int
	for i := range x {
		k := (int(math.Round(math.Atan2(y[i], x[i])/(math.Pi/4))) + 8) % 8
		counts[k]++
		sin, cos := math.Sincos(float64(k) * math.Pi / 4)
		if math.Hypot(x[i]-4*cos, y[i]-4*sin) > 6.5*0.3 { // P < 1e-9 a point
			t.Fatalf("point (%v, %v) is far from every centre", x[i], y[i])
		}
	}
	for k, c := range counts {
		// Centres are 10 standard deviations apart: a count is Binomial(many, 1/8).
		if z := (float64(c) - many/8) / math.Sqrt(many*7/64.0); math.Abs(z) > 6 {
			t.Errorf("centre %d has %d points: want some %d", k, c, many/8)
		}
	}
	near(t, "x", x, 0)
	near(t, "y", y, 0)
	near(t, "r²", r2, 16+2*0.09)
}

func TestCheckerboard(t *testing.T) {
	points, err := Checkerboard(newRand(6), many)
	x, y, r2 := sample(t, points, err)
	counts := map[[2]int]int{}
	for i := range x {
		column, row := int(math.Floor(x[i]/2)), int(math.Floor(y[i]/2))
		if (column+row)%2 != 0 || column < -2 || column > 1 || row < -2 || row > 1 {
			t.Fatalf("point (%v, %v) is not on a dark square", x[i], y[i])
		}
		counts[[2]int{column, row}]++
	}
	if len(counts) != 8 {
		t.Errorf("%d squares: want 8", len(counts))
	}
	for square, c := range counts {
		if z := (float64(c) - many/8) / math.Sqrt(many*7/64.0); math.Abs(z) > 6 {
			t.Errorf("square %v has %d points: want some %d", square, c, many/8)
		}
	}
	fits(t, "x", x, distuv.Uniform{Min: -4, Max: 4}.CDF)
	fits(t, "y", y, distuv.Uniform{Min: -4, Max: 4}.CDF)
	near(t, "r²", r2, 2*16.0/3)
}

// t = 3π√u has the density 2t/(3π)²: E t² = (3π)²/2.
func TestSpirals(t *testing.T) {
	points, err := Spirals(newRand(7), many, 0)
	x, y, r2 := sample(t, points, err)
	for i := range x {
		s := 3 * math.Sqrt(r2[i])
		px, py := -s*math.Cos(s)/3, s*math.Sin(s)/3
		if s > 3*math.Pi+1e-12 || math.Min(math.Hypot(x[i]-px, y[i]-py), math.Hypot(x[i]+px, y[i]+py)) > 1e-12 {
			t.Fatalf("point (%v, %v) is on neither arm", x[i], y[i])
		}
	}
	near(t, "x", x, 0)
	near(t, "y", y, 0)
	near(t, "r²", r2, math.Pi*math.Pi/2)
}

// Every shape: the size asked for, finite values, the same seed gives the same
// points, and a longer sample starts with the shorter one.
func TestPlaneLaws(t *testing.T) {
	shapes := map[string]func(rng *rand.Rand, n int, noise float64) (*mat.Dense, error){
		"swiss roll": SwissRoll, "moons": Moons, "spirals": Spirals,
		"circles": func(rng *rand.Rand, n int, s float64) (*mat.Dense, error) { return Circles(rng, n, 0.3, s) },
		"gaussians": func(rng *rand.Rand, n int,
			s float64) (*mat.Dense, error) {
			return EightGaussians(rng, n, 2, s)
		},
		"checkerboard": func(rng *rand.Rand, n int, s float64) (*mat.Dense, error) { return Checkerboard(rng, n) },
	}
	rapid.Check(t, func(rt *rapid.T) {
		n, m := rapid.IntRange(0, 40).Draw(rt, "n"), rapid.IntRange(0, 10).Draw(rt, "m")
		noise, seed := rapid.Float64Range(0, 10).Draw(rt, "noise"), rapid.Uint64().Draw(rt, "seed")
		for name, shape := range shapes {
			short, err := shape(newRand(seed), n, noise)
			if err != nil {
				rt.Fatal(err)
			}
			long, err := shape(newRand(seed), n+m, noise)
			if err != nil {
				rt.Fatal(err)
			}
			if rows, _ := short.Dims(); rows != n {
				rt.Fatalf("%s: %d points: want %d", name, rows, n)
			}
			if n > 0 && !mat.Equal(short, long.Slice(0, n, 0, 2)) {
				rt.Fatalf("%s: a longer sample does not start with the shorter", name)
			}
		}
	})
	for name, shape := range shapes {
		if _, err := shape(newRand(1), -1, 0); err == nil || !strings.Contains(err.Error(), "n = -1") {
			t.Errorf("%s: n = -1: error %v", name, err)
		}
		for _, noise := range []float64{-1, math.NaN(), math.Inf(1)} {
			if _, err := shape(newRand(1), 5, noise); err == nil && name != "checkerboard" {
				t.Errorf("%s: noise = %v was accepted", name, noise)
			}
		}
	}
	if _, err := Circles(newRand(1), 5, 1.5, 0); err == nil {
		t.Error("a factor of 1.5 was accepted")
	}
	if _, err := EightGaussians(newRand(1), 5, math.NaN(), 0); err == nil {
		t.Error("a NaN radius was accepted")
	}
}
