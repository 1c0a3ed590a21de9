// Package network is the transport between processes and machines: NATS, with a server that runs inside the coordinator's process.
//
// # In words
//
// The coordinator serves, on loopback unless told otherwise; whoever has the address, the token and the certificate joins:
//
//	server, err := network.Serve("127.0.0.1:0", "")                   // in the coordinator
//	line := network.Line{Access: server.Access(), Run: "vaccine"}     // in every process
//	link, err := line.Join(ctx, id)
//	amounts, err := (&agents.Agent{Rules: rules, Spec: spec, Link: link}).Run(ctx)
//
// Connections are TLS 1.3 with a certificate that is made for the run; its key stays with the server, whose Identity is to be kept as a
// secret if the server is to come back after its process has died. Clients
// trust that certificate and no other, and the server asks for the token. Who has the token is trusted as a party is in the paper:
// it can listen to every message on the server, which is the eavesdropper that private rounds are made for, and could disturb the run.
//
// NATS delivers at most once: what is sent to a node that is away is lost. Package agents asks again.
//
// # Why NATS
//
// Nodes come and go, know each other by name and not by address, and one node may have a thousand neighbours. A broker
// with subjects makes each of them one outgoing connection; with gRPC every pair of neighbours would be a server and a client, each to be found and
// certified. The server is a library in Go: there is nothing to install.
package network
