package batch_test

import (
	"fmt"
	"math/rand/v2"

	"coupling/data/batch"
)

func ExampleSplit() {
	rng := rand.New(rand.NewPCG(1, 2))
	parts, err := batch.Split(rng, 10, 6, 4)
	fmt.Println(len(parts[0]), len(parts[1]), err)
	// Output: 6 4 <nil>
}
