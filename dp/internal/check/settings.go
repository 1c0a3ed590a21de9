package check

// Default gives a setting that is 0 its default, and accepts what is then positive and finite.
func Default[T int | float64](p In, name string, v *T, def T) error {
	if *v == 0 {
		*v = def
	}
	return p.Positive(name, float64(*v))
}

// Noise accepts noise multipliers, 0 being none.
func (p In) Noise(sigma float64) error { return p.NotNegative("NoiseMultiplier", sigma) }

// Noisy refuses the noise multiplier 0, with which nothing has an event.
func (p In) Noisy(sigma float64) error {
	if sigma == 0 {
		return p.Bad("NoiseMultiplier = 0: without noise there is no privacy")
	}
	return nil
}
