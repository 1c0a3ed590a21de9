package admm

import (
	"math"
	"slices"

	"coupling/dp/admm"
	"coupling/figures/internal/kit"
	"coupling/lab"

	"gonum.org/v1/gonum/floats"
)

// Noise is that of all messages of a run, as who knows the utilities hears it. That of a node with d edges has the
// density ∝ exp(−ζ‖ξ‖) in d dimensions, so that ζ‖ξ‖ follows a Gamma law, whose mean and variance are d.
type Noise struct {
	Norms float64 `json:"norms"` // Σ ζ‖ξ‖ over nodes and rounds
	Edges int     `json:"edges"` // Σ d
}

// off is by how many standard errors the norms are from those that are accounted for.
func (n Noise) off() float64 { return math.Abs(n.Norms-float64(n.Edges)) / math.Sqrt(float64(n.Edges)) }

// listen adds the noise of each round of a problem of linear utilities at α_p to n: what nodes share less what they
// decide on, which is the projection of π ∓ α/η + θ/η onto their bounds.
func (n *Noise) listen(of admm.Problem, alpha float64) func(admm.Step) {
	nodes, incidence := of.Graph.Nodes(), of.Graph.Incidence()
	plan, price := make([]float64, len(of.Graph.Edges)), make([]float64, len(of.Graph.Edges))
	return func(s admm.Step) {
		if s.Phase != admm.Transporting {
			return
		}
		for i, id := range nodes {
			shared, utility, sign := s.FromTarget, of.TargetUtility, -1.
			if id.Side == admm.Source {
				shared, utility, sign = s.FromSource, of.SourceUtility, 1
			}
			var decision, heard []float64
			for _, e := range incidence[i] {
				decision = append(decision, plan[e]+(sign*price[e]+utility[e].Slope(0))/s.Eta)
				heard = append(heard, shared[e])
			}
			admm.Project(decision, decision, of.Bounds(id))
			n.Norms += s.Eta * alpha / slope * floats.Distance(heard, decision, 2)
			n.Edges += len(decision)
		}
		plan, price = slices.Clone(s.Plan), slices.Clone(s.Price)
	}
}

// asAccounted is the claim that the noise of all runs that have some is that of their α_p.
func asAccounted(seen []Noise, null lab.Null) lab.Claim {
	off := math.Inf(-1)
	for _, n := range seen {
		if n.Edges > 0 {
			off = max(off, n.off())
		}
	}
	return kit.AtMost("noise of all messages: sum of ζ‖ξ‖ less its mean, in standard errors, largest of the runs",
		"Theorem 1: density ∝ exp(−ζ‖ξ‖), ζ = ηα_p/ρ", off, 5,
		"a Gamma law of thousands of degrees; the largest of thousands of runs is seldom above 4", null)
}
