package slurm_test

import (
	"context"
	"fmt"
	"log"

	"coupling/lab"
	"coupling/lab/slurm"
	"coupling/lab/sweepfile"
)

// A sweep of one's own on a cluster whose nodes see /shared.
func ExampleExecutor() { //nolint:testableexamples // needs a cluster
	ctx := context.Background()
	store, err := lab.OpenStore("/shared/results")
	if err != nil {
		log.Fatal(err)
	}
	program, err := sweepfile.Build(ctx, "sweep/main.go", "/shared/bin")
	if err != nil {
		log.Fatal(err)
	}
	cluster := slurm.Executor{
		Command: program.Command(),
		Env:     []string{"COUPLING_STORE=" + store.Dir},
		Request: slurm.Request{Time: "30", Mem: "4G", ArrayLimit: 50}, // 30 minutes a task, 50 at a time
	}
	for job, err := range cluster.Run(ctx, store, program.Jobs) {
		fmt.Println(job.Record().Params, err) // as cells land; a failed one does not stop the others
	}
}
