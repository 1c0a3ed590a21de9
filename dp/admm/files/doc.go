// Package files keeps a distributed transport problem in a folder, so that each node can be given
// its own file and no other.
//
//	DIR/network.json         who is joined to whom, and the rules: for the coordinator
//	DIR/nodes/target-3.json  what target 3 knows: its neighbours, utilities, bounds and, if it is private, its noise
//
// A node's file holds what is secret. Files are readable by their owner alone.
//
// A private node keeps a ledger of all that it has ever released (OpenLedger), in which an entry is
// safe before the release is made. Its budget is for all of the ledger: a node that is started
// again, or takes part in another run, goes on where it was.
//
// A utility is {"kind": "linear", "a": 3}, or log, saturating or quadratic with "a" and "b";
// functions of one's own have no file. A bound without max is unbounded.
package files
