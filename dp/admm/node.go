package admm

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/dp/noise"
)

// Spec is all that a node knows: its own utilities and bounds, and who its neighbours are.
type Spec struct {
	ID         ID
	Neighbours []int // indices on the other side, increasing: one an edge
	Utilities  []Utility
	Bounds     Bounds
	// Secret makes the node's shares private (Algorithm 2); nil shares them as they are.
	Secret *Secret
}

// Secret is what a private node keeps to itself about its noise.
type Secret struct {
	// Alpha is the privacy of each round, α_p; Sensitivity bounds how far a change of the protected parameters moves the node's decision
	// times η, in L2 norm: ρ for one parameter (see Private.Sensitivity). The noise is ∝ exp(−ζ‖ξ‖), ζ = η·Alpha/Sensitivity.
	Alpha, Sensitivity float64
	// Slope is Private.Slope, above which no utility of the node may be; 0 means Sensitivity.
	Slope float64
	// Epsilon and Delta limit a run, for accounts of it; Epsilon 0 is no limit.
	Epsilon, Delta float64
	// Rounds is how many rounds the node's budget pays for.
	Rounds int
	// Key seeds the noise of every round, so that a message that is sent again, or computed again after a crash, carries the same noise:
	// fresh noise on the same decision would be spent twice. Who knows the key can remove the noise.
	Key [32]byte
	// Ledger keeps account of what is released, over all runs; nil keeps none, and Rounds then holds for each run by itself.
	Ledger Ledger
}

// Phase of a run.
type Phase int

const (
	// Transporting is Algorithm 1 or 2.
	Transporting Phase = iota
	// Projecting follows the rounds of Algorithm 2: the nodes agree, by Algorithm 1 without utilities, on the feasible plan that is
	// nearest to the average of the shared plans. It uses messages and bounds only, and so costs no privacy.
	Projecting
)

// Node is an agent: it decides on its own copy of its edges' amounts and learns the others' from messages. All that it holds beside
// its Spec, amounts and prices of its edges, follows from messages alone, and the node at the other end holds the same numbers.
type Node struct {
	spec  Spec
	rules ADMM
	local local
	state State
	out   []float64 // what the node shares in this round
	work  []float64
}

// State is what a node must remember between rounds, and nothing secret: it follows from the messages so far.
type State struct {
	Run    string    `json:"run,omitempty"` // of which run, to resume
	Round  int       `json:"round"`         // the round that is to be done, from 1
	Phase  Phase     `json:"phase"`
	Eta    float64   `json:"eta"`
	Plan   []float64 `json:"plan"`  // π, an amount an edge
	Price  []float64 `json:"price"` // α
	Tail   []float64 `json:"tail,omitempty"`
	Before []float64 `json:"before,omitempty"` // what was shared in the round before, for neighbours that ask again
	Final  *Decision `json:"final,omitempty"`  // the last decision, once the run has ended for the node
}

// NewNode returns a node at the start: no amounts, no prices.
func NewNode(spec Spec, rules ADMM) (*Node, error) {
	rules = rules.Filled()
	if err := rules.Check(); err != nil {
		return nil, err
	}
	if err := spec.check(rules); err != nil {
		return nil, err
	}
	d := len(spec.Neighbours)
	n := &Node{spec: spec, rules: rules, local: newLocal(spec.Utilities, spec.Bounds), out: make([]float64, d), work: make([]float64, d)}
	n.state = State{Round: 1, Eta: rules.Eta, Plan: make([]float64, d), Price: make([]float64, d)}
	if rules.Rounds > 0 {
		n.state.Tail = make([]float64, d)
	}
	return n, nil
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
	if n.spec.ID.Side == Target {
		return -1
	}
	return 1
}

// Propose decides on the node's own copy, (4) or (5) of the paper with prices as in (9) and (10), adds noise if the node is private, (15) to
// (18), and returns what to share on each edge. It gives the same answer however often it is asked in a round. Errors:
// ErrBudget when the node's privacy budget does not pay for the round, and those of Secret.Ledger.
func (n *Node) Propose() ([]float64, error) {
	s := &n.state
	if s.Phase == Projecting {
		n.nearest()
		return n.out, nil
	}
	scale := n.sign() / s.Eta
	for i, v := range s.Plan {
		n.work[i] = v + scale*s.Price[i]
	}
	n.local.solve(n.out, n.work, s.Eta)
	if n.spec.Secret == nil || len(n.out) == 0 {
		return n.out, nil
	}
	if err := n.perturb(); err != nil {
		clear(n.out) // so that nobody sees the decision without noise
		return nil, err
	}
	return n.out, nil
}

