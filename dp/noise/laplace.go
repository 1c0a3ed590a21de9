package noise

import (
	"math"
	"math/bits"
)

// Laplace adds discrete Laplace noise on a grid: P(k steps) = (1−ρ)/(1+ρ)·ρ^|k|, ρ = e^(−Granularity/Scale).
type Laplace struct {
	// Scale is the λ of the continuous law that it stands for, in the units of the values, in [2^-900, 2^900].
	Scale float64
	// Granularity is the step of the grid, a power of two from 2^-40 to 2^10 times the scale; 0
	// takes the largest one of at most 2^-30 Scale.
	Granularity float64
}

// Grid returns the grid of the releases.
func (m Laplace) Grid() (Grid, error) {
	g, _, err := gridFor("Scale", m.Scale, m.Granularity)
	return g, err
}

// Add rounds values to the grid (Grid.Round) and adds independent noise to each. It returns new values, on the grid,
// or an error and nothing: parameters out of range, values that are not finite, or a source that fails. Cost: some 6
// random words and two exponentials a value.
func (m Laplace) Add(src Source, values []float64) ([]float64, error) {
	g, b, err := gridFor("Scale", m.Scale, m.Granularity)
	if err != nil {
		return nil, err
	}
	t, shift := fraction(b)
	return release(src, g, values, func() (int64, error) { return laplaceSteps(src, t, shift) })
}

// fraction returns b = t/2^shift in lowest terms, for b in [2^-10, 2^40].
func fraction(b float64) (t uint64, shift uint) {
	frac, exp := math.Frexp(b)
	t, shift = uint64(math.Ldexp(frac, 53)), uint(53-exp)
	zeros := min(uint(bits.TrailingZeros64(t)), shift)
	return t >> zeros, shift - zeros
}

// laplaceSteps draws an integer with probability ∝ e^(−|k|·2^shift/t), cut off at ±endless (CKS,
// Algorithm 2). u + t·v has the law ∝ e^(−·/t) on the nonnegative integers, and so has its quotient
// by 2^shift with t/2^shift.
func laplaceSteps(src Source, t uint64, shift uint) (int64, error) {
	for range maxRejections {
		u, err := Uniform(src, t)
		if err != nil {
			return 0, err
		}
		keep, err := bernoulliExp(src, u, t)
		if err != nil {
			return 0, err
		}
		if !keep {
			continue
		}
		v, err := geometric(src)
		if err != nil {
			return 0, err
		}
		sign, err := src.Uint64()
		if err != nil {
			return 0, err
		}
		size := quotient(u, t, v, shift)
		switch {
		case sign>>63 == 0:
			return size, nil
		case size != 0: // a negative zero would count zero twice
			return -size, nil
		}
	}
	return 0, tooManyRejections()
}

// quotient returns ⌊(u + t·v)/2^shift⌋, at most endless, for shift < 64.
func quotient(u, t, v uint64, shift uint) int64 {
	hi, lo := bits.Mul64(t, v)
	lo, carry := bits.Add64(lo, u, 0)
	hi += carry
	if hi>>shift != 0 {
		return endless
	}
	return int64(min(hi<<(64-shift)|lo>>shift, endless))
}
