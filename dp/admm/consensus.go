package admm

import (
	"math"
	"slices"
)

// Consensus is the public part of a run: from the shared messages it computes the next amounts and
// prices, and decides when to stop. It has no access to utilities and bounds.
type Consensus struct {
	State
	rules     ADMM
	graph     Graph
	incidence [][]int32    // edges of every node, in the order of Graph.Nodes
	shared    [2][]float64 // by edge, from targets and from sources
}

// State is all that a Consensus keeps between rounds.
type State struct {
	Round   int       `json:"round"` // the next round, from 1, over both phases
	Phase   Phase     `json:"phase"` // of that round
	Since   int       `json:"since"` // rounds of this phase that have ended
	Adapted int       `json:"adapted"`
	Eta     float64   `json:"eta"`
	Plan    []float64 `json:"plan"`  // π
	Price   []float64 `json:"price"` // α
	// sum so far of the plans that are averaged, each divided by their number
	Tail         []float64 `json:"tail,omitempty"`
	Primal, Dual float64   // relative residuals of the last round
	Done         bool      `json:"done"`
	Status       Status    `json:"status"`
}

// Phase of a run.
type Phase int

const (
	// Transporting is Algorithm 1 or 2.
	Transporting Phase = iota
	// Projecting follows the rounds of Algorithm 2: the nodes agree, by Algorithm 1 without
	// utilities, on the feasible plan that is nearest to the average of the shared plans. It uses
	// messages and bounds only, and so costs no privacy.
	Projecting
)

// Question is the request to a node in a round. Its answer depends only on the Question and its
// Spec; the Question is not secret.
type Question struct {
	Round int       `json:"round"`
	Phase Phase     `json:"phase"`
	Eta   float64   `json:"eta"`
	Plan  []float64 `json:"plan"` // π of its edges, in the order of Spec.Neighbours
	Price []float64 `json:"price"`
	Tail  []float64 `json:"tail,omitempty"` // the average to approach, in the projecting phase
}

// NewConsensus returns the start of a run: no amounts, no prices. To resume a run, set a stored
// State. Errors: rules out of range.
func NewConsensus(rules ADMM, g Graph) (*Consensus, error) {
	rules = rules.Filled()
	if err := rules.Check(); err != nil {
		return nil, err
	}
	edges := func() []float64 { return make([]float64, len(g.Edges)) }
	c := &Consensus{rules: rules, graph: g, incidence: g.Incidence(), shared: [2][]float64{edges(), edges()}}
	c.State = State{Round: 1, Eta: rules.Eta, Plan: edges(), Price: edges()}
	if rules.Rounds > 0 {
		c.Tail = edges()
	}
	return c, nil
}

// Ask writes to q what node is asked, counting in the order of Graph.Nodes.
func (c *Consensus) Ask(node int, q *Question) {
	q.Round, q.Phase, q.Eta = c.Round, c.Phase, c.Eta
	q.Plan, q.Price, q.Tail = q.Plan[:0], q.Price[:0], q.Tail[:0]
	for _, e := range c.incidence[node] {
		q.Plan, q.Price = append(q.Plan, c.Plan[e]), append(q.Price, c.Price[e])
		if c.Phase == Projecting {
			q.Tail = append(q.Tail, c.Tail[e])
		}
	}
}

// Take records what a node shares in this round, one amount for each edge. It may be called for
// different nodes at once.
func (c *Consensus) Take(node int, share []float64) error {
	if len(share) != len(c.incidence[node]) {
		return bad("%v shares %d amounts: must be one for each of %d edges", c.graph.node(node), len(share),
			len(c.incidence[node]))
	}
	to := c.shared[c.graph.node(node).Side]
	for k, e := range c.incidence[node] {
		if math.IsNaN(share[k]) || math.IsInf(share[k], 0) {
			return bad("%v shares %v in round %d: must be finite", c.graph.node(node), share[k], c.Round)
		}
		to[e] = share[k]
	}
	return nil
}

