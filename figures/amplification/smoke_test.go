package amplification

import (
	"context"
	"math"
	"slices"
	"testing"

	"coupling/figures/figtest"
	"coupling/lab"
)

// smoke is the smallest size of every figure.
var smoke = figtest.Setting

// do runs one cell.
func do[P, R any](t *testing.T, s *lab.Store, e lab.Experiment[P, R], p P) R {
	t.Helper()
	r, err := lab.Do(t.Context(), s, e, 1, p)
	if err != nil {
		t.Fatal(err)
	}
	return r.Value
}

// falsified is an experiment whose results are those of a store, spoilt.
func falsified[P, R any](e lab.Experiment[P, R], honest *lab.Store, spoil func(P, *R)) lab.Decoder {
	e.Run = func(_ context.Context, _ *lab.Cell, p P) (R, error) {
		r, err := lab.Recall(honest, e, smoke.Seed, p)
		if err != nil {
			return r.Value, err
		}
		spoil(p, &r.Value)
		return r.Value, nil
	}
	return e.Decoder()
}

// shift adds to all of a list.
func shift(list []float64, by float64) []float64 {
	out := slices.Clone(list)
	for i := range out {
		out[i] += by
	}
	return out
}

// scale multiplies all of a list.
func scale(list []float64, by float64) []float64 {
	out := slices.Clone(list)
	for i := range out {
		out[i] *= by
	}
	return out
}

// lies are results with the faults that claims are there to find, by experiment.
func lies(honest *lab.Store) map[string]lab.Decoder {
	list := []lab.Decoder{
		// A tight bound that is too large by a thousandth.
		falsified(profileOf, honest, func(_ profileParams, o *profileOut) { o.Specific = shift(o.Specific, 1e-3) }),
		falsified(renyiOf, honest, func(p renyiParams, o *renyiOut) {
			if p.Bound == "specific" {
				o.Rho = scale(o.Rho, 1.001)
			}
		}),
		// One that is too small.
		falsified(worOf, honest, func(_ worParams, o *worOut) { o.Specific = scale(o.Specific, .99) }),
		// A coupling that is not optimal.
		falsified(transportOf, honest, func(_ transportParams, o *transportOut) { o.OffDiagonal, o.Gap = 1e-6, .1 }),
		// A bound above one that it improves on.
		falsified(replacementOf, honest, func(_ replacementParams, o *replacementOut) { o.Specific = shift(o.Specific, 1) }),
		// Enclosures that are wider than they are said to be.
		falsified(composedOf, honest, func(_ composedParams, o *composedOut) { o.Lower = scale(o.Lower, .5) }),
		falsified(allowedOf, honest, func(p allowedParams, o *allowedOut) { o.Steps = o.Steps * 9 / 10 }),
		// A network that learns nothing.
		falsified(mnistOf, honest, func(_ mnistParams, o *mnistOut) { o.Accuracy = scale(o.Accuracy, .1) }),
	}
	out := map[string]lab.Decoder{}
	for _, d := range list {
		out[d.Experiment] = d
	}
	return out
}

// Every figure computes, draws and claims at the smallest size; what it claims there holds, and no longer does when the results behind it
// are spoilt.
func TestSmoke(t *testing.T) {
	honest, spoilt := figtest.Store(t), figtest.Store(t)
	liars := lies(honest)
	for _, f := range Figures() {
		t.Run(f.Name, func(t *testing.T) {
			for _, j := range figtest.Compute(t, honest, f) {
				lie, err := liars[j.Record().Experiment].Decode(j.Record())
				if err != nil {
					t.Fatal(err)
				}
				if err := lie.Do(t.Context(), spoilt); err != nil {
					t.Fatal(err)
				}
			}
			figtest.Draw(t, honest, f)
			for _, c := range figtest.Claims(t, honest, f) {
				if c.Verdict() == lab.Differs {
					t.Errorf("%s: got %g, expected %s", c.What, c.Got, c.Expected())
				}
			}
			claims, err := f.Claims(spoilt, smoke)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(claims, func(c lab.Claim) bool { return c.Verdict() == lab.Differs }) {
				t.Error("spoilt results meet every claim")
			}
		})
	}
}

// rising fails where a list falls by more than a relative tolerance.
func rising(t *testing.T, what string, list []float64, tol float64) {
	t.Helper()
	for i := 1; i < len(list); i++ {
		if !(list[i] >= list[i-1]-tol*math.Abs(list[i-1])) {
			t.Errorf("%s: %v falls to %v at %d", what, list[i-1], list[i], i)
		}
	}
}

// atMost fails where a list exceeds another by more than a relative tolerance.
func atMost(t *testing.T, what string, a, b []float64, tol float64) {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%s: %d and %d numbers", what, len(a), len(b))
	}
	for i := range a {
		if !(a[i] <= b[i]+tol*math.Abs(b[i])) {
			t.Errorf("%s: %v above %v at %d", what, a[i], b[i], i)
		}
	}
}
