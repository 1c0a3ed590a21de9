package audit_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/dp"
	"coupling/dp/audit"
)

// A mechanism that was meant to have σ = 1 and has half of it.
func ExampleTwoWorlds() {
	game := audit.TwoWorlds[float64]{
		Run: func(rng *rand.Rand, world bool) (float64, error) {
			x := 0.0
			if world {
				x = 1
			}
			return x + 0.5*rng.NormFloat64(), nil
		},
		Score: func(out float64) float64 { return out },
	}
	found, err := game.Epsilon(context.Background(), rand.New(rand.NewPCG(1, 2)), 0.01)
	if err != nil {
		fmt.Println(err)
		return
	}
	claim, err := dp.Epsilon(context.Background(), dp.Gaussian{NoiseMultiplier: 1}, dp.Relation{}, 0.01)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("caught:", found.Refutes(claim.Epsilon))
	// Output: caught: true
}
