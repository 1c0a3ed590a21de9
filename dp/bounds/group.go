package bounds

import (
	"fmt"
	"math"

	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/pair"
)

// Group is the guarantee of one step for a group, with the split it is attained at.
type Group struct {
	LogDelta          float64 // log δ: δ itself may underflow
	Inserted, Removed int
}

// GroupDelta is the mechanism-specific bound of one step for groups, Theorems 3.7 and 3.8 of SSKG
// (Gaussian), M.2 (Laplace and randomised response), their version for batches without replacement,
// and L.5 (with replacement): the largest δ(ε) over the splits of the relation. It is tight for
// Poisson samples. The event must be one step; any real ε is allowed.
func GroupDelta(step dp.Event, r dp.Relation, eps float64) (Group, error) {
	if math.IsNaN(eps) {
		return Group{}, bad("eps = %v: must be a number", eps)
	}
	branches, err := single(step, r)
	if err != nil {
		return Group{}, err
	}
	worst := Group{LogDelta: math.Inf(-1)}
	for i, b := range branches {
		if d := b.Steps[0].Pair.LogDelta(eps); i == 0 || d > worst.LogDelta {
			worst = Group{LogDelta: d, Inserted: b.Inserted, Removed: b.Removed}
		}
	}
	return worst, nil
}

// single returns the branches of an event that is one step.
func single(step dp.Event, r dp.Relation) ([]dp.Branch, error) {
	branches, err := dp.Branches(step, r)
	if err != nil {
		return nil, err
	}
	if b := branches[0]; len(b.Steps) != 1 || b.Steps[0].Times != 1 { // as in all others
		return nil, bad("step = %v: must be a single mechanism", step)
	}
	return branches, nil
}

// GroupRenyi is the Rényi divergence ρ(α) of one step for groups, from the same theorems: the
// largest over the splits, rounded up. For randomised response without replacement under
// substitution ResponseWOR is sharper.
func GroupRenyi(step dp.Event, r dp.Relation, alpha float64) (float64, error) {
	if err := in.Order(alpha); err != nil {
		return 0, err
	}
	branches, err := single(step, r)
	if err != nil {
		return 0, err
	}
	worst := 0.0
	for _, b := range branches {
		v, e := pair.Renyi(b.Steps[0].Pair, alpha)
		worst = max(worst, v+e)
	}
	return worst, nil
}

// ResponseWOR is Theorem I.3 of SSKG: the tight Rényi divergence of randomised response on n of size records without
// replacement, for one substitution:
//
//	ρ(α) = log[f^α θ^(1−α) + (1−f)^α (1−θ)^(1−α)]/(α−1),   f = (1−w)θ + w(1−θ), w = n/size.
func ResponseWOR(truth float64, n, size int, alpha float64) (float64, error) {
	if err := check.All(in.Subset(n, size), in.Order(alpha)); err != nil {
		return 0, err
	}
	p, err := pair.RandomizedResponse(truth, float64(n)/float64(size), 0)
	if err != nil {
		return 0, fmt.Errorf("bounds: %w", err)
	}
	v, e := pair.Renyi(p, alpha)
	return v + e, nil
}
