package synth

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// SwissRoll draws n points [n, 2] of a planar spiral: with u uniform in [0, 1),
// t = 1.5π(1+2u), the point is (t cos t, t sin t) plus noise. These are
// coordinates 0 and 2 of scikit-learn's make_swiss_roll. SCONES uses noise 0.25.
// It returns an error when n or noise is negative or not finite.
func SwissRoll(rng *rand.Rand, n int, noise float64) (*mat.Dense, error) {
	return plane(rng, n, "noise", noise, func() (x, y float64) {
		t := 1.5 * math.Pi * (1 + 2*rng.Float64())
		return t * math.Cos(t), t * math.Sin(t)
	})
}

// Moons draws n points [n, 2] of two interleaved half circles, each equally
// likely: with t uniform in [0, π), the point is (cos t, sin t) or
// (1 - cos t, ½ - sin t), plus noise; as scikit-learn's make_moons. It returns
// an error when n or noise is negative or not finite.
func Moons(rng *rand.Rand, n int, noise float64) (*mat.Dense, error) {
	return plane(rng, n, "noise", noise, func() (x, y float64) {
		lower := rng.Uint64()&1 == 1
		t := math.Pi * rng.Float64()
		if lower {
			return 1 - math.Cos(t), 0.5 - math.Sin(t)
		}
		return math.Cos(t), math.Sin(t)
	})
}

// Circles draws n points [n, 2] of two circles about the origin, of radius 1
// and factor, each equally likely, plus noise; as scikit-learn's make_circles.
// It returns an error when n or noise is negative or not finite, or factor is
// not in [0, 1].
func Circles(rng *rand.Rand, n int, factor, noise float64) (*mat.Dense, error) {
	if !(factor >= 0 && factor <= 1) {
		return nil, fmt.Errorf("synth: factor = %v: must be in [0, 1]", factor)
	}
	return plane(rng, n, "noise", noise, func() (x, y float64) {
		radius := 1.0
		if rng.Uint64()&1 == 1 {
			radius = factor
		}
		sin, cos := math.Sincos(2 * math.Pi * rng.Float64())
		return radius * cos, radius * sin
	})
}

// EightGaussians draws n points [n, 2] of an equal mixture of eight normal
// distributions with standard deviation std, whose centres lie at equal angles
// on a circle, the first at (radius, 0). FFJORD's example has radius 2√2 and
// std ½/√2. It returns an error when an argument is negative or not finite.
func EightGaussians(rng *rand.Rand, n int, radius, std float64) (*mat.Dense, error) {
	if !(radius >= 0 && radius <= math.MaxFloat64) {
		return nil, fmt.Errorf("synth: radius = %v: must be finite and not negative", radius)
	}
	return plane(rng, n, "std", std, func() (x, y float64) {
		sin, cos := math.Sincos(math.Pi / 4 * float64(rng.IntN(8)))
		return radius * cos, radius * sin
	})
}

// Checkerboard draws n points [n, 2] uniformly from the eight dark squares of
// a 4×4 board that covers [-4, 4)²: the square that holds (x, y) is dark when
// ⌊x/2⌋ + ⌊y/2⌋ is even. It returns an error when n is negative.
func Checkerboard(rng *rand.Rand, n int) (*mat.Dense, error) {
	return plane(rng, n, "noise", 0, func() (x, y float64) {
		square := rng.IntN(8)
		column := square / 2
		row := 2*(square%2) + column%2
		return 2 * (float64(column-2) + rng.Float64()), 2 * (float64(row-2) + rng.Float64())
	})
}

// Spirals draws n points [n, 2] of two arms that are each other's mirror image
// in the origin, each equally likely: with t = 3π√u, u uniform in [0, 1), the
// point is ±(-t cos t, t sin t)/3 plus noise. The square root makes the density
// along the arms nearly even. It returns an error when n or noise is negative
// or not finite.
func Spirals(rng *rand.Rand, n int, noise float64) (*mat.Dense, error) {
	return plane(rng, n, "noise", noise, func() (x, y float64) {
		r := 1.0 / 3
		if rng.Uint64()&1 == 1 {
			r = -r
		}
		t := 3 * math.Pi * math.Sqrt(rng.Float64())
		return -r * t * math.Cos(t), r * t * math.Sin(t)
	})
}

// plane collects n points and adds isotropic noise, drawn after each point.
func plane(rng *rand.Rand, n int, name string, noise float64, point func() (x, y float64)) (*mat.Dense, error) {
	if err := count(n); err != nil {
		return nil, err
	}
	if !(noise >= 0 && noise <= math.MaxFloat64) {
		return nil, fmt.Errorf("synth: %s = %v: must be finite and not negative", name, noise)
	}
	if n == 0 {
		return &mat.Dense{}, nil
	}
	points := mat.NewDense(n, 2, nil)
	for i := range n {
		x, y := point()
		if noise > 0 {
			x += noise * rng.NormFloat64()
			y += noise * rng.NormFloat64()
		}
		points.Set(i, 0, x)
		points.Set(i, 1, y)
	}
	return points, nil
}

func count(n int) error {
	if n < 0 {
		return fmt.Errorf("synth: n = %d: must not be negative", n)
	}
	return nil
}
