// Package admmtest helps to test distributed transport: random problems of every kind, and transports that lose, repeat and delay
// messages.
//
//	prob := admmtest.Problem(rng, admmtest.Kinds()[0])
//	line := &admmtest.Faulty{Transport: &agents.Channels{}, Seed: 1, Lose: 0.2}
//	result, err := agents.Solve(ctx, admm.ADMM{}, line, prob.Graph, prob.Specs(), time.Millisecond)
package admmtest
