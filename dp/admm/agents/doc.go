// Package agents runs distributed transport with nodes that are really apart: each holds its own utilities and exchanges messages with
// its neighbours, and a coordinator that sees nothing but sums of squares says when to stop.
//
// # In words
//
// A target with three sources knows its three utilities and its bounds. In each round its Agent decides what it would like to get from each
// source and sends each the amount for their edge; when all three have answered, both ends of each edge hold the same
// new amount and price, and the agent tells the Conductor how far the two sides were apart. The Conductor adds up what it hears and answers go
// on or stop. Solve plays everybody in one process over any Transport:
//
//	result, err := agents.Solve(ctx, admm.ADMM{}, &agents.Channels{}, prob.Graph, prob.Specs(), 0)
//
// Package network has the transport between processes and machines.
//
// # Faults
//
// A Transport need not be reliable. A message belongs to a round, so that one that comes twice or too late is recognised and dropped; what does
// not come is asked for again. A node that dies takes up its saved state, redoes the round that it was in, with the same
// noise if it is private, and all go on: the answer is the same to the last bit. While it is away the others wait. A node that
// comes back without its state is told so and ends the run (admm.ErrLost). So it is with the coordinator: what it must remember are its
// Minutes, and one that knows nothing of a run ends it. At the end all stay until everybody has the last verdict.
//
// Reports are added in the order of the nodes, whichever comes first. So the plan of a run in step has the same bits as that of
// admm.ADMM.Solve.
//
// # Sources
//
// Boyd et al., "Distributed optimization and statistical learning via the alternating direction method of multipliers" (2011). Zhang, Kwok,
// "Asynchronous distributed ADMM for consensus optimization" (ICML 2014), for Delay.
package agents
