package agents_test

import (
	"context"
	"fmt"
	"time"

	"coupling/dp/admm"
	"coupling/dp/admm/admmtest"
	"coupling/dp/admm/agents"
)

// Each node is an agent, and the line between them loses a tenth of all messages: the plan has the same bits as in one loop.
func ExampleSolve() {
	prob := admm.Problem{
		Graph:         admm.Complete(2, 2),
		TargetUtility: []admm.Utility{admm.Linear{A: 1}, admm.Linear{A: 4}, admm.Linear{A: 2}, admm.Linear{A: 3}},
		TargetBounds:  []admm.Bounds{{Max: 3}, {Min: 1, Max: 2}},
		SourceBounds:  []admm.Bounds{{Max: 5}, {Max: 4}},
	}
	here, err := admm.ADMM{}.Solve(context.Background(), prob)
	if err != nil {
		fmt.Println(err)
		return
	}
	line := &admmtest.Faulty{Transport: &agents.Channels{}, Seed: 1, Lose: 0.1}
	there, err := agents.Solve(context.Background(), admm.ADMM{}, line, prob.Graph, prob.Specs(), 2*time.Millisecond)
	if err != nil {
		fmt.Println(err)
		return
	}
	same := true
	for i := range here.Plan {
		same = same && here.Plan[i] == there.Plan[i]
	}
	fmt.Println(there.Status, same)
	// Output: converged true
}
