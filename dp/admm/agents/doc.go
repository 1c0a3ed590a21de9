// Package agents runs distributed transport with separate nodes: each holds its own utilities and exchanges messages with its neighbours,
// and a coordinator, which sees sums of squares only, decides when to stop.
//
// # In words
//
// A target with three sources knows its three utilities and its bounds. In each round its Agent decides what it would like to get from each
// source and sends each the amount for their edge. When all three have answered, both ends of each edge hold the same new amount and price,
// and the agent reports to the Coordinator how far the two sides were apart. The Coordinator adds up the reports and answers go on or stop.
// Solve plays all of them in one process over any Transport:
//
//	result, err := agents.Solve(ctx, admm.ADMM{}, &agents.Channels{}, prob.Graph, prob.Specs(), 0)
//
// Package network has the transport between processes.
//
// # Faults
//
// A Transport need not be reliable. Every message names its round: one that comes twice or late is recognised and dropped, and one that does
// not come is asked for again. A node that was killed resumes from its saved state and repeats its round, with the same noise if it is
// private, while the others wait: the answer is the same to the last bit. A node that comes back without its state is told so and ends the
// run (admm.ErrLost). A coordinator that was killed resumes from its Checkpoint; without it, the run ends. At the end all stay until every
// node has the last decision.
//
// Reports are added in the order of the nodes, whichever comes first, so that the plan has the same bits as that of admm.ADMM.Solve.
//
// # Source
//
// Boyd et al., "Distributed optimization and statistical learning via the alternating direction method of multipliers" (2011).
package agents
