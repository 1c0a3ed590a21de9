package pair_test

import (
	"fmt"

	"coupling/dp/pair"
)

// One step of DP-SGD: noise multiplier 1.1, Poisson sampling at rate 0.01, one record removed.
func ExamplePoisson() {
	p, err := pair.Poisson(pair.Gaussian, 1.1, 0.01, 0, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	removal, insertion := pair.Delta(p, 0.5), pair.Delta(p.Swap(), 0.5)
	renyi, _ := pair.Renyi(p, 2)
	fmt.Printf("δ(0.5): %.3g removed, %.3g inserted; D₂ = %.4g\n", removal, insertion, renyi)
	// Output: δ(0.5): 2.75e-08 removed, 0 inserted; D₂ = 0.0001285
}

// A threshold far in the tail: δ itself underflows, its logarithm does not.
func ExamplePair() {
	p, err := pair.Poisson(pair.Gaussian, 5, 0.001, 0, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("δ(4) = exp(%.6f)\n", p.LogDelta(4))
	// Output: δ(4) = exp(-1494.199478)
}
