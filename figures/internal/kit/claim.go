package kit

import "coupling/lab"

// ByPreset is a value for each preset, from smoke on.
func ByPreset[T any](values ...T) map[lab.Preset]T {
	out := map[lab.Preset]T{}
	for i, v := range values {
		out[lab.Presets[i]] = v
	}
	return out
}

// Smoke is small at the smallest preset and other at all others.
func Smoke[T any](p lab.Preset, small, other T) T { return lab.Pick(p, small, other, other, other) }

// Near is the claim that a number is want, to tol: what it is, the source of want, and where the tolerance comes from.
func Near(what, source string, got, want, tol float64, why string, null lab.Null) lab.Claim {
	return lab.Claim{What: what, Source: source, Got: got, Want: want, AbsTol: tol, Why: why, Null: null}
}

// NearUnless is [Near], not asked where skip gives a reason.
func NearUnless(skip, what, source string, got, want, tol float64, why string, null lab.Null) lab.Claim {
	c := Near(what, source, got, want, tol, why, null)
	c.SkipReason = skip
	return c
}

// AtMost is the claim that a number is at most want: what it is, the source of the bound, and why it is no tighter.
func AtMost(what, source string, got, want float64, why string, null lab.Null) lab.Claim {
	return AtMostWithin(what, source, got, want, 0, why, null)
}

// AtMostWithin is [AtMost], to tol.
func AtMostWithin(what, source string, got, want, tol float64, why string, null lab.Null) lab.Claim {
	c := Near(what, source, got, want, tol, why, null)
	c.Relation = lab.AtMost
	return c
}

// AtMostUnless is [AtMost], not asked where skip gives a reason.
func AtMostUnless(skip, what, source string, got, want float64, why string, null lab.Null) lab.Claim {
	c := AtMost(what, source, got, want, why, null)
	c.SkipReason = skip
	return c
}

// AtLeast is the claim that a number is at least want, as in [AtMost].
func AtLeast(what, source string, got, want float64, why string, null lab.Null) lab.Claim {
	return AtLeastUnless("", what, source, got, want, why, null)
}

// AtLeastUnless is [AtLeast], not asked where skip gives a reason.
func AtLeastUnless(skip, what, source string, got, want float64, why string, null lab.Null) lab.Claim {
	c := AtMostUnless(skip, what, source, got, want, why, null)
	c.Relation = lab.AtLeast
	return c
}

// Law is the claim as one that holds for all parameters.
func Law(c lab.Claim) lab.Claim {
	c.Law = true
	return c
}
