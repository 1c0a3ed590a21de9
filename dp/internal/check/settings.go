package check

import (
	"reflect"
	"strconv"
)

// Defaults gives each field of the struct that settings points to, where it is 0, the number of its tag default, and
// accepts what is then positive and finite.
func (p In) Defaults(settings any) (err error) {
	for f, v := range reflect.ValueOf(settings).Elem().Fields() {
		def, tagged := f.Tag.Lookup("default")
		if !tagged {
			continue
		}
		number, bad := strconv.ParseFloat(def, 64)
		if v.IsZero() {
			v.Set(reflect.ValueOf(number).Convert(v.Type()))
		}
		err = All(err, bad, p.Positive(f.Name, v.Convert(reflect.TypeOf(number)).Float()))
	}
	return err
}

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
