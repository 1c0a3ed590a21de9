package check

import "math"

// Default gives a setting that is 0 its default, and accepts what is then positive and finite.
func Default[T int | float64](p In, name string, v *T, def T) error {
	if *v == 0 {
		*v = def
	}
	if !(*v > 0) || math.IsInf(float64(*v), 0) {
		return p.Bad("%s = %v: must be positive and finite", name, *v)
	}
	return nil
}

// Noise accepts noise multipliers, 0 being none.
func (p In) Noise(sigma float64) error {
	if !(sigma >= 0) || math.IsInf(sigma, 0) {
		return p.Bad("NoiseMultiplier = %v: must be at least 0 and finite", sigma)
	}
	return nil
}

// Noisy refuses the noise multiplier 0, with which nothing has an event.
func (p In) Noisy(sigma float64) error {
	if sigma == 0 {
		return p.Bad("NoiseMultiplier = 0: without noise there is no privacy")
	}
	return nil
}
