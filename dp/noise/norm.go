package noise

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// Norm adds noise with density ∝ exp(−Zeta·‖v‖₂) to a vector: a direction that is uniform on the
// sphere times a radius of law Gamma(d, 1/Zeta), of mean d/Zeta.
//
// It is for experiments only: it is computed in float64, whose low bits leak. It takes a *rand.Rand
// so that it cannot be used with a cryptographic source. A safe version would need a law on a grid
// with an exact sampler and the profile of its shifts; this package has none. For a release take
// Gaussian, whose accounting is tighter but for pure ε. Its event, for values of L2 sensitivity Δ,
// is dp.NormNoise{Zeta: Δ·Zeta, Dim: d}.
type Norm struct{ Zeta float64 }

// Add returns values with noise. Errors: Zeta not positive and finite, no values, a nil rng.
func (m Norm) Add(rng *rand.Rand, values []float64) ([]float64, error) {
	if err := in.Positive("Zeta", m.Zeta); err != nil {
		return nil, err
	}
	if rng == nil {
		return nil, failed("rng = nil")
	}
	if len(values) == 0 {
		return nil, bad("values: must not be empty")
	}
	out := make([]float64, len(values))
	norm := 0.0
	for norm == 0 {
		for i := range out {
			out[i] = rng.NormFloat64()
		}
		norm = floats.Norm(out, 2)
	}
	radius := distuv.Gamma{Alpha: float64(len(values)), Beta: m.Zeta, Src: rng}.Rand()
	floats.Scale(radius/norm, out)
	floats.Add(out, values)
	return out, nil
}
