// Package linesearch finds steps along a descent direction of a convex function from slopes alone,
// which have a lower noise floor than values.
package linesearch

import "math"

// Bracket holds a minimum between two steps.
type Bracket struct {
	Lo, Hi float64 // Hi is +Inf before there is a step beyond the minimum
	lo, hi float64 // their slopes
}

// New returns the bracket from step 0, where the slope is negative.
func New(slope float64) Bracket { return Bracket{Hi: math.Inf(1), lo: slope} }

// Before records the slope at a step before the minimum.
func (b *Bracket) Before(t, slope float64) { b.Lo, b.lo = t, slope }

// Beyond records the slope at a step beyond it, NaN for a step too far to have one.
func (b *Bracket) Beyond(t, slope float64) {
	if math.IsNaN(slope) {
		slope = math.Inf(1)
	}
	b.Hi, b.hi = t, slope
}

// Next returns the step to try: four times Lo without a step beyond, else the secant's on the
// slopes, kept inside the bracket.
func (b *Bracket) Next() float64 {
	if math.IsInf(b.Hi, 1) {
		return 4 * b.Lo
	}
	return b.Lo + (b.Hi-b.Lo)*min(0.9, max(0.1, b.lo/(b.lo-b.hi)))
}
