package dp

import (
	"context"
	"math"
	"testing"

	"coupling/dp/closed"
	"coupling/dp/pair"
	"coupling/dp/rdp"
)

// event builds any event from numbers.
func anyEvent(mechanism, sampling uint8, noise, rate float64, steps int) Event {
	var m Event
	switch mechanism % 4 {
	case 0:
		m = Gaussian{noise}
	case 1:
		m = Laplace{noise}
	case 2:
		m = RandomizedResponse{0.5 + math.Exp(-noise)/2}
	default:
		m = NormNoise{1 / noise, 1 + int(mechanism/4)}
	}
	switch sampling % 4 {
	case 1:
		m = Poisson{rate, m}
	case 2:
		m = WithoutReplacement{1 + int(rate*100), 1000, m}
	case 3:
		m = WithReplacement{1 + int(rate*100), 1000, m}
	}
	return Repeat{steps, m}
}

// For extreme parameters: a number on the safe side or an error, never NaN, never too small, never a hang. What is certain is that
// composing does not lower the ε of one step, known from its profile, in any branch.
func FuzzEpsilon(f *testing.F) {
	for _, noise := range []float64{1e-3, 1, 1e6} {
		for _, rate := range []float64{1e-12, 0.01, 1} {
			if testing.Short() && noise != 1 && rate != 0.01 {
				continue // the corners of the square
			}
			f.Add(uint8(0), uint8(1), noise, rate, 1_000_000_000, 1e-200, uint8(1))
			f.Add(uint8(0), uint8(1), noise, rate, 1000, 1e-6, uint8(2))
			f.Add(uint8(1), uint8(1), noise, rate, 7, 1e-9, uint8(3))
			f.Add(uint8(2), uint8(3), noise, rate, 10, 1e-9, uint8(1))
			f.Add(uint8(7), uint8(1), noise, rate, 100, 1e-50, uint8(1))
			f.Add(uint8(0), uint8(3), noise, rate, 100, 0.5, uint8(1))
		}
	}
	f.Add(uint8(0), uint8(0), -1.0, 2.0, 0, 1.5, uint8(0))
	f.Add(uint8(1), uint8(2), math.NaN(), math.Inf(1), -5, math.NaN(), uint8(9))
	f.Fuzz(func(t *testing.T, mechanism, sampling uint8, noise, rate float64, steps int, delta float64, group uint8) {
		if rate > 2 || rate < 0 {
			rate = 2 // an int of it must exist
		}
		e := anyEvent(mechanism, sampling, noise, rate, steps)
		r := Relation{Group: int(group % 4), Kind: RelationKind(group / 4 % 4)}
		ctx, done := limited(t, e)
		g, err := EpsilonBy(ctx, rdp.Accountant{}, e, r, delta)
		done()
		if err != nil {
			return
		}
		if !(g.Epsilon >= 0) || math.IsInf(g.Epsilon, 0) || g.Delta != delta {
			t.Fatalf("%v under %v at %v: %v", e, r, delta, g)
		}
		branches, err := Branches(e, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range branches {
			one, err := closed.Accountant{}.Bound(context.Background(), []pair.Step{{Pair: b.Steps[0].Pair, Times: 1}}, pair.EpsilonAt(max(delta, math.SmallestNonzeroFloat64)))
			if err == nil && one.Lower > g.Epsilon {
				t.Fatalf("%v under %v at %v: %v, but one step has %v", e, r, delta, g, one)
			}
		}
	})
}
