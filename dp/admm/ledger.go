package admm

import (
	"fmt"
	"slices"

	"coupling/dp/release"
)

// Ledger records what a private node has released, over all its runs and crashes. With a ledger the
// budget holds for the data, over all runs; without it, for each run separately. Package files
// stores one in a file. Only one node at a time may use a ledger.
type Ledger interface {
	// Pay records a release before it is made: when it returns nil, the record is safe and the
	// release may be made. A release with the ID of an earlier one is the same message again and
	// costs nothing. A new one is refused with ErrBudget, and nothing is recorded, unless the
	// budget pays for rounds releases (at least one): this one and those that follow it in the run.
	Pay(r Release, rounds int) error
	// Rounds is the largest number of rounds of a run: those that the budget still pays for, plus
	// those already paid for, in case the run repeats them.
	Rounds() int
}

// Release is the message of a node in one private round.
type Release struct {
	// ID is equal for equal messages, noise included, and differs otherwise. Without the key it
	// reveals nothing about either.
	ID    [32]byte
	Round int
	// Alpha, Sensitivity and Degree give its cost: ε = Alpha for a change that moves the decision
	// by Sensitivity/η, in Degree values.
	Alpha, Sensitivity float64
	Degree             int
}

// Affords returns the number of rounds that the node can take part in.
func (s Secret) Affords() int {
	if s.Ledger != nil {
		return s.Ledger.Rounds()
	}
	return s.Rounds
}

// mark is a code of all that determines a release: the node, the noise's law, the question and the
// decision. A release with the same mark is the same message; if anything differs, new noise is
// drawn, because two decisions with the same noise, or one direction with two radii, would reveal
// the decisions. The argument use separates noise from names of releases.
func (n *Node) mark(use string, q Question, zeta float64) [32]byte {
	values := slices.Concat([]float64{q.Eta}, q.Plan, q.Price, n.out) // three lists of the same length
	return release.Key(n.spec.Secret.Key).Mark(fmt.Sprintf("%s of %v", use, n.spec.ID), q.Round, values, zeta)
}

// pay records the release of this round in the ledger, if there is one.
func (n *Node) pay(q Question, zeta float64) error {
	secret, round := n.spec.Secret, q.Round
	if round > n.rules.Rounds { // whatever the ledger says
		return fmt.Errorf("admm: %v in round %d: %w: the rules have %d private rounds", n.spec.ID, round, ErrBudget,
			n.rules.Rounds)
	}
	if secret.Ledger == nil {
		if round > secret.Rounds {
			return fmt.Errorf("admm: %v in round %d: %w: it pays for %d rounds", n.spec.ID, round, ErrBudget,
				secret.Rounds)
		}
		return nil
	}
	r := Release{
		ID:          n.mark("release", q, zeta),
		Round:       round,
		Alpha:       secret.Alpha,
		Sensitivity: secret.Sensitivity,
		Degree:      len(n.out),
	}
	if err := secret.Ledger.Pay(r, n.rules.Rounds-round+1); err != nil {
		return fmt.Errorf("admm: %v in round %d: %w", n.spec.ID, round, err)
	}
	return nil
}
