// Package network is the transport between processes: HTTP, with a mailbox for each node in the coordinator's process.
//
//	server, err := network.Serve("127.0.0.1:0", "")                 // in the coordinator
//	link, err := network.Line{Access: server.Access()}.Join(ctx, id) // in a node
//	amounts, err := (&agents.Agent{Rules: rules, Spec: spec, Link: link}).Run(ctx)
//
// A node posts the messages that it has for others, and the answer brings those that have come for it; the server holds the answer back
// until there is one. So a node needs one outgoing connection, whatever its number of neighbours, and no address of its own.
//
// # Who may take part
//
// The server listens on a loopback address only, and asks for a token. Messages are not encrypted: nodes on other machines reach the server
// through a tunnel that is, for example
//
//	ssh -N -L 4222:127.0.0.1:4222 coordinator.example.org
//
// Who has the token is trusted as a party is in the paper: it can read every message on the server, which is the eavesdropper against whom
// private rounds protect, and could disturb the run.
//
// # Faults
//
// Messages may be lost, as when a request breaks off; package agents asks again. A server that comes back at the same address with the
// same token goes on serving its nodes, whose links wait for it (Line.Wait).
//
// # Why HTTP
//
// The standard library has it, a user can look at it with curl, and it passes tunnels and proxies. A message broker (NATS, which this
// package once embedded) does as much with eight modules and a tenth of the command, and its guarantee is the same: at most once.
package network
