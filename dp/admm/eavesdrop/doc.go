// Package eavesdrop is the adversary of distributed transport: it records every message and infers
// the utilities.
//
// # Example
//
// Record what a run shares, then solve a least-squares problem for each node:
//
//	record := eavesdrop.Record{Problem: public}
//	result, err := admm.ADMM{Trace: record.Listen}.Solve(ctx, prob)
//	found, err := eavesdrop.Attack{Lo: 1, Hi: 5}.Node(&record, admm.ID{Side: admm.Target, Index: 3})
//
// What targets share in round k is, for linear utilities with parameters θ and the noise ξ of private runs,
//
//	ṽ_k = Proj(π_k + (θ − α_k)/η) + ξ_k,
//
// and π_k, α_k follow from the messages before. So the attack is nonlinear least squares over θ,
// with a known Jacobian: the projection's, 1/η times the identity on the positive amounts, less its
// mean where a bound on the sum is tight. Without noise a few rounds reveal θ, except where the
// messages do not depend on it: a parameter whose edge never carries anything, and a constant added
// to all of a node's parameters while its sum stays at a bound. There the attack keeps its initial
// guess.
//
// The attacker knows bounds and rules, as differential privacy assumes.
package eavesdrop
