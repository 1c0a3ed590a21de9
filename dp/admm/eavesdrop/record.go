package eavesdrop

import (
	"slices"

	"coupling/dp/admm"
)

// Record holds the messages of a run and the public knowledge of it. Listen is an ADMM.Trace.
type Record struct {
	// Problem gives the network and the bounds; utilities are not read.
	Problem admm.Problem
	// Rules of the run, for λ.
	Rules  admm.ADMM
	rounds []round
}

// round holds what was shared, and the amounts and prices that everyone could compute before it.
type round struct {
	eta         float64
	shared      [2][]float64
	plan, price []float64
}

// Listen records a round. The projecting phase does not depend on utilities and is skipped.
func (r *Record) Listen(s admm.Step) {
	if s.Phase != admm.Transporting {
		return
	}
	now := round{eta: s.Eta, shared: [2][]float64{slices.Clone(s.FromTarget), slices.Clone(s.FromSource)}}
	now.plan, now.price = make([]float64, len(s.Plan)), make([]float64, len(s.Plan))
	if n := len(r.rounds); n > 0 {
		r.rounds[n-1].next(now.plan, now.price, r.Rules.Filled().Relax)
	}
	r.rounds = append(r.rounds, now)
}

// next computes amounts and prices after a round, as the nodes do.
func (r round) next(plan, price []float64, relax float64) {
	for e := range plan {
		t, s := r.shared[admm.Target][e], r.shared[admm.Source][e]
		plan[e] = relax*((t+s)/2) + (1-relax)*r.plan[e]
		price[e] = r.price[e] + relax*(r.eta/2)*(t-s)
	}
}

// Rounds is the number of rounds that were recorded.
func (r *Record) Rounds() int { return len(r.rounds) }

// First returns a record of the first k rounds.
func (r *Record) First(k int) *Record {
	return &Record{Problem: r.Problem, Rules: r.Rules, rounds: r.rounds[:min(k, len(r.rounds))]}
}