// Update ends a round in which all nodes have shared: (11) and (12) of the paper with
// over-relaxation λ, π ← λ(π^t + π^s)/2 + (1−λ)π and α += λη/2 (π^t − π^s), and decides on the next
// phase. The residuals are those of Boyd et al. 2011, 3.3.1. Errors: sums beyond float64, where
// amounts or prices are too large.
func (c *Consensus) Update() error {
	relax, eta := c.rules.Relax, c.Eta
	if c.Phase == Projecting {
		relax, eta = 1, 1
	}
	gap2, change2, plan2, price2 := 0.0, 0.0, 0.0, 0.0
	for e, before := range c.Plan {
		t, s := c.shared[Target][e], c.shared[Source][e]
		v := relax*((t+s)/2) + (1-relax)*before
		p := c.Price[e] + relax*(eta/2)*(t-s)
		gap2 += (t - s) * (t - s)
		change2 += eta * eta * (v - before) * (v - before)
		plan2 += v * v
		price2 += p * p
		c.Plan[e], c.Price[e] = v, p
	}
	if sum := gap2 + change2 + plan2 + price2; math.IsNaN(sum) || math.IsInf(sum, 0) {
		return bad(
			"after round %d squares of gaps, changes, amounts and prices sum to %v, %v, %v, %v: utilities, bounds "+
				"or Eta are too large", c.Round, gap2, change2, plan2, price2)
	}
	c.Primal, c.Dual = relative(gap2, len(c.Plan), plan2), relative(change2, len(c.Plan), price2)
	if c.Phase == Transporting && c.Round > c.rules.Rounds-c.rules.Tail {
		for e := range c.Tail {
			c.Tail[e] += c.Plan[e] / float64(c.rules.Tail)
		}
	}
	if c.rules.Trace != nil {
		c.rules.Trace(Step{
			Round:      c.Round,
			Phase:      c.Phase,
			Eta:        c.Eta,
			FromTarget: c.shared[Target],
			FromSource: c.shared[Source],
			Plan:       c.Plan,
			Price:      c.Price,
			Primal:     c.Primal,
			Dual:       c.Dual,
		})
	}
	c.Round++
	c.Since++
	c.decide()
	return nil
}

// relative is 0 for a network without edges.
func relative(residual2 float64, edges int, norm2 float64) float64 {
	if edges == 0 {
		return 0
	}
	return math.Sqrt(residual2) / (math.Sqrt(float64(edges)) + math.Sqrt(norm2))
}

const (
	// η changes at most every adaptEvery rounds, by adaptBy, when one residual is adaptAt times the
	// other, and never after adaptUntil rounds, so that the convergence theory of a fixed η applies
	// from there on.
	adaptEvery, adaptUntil = 10, 300
	adaptBy, adaptAt       = 2, 5
)

// decide continues, begins the projecting phase, or stops.
func (c *Consensus) decide() {
	switch {
	case c.Phase == Transporting && c.rules.Rounds > 0:
		if c.Since == c.rules.Rounds {
			c.Phase, c.Since = Projecting, 0
			c.Plan = slices.Clone(c.Tail)
			clear(c.Price)
		}
	case max(c.Primal, c.Dual) <= c.rules.Tol:
		c.Done, c.Status = true, Converged
	case c.Since >= c.rules.MaxRounds:
		c.Done, c.Status = true, RoundLimit
	case c.rules.Adapt && c.Phase == Transporting && c.Since-c.Adapted >= adaptEvery && c.Since <= adaptUntil:
		switch {
		case c.Primal > adaptAt*c.Dual:
			c.Eta, c.Adapted = c.Eta*adaptBy, c.Since
		case c.Dual > adaptAt*c.Primal:
			c.Eta, c.Adapted = c.Eta/adaptBy, c.Since
		}
	}
}

// Result returns the plan agreed on.
func (c *Consensus) Result() *Result {
	r := &Result{
		Plan:   slices.Clone(c.Plan),
		Price:  slices.Clone(c.Price),
		Rounds: c.Round - 1,
		Status: c.Status,
		Primal: c.Primal,
		Dual:   c.Dual,
		Eta:    c.Eta,
	}
	if c.Phase == Projecting {
		r.Average = slices.Clone(c.Tail)
	}
	return r
}
