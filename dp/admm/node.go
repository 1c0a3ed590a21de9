package admm

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"coupling/dp/internal/check"
	"coupling/dp/noise"
)

// Spec is the data of one node: its own utilities and bounds, and its neighbours.
type Spec struct {
	ID         ID
	Neighbours []int // indices on the other side, increasing, one for each edge
	Utilities  []Utility
	Bounds     Bounds
	// Secret makes the node's messages private (Algorithm 2); with nil they are exact.
	Secret *Secret
}

// Secret holds a private node's noise parameters and key.
type Secret struct {
	// Alpha is the privacy of each round, α_p; Sensitivity bounds how far a change of the protected
	// parameters moves the node's decision times η, in L2 norm: ρ for one parameter (see
	// Private.Sensitivity). The noise is ∝ exp(−ζ‖ξ‖), ζ = η·Alpha/Sensitivity.
	Alpha, Sensitivity float64
	// Slope is Private.Slope, the largest slope of the node's utilities; 0 means Sensitivity.
	Slope float64
	// Epsilon and Delta limit a run, for accounts of it; Epsilon 0 is no limit.
	Epsilon, Delta float64
	// Rounds is the number of rounds that the node's budget pays for.
	Rounds int
	// Key seeds the noise of every round, so that a message that is sent again, or computed again
	// after a crash, has the same noise: new noise on the same decision would cost budget again.
	// Anyone with the key can remove the noise.
	Key [32]byte
	// Ledger accounts for the releases of all runs; without it, Rounds holds for each run
	// separately.
	Ledger Ledger
}

// Node is an agent: it answers questions about its own copy of its edges' amounts. It keeps no
// state between rounds.
type Node struct {
	spec      Spec
	rules     ADMM
	local     local
	out, work []float64 // what it shares, and its decision without utilities and bounds
}

// NewNode returns a node that answers by rules. Errors: rules or a spec out of range.
func NewNode(spec Spec, rules ADMM) (*Node, error) {
	rules = rules.Filled()
	if err := check.All(rules.Check(), spec.check(rules)); err != nil {
		return nil, err
	}
	d := len(spec.Neighbours)
	return &Node{
		spec:  spec,
		rules: rules,
		local: newLocal(spec.Utilities, spec.Bounds),
		out:   make([]float64, d),
		work:  make([]float64, d),
	}, nil
}

func (s Spec) check(rules ADMM) error {
	if len(s.Utilities) != len(s.Neighbours) {
		return bad("%v: %d utilities for %d neighbours", s.ID, len(s.Utilities), len(s.Neighbours))
	}
	for i, u := range s.Utilities {
		if err := checkUtility(u); err != nil {
			return fmt.Errorf("%v, edge to %v: %w", s.ID, s.ID.Peer(s.Neighbours[i]), err)
		}
		if i > 0 && s.Neighbours[i] <= s.Neighbours[i-1] {
			return bad("%v: neighbours %v: must increase", s.ID, s.Neighbours)
		}
	}
	if err := s.Bounds.check(); err != nil {
		return fmt.Errorf("%v: %w", s.ID, err)
	}
	if s.Secret == nil {
		return nil
	}
	switch {
	case !(s.Secret.Alpha > 0 && s.Secret.Sensitivity > 0):
		return bad("%v: Alpha = %v, Sensitivity = %v: must be positive", s.ID, s.Secret.Alpha, s.Secret.Sensitivity)
	case !(s.Secret.Slope >= 0):
		return bad("%v: Slope = %v: must be at least 0", s.ID, s.Secret.Slope)
	case rules.Rounds < 1:
		return bad("Rounds = %d: private nodes need a number of rounds", rules.Rounds)
	case rules.Adapt:
		return bad("Adapt: private rounds are accounted for with a fixed η only")
	}
	return s.checkSlopes(cmp.Or(s.Secret.Slope, s.Secret.Sensitivity))
}

// checkSlopes refuses utilities that are steeper than the slope for which the noise was scaled.
func (s Spec) checkSlopes(slope float64) error {
	for k, u := range s.Utilities {
		if steep := u.Slope(0); !(steep <= slope*(1+rounding)) {
			return bad("%v, edge to %v: slope %v is above Slope = %v", s.ID, s.ID.Peer(s.Neighbours[k]), steep, slope)
		}
	}
	return nil
}

