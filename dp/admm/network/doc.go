// Package network runs distributed transport with separate processes over HTTP: each node holds its
// own utilities, answers what the coordinator asks round by round, and is told its part of the
// plan.
//
//	server, err := network.Serve("127.0.0.1:0", "")                                       // in the coordinator
//	result, unheard, err := server.Run(ctx, network.Coordinator{Rules: rules, Graph: graph})
//	amounts, err := network.Node{Access: access, Rules: rules, Spec: spec}.Run(ctx)       // in a node
//
// # A round
//
// A node posts its share of the round that it was asked about last; the answer is the next
// admm.Question, which the server holds back until all nodes have shared. So a node needs one
// outgoing connection, whatever its number of neighbours, and no address of its own; and the result
// has the same bits as that of admm.ADMM.Solve and SolvePrivate.
//
// The paper's nodes send their shares to their neighbours, and both ends of an edge compute the
// same amount and price from it. Here the coordinator does, from the same messages: every message
// passed through its process before, when it kept a mailbox for each node. What a coordinator
// learns, or makes up, is what the paper's eavesdropper learns and a dishonest neighbour makes up;
// a private node's ledger and noise hold for any question.
//
// # Who may take part
//
// The server listens on a loopback address only, and asks for a token. Messages are not encrypted:
// nodes on other machines reach the server through a tunnel that is, for example
//
//	ssh -N -L 4222:127.0.0.1:4222 coordinator.example.org
//
// Anyone with the token is trusted as a party is in the paper: it can read every message on the
// server, which is the eavesdropper against whom private rounds protect, and could disturb the run.
//
// # Faults
//
// Requests may be lost, or come twice: a node asks again, and a share that is there already is
// passed over. A node remembers nothing between rounds, so one that was killed joins again and is
// asked the same question, which has the same answer, noise included, and costs nothing twice
// (admm.Ledger). A coordinator that was killed resumes from its Checkpoint at the same address with
// the same token, while nodes wait for it (Node.Wait); rounds that are asked again have the same
// answers. Without a checkpoint it begins another run, which nodes of the first do not join.
//
// # Why rounds wait for everyone
//
// The paper's algorithm is synchronous: (4) to (12) and their private versions (14) to (20) use
// what every node shared in the same round, its convergence is that of the synchronous method (Boyd
// et al. 2011), and none of its figures has delays. Rounds in which late shares are replaced by old
// ones existed here once; they need a step size for the delay, have no place in the paper's proof
// or figures, and to a private node a stale question is one more release. So there are none, here
// or in admm.ADMM.
//
// # Why HTTP
//
// The standard library has it, a user can look at it with curl, and it passes tunnels and proxies.
// A message broker (NATS, which this package once embedded) does as much with eight modules and a
// tenth of the command, and its guarantee is the same: at most once.
package network
