package eavesdrop

import (
	"slices"

	"coupling/dp/admm"
)

// Record holds the messages of a run and the public knowledge of it. Listen is an ADMM.Trace.
type Record struct {
	// Problem gives the network and the bounds; utilities are not read.
	Problem admm.Problem
	rounds  []round
	// The amounts and prices after the last round.
	plan, price []float64
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
	if r.plan == nil {
		r.plan, r.price = make([]float64, len(s.Plan)), make([]float64, len(s.Plan))
	}
	shared := [2][]float64{slices.Clone(s.FromTarget), slices.Clone(s.FromSource)}
	r.rounds = append(r.rounds, round{eta: s.Eta, shared: shared, plan: r.plan, price: r.price})
	r.plan, r.price = slices.Clone(s.Plan), slices.Clone(s.Price)
}

// Rounds is the number of rounds that were recorded.
func (r *Record) Rounds() int { return len(r.rounds) }

// First returns a record of the first k rounds.
func (r *Record) First(k int) *Record {
	return &Record{Problem: r.Problem, rounds: r.rounds[:min(k, len(r.rounds))]}
}
