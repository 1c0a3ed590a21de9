package dp

import "fmt"

// Kind says what a number is.
type Kind int

const (
	// Exact is within 1e-8 relative of the value for the dominating pairs, and on the safe side of it.
	Exact Kind = iota
	// UpperBound is at least the value.
	UpperBound
	// Estimate is not certified. Epsilon and Delta never return one.
	Estimate
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case Exact:
		return "exact"
	case UpperBound:
		return "upper bound"
	case Estimate:
		return "estimate"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// exactWidth is the relative width up to which an enclosure counts as exact.
const exactWidth = 1e-8

// Guarantee says that an event is (Epsilon, Delta)-differentially private under Relation.
type Guarantee struct {
	Epsilon, Delta float64
	// Lower is a certified lower bound of the number that was asked for, for the dominating pairs; 0 when there is none.
	Lower      float64
	Kind       Kind
	Accountant string
	Relation   Relation
	// Inserted and Removed are the split at which the worst is attained.
	Inserted, Removed int
}

// String explains the guarantee in a line.
func (g Guarantee) String() string {
	return fmt.Sprintf("ε = %.6g at δ = %g (%v, by %s, under %v)", g.Epsilon, g.Delta, g.Kind, g.Accountant, g.Relation)
}

// kindOf classifies an enclosure.
func kindOf(lower, upper float64) Kind {
	if upper-lower <= exactWidth*upper {
		return Exact
	}
	return UpperBound
}
