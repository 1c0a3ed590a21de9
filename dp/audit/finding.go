package audit

import (
	"fmt"

	"coupling/dp/internal/check"
)

const in = check.In("audit")

var bad = in.Bad

// Finding is a lower bound of ε.
type Finding struct {
	// Epsilon is the bound, at least 0 and finite.
	Epsilon float64
	// Delta is the δ that it holds at.
	Delta float64
	// Confidence is the least probability, over the runs, that the bound holds.
	Confidence float64
}

// Refutes reports whether the mechanism is not (eps, Delta)-differentially private, with the confidence of the finding.
func (f Finding) Refutes(eps float64) bool { return f.Epsilon > eps }

// String explains the finding in a line.
func (f Finding) String() string {
	return fmt.Sprintf("ε ≥ %.4g at δ = %g (confidence %g)", f.Epsilon, f.Delta, f.Confidence)
}
