package lab

import (
	"fmt"
	"math"
)

// A Relation is the comparison of a claim's Got with its Want.
type Relation int

// The relations.
const (
	Equals  Relation = iota // |Got − Want| within the tolerance
	AtMost                  // Got ≤ Want + tolerance
	AtLeast                 // Got ≥ Want − tolerance
)

func (r Relation) String() string { return [...]string{"=", "≤", "≥"}[r] }

// A Claim compares our result with a number that a paper prints, or with a law that it must obey.
type Claim struct {
	What     string // "column marginal error at ε = 0.01"
	Source   string // "Table 2, row d = 64"; "marginal constraint"
	Got      float64
	Relation Relation
	Want     float64
	AbsTol   float64 // the tolerance is the larger of AbsTol and RelTol·|Want|
	RelTol   float64
	Why      string // where the tolerance comes from
	// SkipReason is why the claim is not checked at this preset; empty if it is. The setting
	// alone decides it, never a result.
	SkipReason string
	// Null is the garbage result on which the claim must fail.
	Null Null
	// Law means that the claim holds for all parameters. Where the grid of a study is not that of
	// its presets, only laws are asked.
	Law bool
}

// Tolerance returns max(AbsTol, RelTol·|Want|).
func (c Claim) Tolerance() float64 { return max(c.AbsTol, c.RelTol*math.Abs(c.Want)) }

// Holds reports whether the claim is met. NaN and ±Inf meet no claim, neither as Got nor as a bound
// or tolerance that was computed: they are what a division by zero, or the extremum of an empty
// selection, leaves.
func (c Claim) Holds() bool {
	tol := c.Tolerance()
	if math.IsInf(c.Got, 0) || math.IsInf(c.Want, 0) || math.IsInf(tol, 0) {
		return false
	}
	switch c.Relation {
	case AtMost:
		return c.Got <= c.Want+tol
	case AtLeast:
		return c.Got >= c.Want-tol
	default:
		return c.Got == c.Want || math.Abs(c.Got-c.Want) <= tol
	}
}

// A Verdict is the outcome of a claim.
type Verdict string

// The verdicts.
const (
	Holds   Verdict = "holds"
	Differs Verdict = "differs"
	Skipped Verdict = "not asked"
	Nothing Verdict = "nothing to measure"
)

// Verdict returns [Skipped] if the claim is not checked at this preset, [Nothing] if Got is
// infinite on the side that meets the relation, as of an empty list, else [Holds] or [Differs].
func (c Claim) Verdict() Verdict {
	switch {
	case c.SkipReason != "":
		return Skipped
	case math.IsInf(c.Got, 1) && c.Relation == AtLeast, math.IsInf(c.Got, -1) && c.Relation == AtMost:
		return Nothing
	case c.Holds():
		return Holds
	}
	return Differs
}

// Most returns the greatest number that of returns for an item of list; -Inf if list is empty, so
// that a claim over it has nothing to measure. NaN counts as the greatest.
func Most[T any](list []T, of func(T) float64) float64 {
	out := math.Inf(-1)
	for _, x := range list {
		out = max(out, of(x))
	}
	return out
}

// Least returns the least number that of returns for an item of list; +Inf if list is empty, so
// that a claim over it has nothing to measure. NaN counts as the least.
func Least[T any](list []T, of func(T) float64) float64 {
	return -Most(list, func(x T) float64 { return -of(x) })
}

// Expected returns the right-hand side as text: "0.58 ± 0.01", "≤ 0.001".
func (c Claim) Expected() string {
	text := fmt.Sprintf("%.4g", c.Want)
	if c.Relation != Equals {
		text = c.Relation.String() + " " + text
	}
	if tol := c.Tolerance(); tol > 0 {
		text += fmt.Sprintf(" ± %.2g", tol)
	}
	return text
}

// A Score counts verdicts.
type Score map[Verdict]int

// String returns "1 of 2 claims hold, 1 differ; 1 not asked at this size", without what there is none of.
func (s Score) String() string {
	asked, skipped := s[Holds]+s.Failed(), s[Skipped]
	switch {
	case asked+skipped == 0:
		return "no claims"
	case asked == 0 && skipped == 1:
		return "1 claim not asked at this size"
	case asked == 0 && skipped > 0:
		return fmt.Sprintf("%d claims not asked at this size", skipped)
	}
	text := fmt.Sprintf("%d of %d claims hold", s[Holds], asked)
	if n := s[Differs]; n > 0 {
		text += fmt.Sprintf(", %d differ", n)
	}
	if n := s[Nothing]; n > 0 {
		text += fmt.Sprintf(", %d with nothing to measure", n)
	}
	if skipped > 0 {
		text += fmt.Sprintf("; %d not asked at this size", skipped)
	}
	return text
}

// Failed returns the number of claims that were asked and do not hold.
func (s Score) Failed() int { return s[Differs] + s[Nothing] }
