package network_test

import (
	"context"
	"fmt"

	"coupling/dp/admm"
	"coupling/dp/admm/network"
)

// A server on loopback, and all nodes with connections of their own.
func ExampleServe() {
	server, err := network.Serve("127.0.0.1:0", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	prob := admm.Problem{
		Graph:         admm.Complete(1, 2),
		TargetUtility: []admm.Utility{admm.Log{A: 1, B: 1}, admm.Log{A: 2, B: 1}},
		TargetBounds:  []admm.Bounds{{Max: 3}},
	}
	for _, spec := range prob.Specs() { // processes of their own, as a rule
		go func() { _, _ = network.Node{Access: server.Access(), Spec: spec}.Run(context.Background()) }()
	}
	result, _, err := server.Run(context.Background(), network.Coordinator{Graph: prob.Graph})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", result.Plan)
	// Output: [0.6667 2.3333]
}
