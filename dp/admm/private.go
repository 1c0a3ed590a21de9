package admm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/dp/admm/account"
	"coupling/dp/internal/check"
)

// Private holds the parameters of Algorithm 2, which protects the utility parameters of nodes.
type Private struct {
	Budget account.Budget // of every node
	// Slope is ρ: the largest slope of any utility that a node might have, u′(v) in [0, ρ]
	// (Assumption 1). It must be derived from public knowledge, such as a range of parameters, not
	// from the parameters. Utilities above it are refused.
	Slope float64
	// Range is the largest change of a slope, at any amount, by a change of one parameter; 0 means
	// Slope, which always holds. For parameters A in an interval of length r it is r times the
	// Steepness: linear utilities with integers 1..5 have Slope 5 and Range 4.
	Range float64
	// Parameters is how many parameters of a node may change at once; 0 means 1.
	Parameters int
}

// Sensitivity returns η times the most by which a change of the protected parameters moves a node's
// decision in L2 norm. The objective is η-strongly convex, and its gradient moves by at most Range
// in each of Parameters coordinates, so that ‖Δv‖ ≤ √Parameters·Range/η (Theorem 1 of the paper has
// Parameters = 1, Range = ρ).
func (p Private) Sensitivity() float64 {
	return cmp.Or(p.Range, p.Slope) * math.Sqrt(float64(max(p.Parameters, 1)))
}

func (p Private) check() error {
	switch {
	case !(p.Slope > 0) || math.IsInf(p.Slope, 0):
		return bad("Slope = %v: must be positive and finite", p.Slope)
	case !(p.Range >= 0 && p.Range <= p.Slope):
		return bad("Range = %v: must be in [0, Slope = %v]", p.Range, p.Slope)
	case p.Parameters < 0:
		return bad("Parameters = %d: must be at least 0", p.Parameters)
	}
	return nil
}

// Protect gives every node its noise scale, the rounds that its budget pays for, and a key from
// rng. Keys that protect data must be drawn by the nodes themselves; those from a seeded rng are
// for experiments. Errors: parameters out of range, a utility steeper than Slope, a budget that
// does not pay for one round.
func (p Private) Protect(rng *rand.Rand, specs []Spec) ([]Spec, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if rng == nil {
		return nil, bad("rng = nil")
	}
	var seed [32]byte
	for i := range 4 {
		binary.LittleEndian.PutUint64(seed[8*i:], rng.Uint64())
	}
	out := make([]Spec, len(specs))
	rounds, b := map[int]int{}, p.Budget // that it pays for, by the number of neighbours
	for i, s := range specs {
		if err := s.checkSlopes(p.Slope); err != nil {
			return nil, err
		}
		degree := len(s.Neighbours)
		if _, known := rounds[degree]; !known {
			n, err := b.Rounds(degree)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", s.ID, err)
			}
			rounds[degree] = n
		}
		s.Secret = &Secret{
			Alpha:       b.Alpha,
			Sensitivity: p.Sensitivity(),
			Slope:       p.Slope,
			Epsilon:     b.Epsilon,
			Delta:       b.Delta,
			Rounds:      rounds[degree],
		}
		id := binary.LittleEndian.AppendUint64(append(seed[:len(seed):len(seed)], byte(s.ID.Side)), uint64(s.ID.Index))
		s.Secret.Key = sha256.Sum256(id)
		out[i] = s
	}
	return out, nil
}

// SolvePrivate runs Algorithm 2 in this process: a.Rounds rounds in which every node perturbs what
// it shares, then a projection of the average of the last a.Tail plans onto the feasible ones.
// Result.Plan is the projection, Result.Average the average before it. Errors: those of Solve and
// Protect; ErrBudget when a node's budget does not pay for a.Rounds rounds, before the first.
func (a ADMM) SolvePrivate(ctx context.Context, p Problem, private Private, rng *rand.Rand) (*Result, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	specs, err := private.Protect(rng, p.Specs())
	if err != nil {
		return nil, err
	}
	return a.SolveProtected(ctx, p, specs)
}

// CanAfford returns ErrBudget, with the node's name, if some node's budget does not pay for that
// many rounds.
func CanAfford(specs []Spec, rounds int) error {
	for _, s := range specs {
		if s.Secret != nil && len(s.Neighbours) > 0 && s.Secret.Affords() < rounds {
			return fmt.Errorf("admm: Rounds = %d: %v: %w: it pays for %d", rounds, s.ID, ErrBudget, s.Secret.Affords())
		}
	}
	return nil
}

// SolveProtected runs Algorithm 2 for nodes that were protected before; see SolvePrivate.
func (a ADMM) SolveProtected(ctx context.Context, p Problem, specs []Spec) (*Result, error) {
	if a.Rounds < 1 {
		return nil, bad("Rounds = %d: must be at least 1", a.Rounds)
	}
	if err := check.All(p.Check(), CanAfford(specs, a.Rounds)); err != nil {
		return nil, err
	}
	return a.run(ctx, p.Graph, specs)
}
