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

// AtMost is the claim that a number is at most want: what it is, the source of the bound, and why it is no tighter.
func AtMost(what, source string, got, want float64, why string, null lab.Null) lab.Claim {
	return AtMostUnless("", what, source, got, want, why, null)
}

// AtLeast is the claim that a number is at least want, as in [AtMost].
func AtLeast(what, source string, got, want float64, why string, null lab.Null) lab.Claim {
	return AtLeastUnless("", what, source, got, want, why, null)
}

// AtMostUnless is [AtMost], not asked where skip gives a reason.
func AtMostUnless(skip, what, source string, got, want float64, why string, null lab.Null) lab.Claim {
	return lab.Claim{
		What:       what,
		Source:     source,
		Got:        got,
		Relation:   lab.AtMost,
		Want:       want,
		Why:        why,
		SkipReason: skip,
		Null:       null,
	}
}

// AtLeastUnless is [AtLeast], not asked where skip gives a reason.
func AtLeastUnless(skip, what, source string, got, want float64, why string, null lab.Null) lab.Claim {
	c := AtMostUnless(skip, what, source, got, want, why, null)
	c.Relation = lab.AtLeast
	return c
}