// perturb pays for the round's release and adds its noise to out.
func (n *Node) perturb() error {
	secret := n.spec.Secret
	if err := n.checkMagnitude(); err != nil {
		return err
	}
	zeta := n.state.Eta * secret.Alpha / secret.Sensitivity
	norm := noise.Norm{Zeta: zeta / (1 + 2*slack)} // either world's decision is off by slack
	source := n.source(zeta)
	if err := n.pay(source); err != nil {
		return err
	}
	shared, err := norm.Add(rand.New(rand.NewChaCha8(secret.digest("noise", source))), n.out)
	if err != nil {
		return err
	}
	n.out = shared
	return nil
}

// slack is the part of Sensitivity/η by which rounding may move a decision.
const slack = 1e-6

// checkMagnitude refuses a round in which amounts or prices are so large, as those of a dishonest neighbour may be, that rounding moves the
// decision by more than slack: the effect of the utilities on it would then not be bounded by Sensitivity/η. Whether it refuses depends on
// messages and bounds only. A tight Max is within len(out) times the largest amount.
func (n *Node) checkMagnitude() error {
	secret, eta := n.spec.Secret, n.state.Eta
	size := n.spec.Bounds.Min
	for i, v := range n.work {
		size = max(size, math.Abs(v), math.Abs(n.state.Plan[i]), math.Abs(n.state.Price[i])/eta)
	}
	size += cmp.Or(secret.Slope, secret.Sensitivity) / eta
	off, most := size*float64(len(n.out))*0x1p-50, slack*secret.Sensitivity/eta
	if !(off <= most) {
		return bad("%v in round %d: amounts of up to %.3g, rounded by up to %.3g: must be at most %.3g for the noise to hide a parameter", n.spec.ID, n.state.Round, size, off, most)
	}
	return nil
}

// nearest decides in the projecting phase: argmin ½‖v − tail‖² + η/2 ‖v − (π ∓ α/η)‖² over the node's set, with η = 1.
func (n *Node) nearest() {
	for i, v := range n.state.Plan {
		n.work[i] = (n.state.Tail[i] + v + n.sign()*n.state.Price[i]) / 2
	}
	n.local.projector.project(n.out, n.work, n.spec.Bounds)
}

// update is (11) and (12) of the paper on edge i with over-relaxation λ: π ← λ(π^t + π^s)/2 + (1−λ)π and α += λη/2 (π^t − π^s), the same
// at both ends. It returns the disagreement π^t − π^s and the change of π.
func (n *Node) update(i int, other float64) (gap, change float64) {
	s, t := other, n.out[i]
	if n.spec.ID.Side == Source {
		s, t = t, s
	}
	st, relax, eta := &n.state, n.rules.Relax, n.state.Eta
	if st.Phase == Projecting {
		relax, eta = 1, 1
	}
	before := st.Plan[i]
	st.Plan[i] = relax*((t+s)/2) + (1-relax)*before
	st.Price[i] += relax * (eta / 2) * (t - s)
	return t - s, st.Plan[i] - before
}

// Accept takes what the neighbours shared, in the order of the edges, ends the round, and returns what the coordinator may know.
func (n *Node) Accept(in []float64) Report {
	r := Report{Edges: len(in)}
	eta := n.state.Eta
	if n.state.Phase == Projecting {
		eta = 1
	}
	for i, v := range in {
		gap, change := n.update(i, v)
		r.Gap2 += gap * gap
		r.Change2 += eta * eta * change * change
		r.Plan2 += n.state.Plan[i] * n.state.Plan[i]
		r.Price2 += n.state.Price[i] * n.state.Price[i]
	}
	if st := &n.state; st.Phase == Transporting && st.Tail != nil && st.Round > n.rules.Rounds-n.rules.Tail {
		for i, v := range st.Plan {
			st.Tail[i] += v / float64(n.rules.Tail)
		}
	}
	n.state.Round++
	n.state.Before = append(n.state.Before[:0], n.out...)
	return r
}

// Apply prepares the next round by the coordinator's decision.
func (n *Node) Apply(v Decision) {
	if v.Action == BeginProjecting {
		n.state.Phase = Projecting
		copy(n.state.Plan, n.state.Tail)
		clear(n.state.Price)
	}
	n.state.Eta = v.Eta
}

// State is the node's memory. The node goes on to use its slices, so a caller that stores it must copy it. To resume, put a stored state in
// its place before a round.
func (n *Node) State() *State { return &n.state }

// Shared is what the node shares on edge i in this round, after Propose.
func (n *Node) Shared(i int) float64 { return n.out[i] }
