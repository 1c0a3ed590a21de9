package batch_test

import (
	"fmt"
	"math/rand/v2"

	"coupling/data/batch"
)

// Three steps of private training: each of 1000 examples is in a batch with
// probability 0.005.
func ExamplePoisson() {
	rng := rand.New(rand.NewPCG(1, 2))
	batches, err := batch.Poisson(rng, 1000, 0.005)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step, indices := range batches {
		if step == 3 {
			break
		}
		fmt.Println(step, indices)
	}
	// Output:
	// 0 [225 349 491 604 923]
	// 1 [341 424]
	// 2 [65 251 776 812]
}

func ExampleSplit() {
	rng := rand.New(rand.NewPCG(1, 2))
	parts, err := batch.Split(rng, 10, 6, 4)
	fmt.Println(len(parts[0]), len(parts[1]), err)
	// Output: 6 4 <nil>
}
