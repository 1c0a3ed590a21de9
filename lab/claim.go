package lab

import (
	"fmt"
	"math"
)

// A Relation says how a claim compares Got with Want.
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
	// SkipReason says why the claim is not checked at this preset; empty if it is. The setting
	// alone decides it, never a result.
	SkipReason string
	// Null is the garbage result on which the claim must fail.
	Null Null
}

// Tolerance returns max(AbsTol, RelTol·|Want|).
func (c Claim) Tolerance() float64 { return max(c.AbsTol, c.RelTol*math.Abs(c.Want)) }

// Holds reports whether the claim is met. NaN meets no claim.
func (c Claim) Holds() bool {
	switch tol := c.Tolerance(); c.Relation {
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
)

// Verdict returns [Skipped] if the claim is not checked at this preset, else [Holds] or [Differs].
func (c Claim) Verdict() Verdict {
	switch {
	case c.SkipReason != "":
		return Skipped
	case c.Holds():
		return Holds
	}
	return Differs
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

// String is "1 of 3 claims hold, 1 not asked at this size, 1 differ".
func (s Score) String() string {
	text := fmt.Sprintf("%d of %d claims hold", s[Holds], s[Holds]+s[Differs]+s[Skipped])
	if n := s[Skipped]; n > 0 {
		text += fmt.Sprintf(", %d not asked at this size", n)
	}
	if n := s[Differs]; n > 0 {
		text += fmt.Sprintf(", %d differ", n)
	}
	return text
}