// sign of the price in the node's own objective: targets pay it, sources earn it.
func (n *Node) sign() float64 {
	return of(n.spec.ID.Side, -1.0, 1)
}

// Answer decides on the node's own copy, (4) or (5) of the paper with prices as in (9) and (10),
// adds noise if the node is private, (15) to (18), and returns what to share on each edge, which
// the next answer overwrites. Equal questions have equal answers, noise included. Errors: an
// invalid question; ErrBudget when the node's privacy budget does not pay for the round, and those
// of Secret.Ledger.
func (n *Node) Answer(q Question) ([]float64, error) {
	if err := n.checkQuestion(q); err != nil {
		return nil, err
	}
	if q.Phase == Projecting {
		n.nearest(q)
		return n.out, nil
	}
	scale := n.sign() / q.Eta
	for i, v := range q.Plan {
		n.work[i] = v + scale*q.Price[i]
	}
	n.local.solve(n.out, n.work, q.Eta)
	if n.spec.Secret != nil && len(n.out) > 0 {
		return n.perturb(q)
	}
	if slices.ContainsFunc(n.out, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
		return nil, bad("%v in round %d: decides %v: utilities, bounds or Eta are too large", n.spec.ID, q.Round, n.out)
	}
	return n.out, nil
}

// checkQuestion refuses an invalid question.
func (n *Node) checkQuestion(q Question) error {
	d, tail := len(n.out), 0
	if q.Phase == Projecting {
		tail = d
	}
	switch {
	case len(q.Plan) != d || len(q.Price) != d || len(q.Tail) != tail:
		return bad("%v is asked about %d amounts, %d prices and an average of %d: has %d edges", n.spec.ID, len(q.Plan),
			len(q.Price), len(q.Tail), d)
	case q.Round < 1 || !(q.Eta > 0) || math.IsInf(q.Eta, 0):
		return bad("%v is asked in round %d with Eta = %v: must be positive", n.spec.ID, q.Round, q.Eta)
	case q.Phase != Transporting && (q.Phase != Projecting || n.rules.Rounds == 0):
		return bad("%v is asked in phase %d, which the rules do not have", n.spec.ID, q.Phase)
	}
	return nil
}

// perturb pays for the round's release and returns the decision with its noise.
func (n *Node) perturb(q Question) ([]float64, error) {
	secret := n.spec.Secret
	if err := n.checkMagnitude(q); err != nil {
		return nil, err
	}
	zeta := q.Eta * secret.Alpha / secret.Sensitivity
	norm := noise.Norm{Zeta: zeta / (1 + 2*slack)} // the decision of either world may be wrong by slack
	if err := n.pay(q, zeta); err != nil {
		return nil, err
	}
	return norm.Add(rand.New(rand.NewChaCha8(n.mark("noise", q, zeta))), n.out)
}

// slack is the part of Sensitivity/η by which rounding may move a decision.
const slack = 1e-6

// checkMagnitude refuses a round in which amounts or prices are so large, as those of a dishonest
// neighbour may be, that rounding moves the decision by more than slack: the effect of the
// utilities on it would then not be bounded by Sensitivity/η. Whether it refuses depends on
// messages and bounds only. A tight Max is within len(out) times the largest amount.
func (n *Node) checkMagnitude(q Question) error {
	secret, eta := n.spec.Secret, q.Eta
	size := n.spec.Bounds.Min
	for i, v := range n.work {
		size = max(size, math.Abs(v), math.Abs(q.Plan[i]), math.Abs(q.Price[i])/eta)
	}
	size += cmp.Or(secret.Slope, secret.Sensitivity) / eta
	off, most := size*float64(len(n.out))*0x1p-50, slack*secret.Sensitivity/eta
	if !(off <= most) {
		return bad(
			"%v in round %d: amounts of up to %.3g, rounded by up to %.3g: must be at most %.3g for the noise to "+
				"hide a parameter", n.spec.ID, q.Round, size, off, most)
	}
	return nil
}

// nearest decides in the projecting phase: argmin ½‖v − tail‖² + η/2 ‖v − (π ∓ α/η)‖² over the node's set, with η = 1.
func (n *Node) nearest(q Question) {
	for i, v := range q.Plan {
		n.work[i] = (q.Tail[i] + v + n.sign()*q.Price[i]) / 2
	}
	n.local.projector.project(n.out, n.work, n.spec.Bounds)
}
