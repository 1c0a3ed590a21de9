package synth_test

import (
	"fmt"
	"math/rand/v2"

	"coupling/data/synth"
)

// The source and the target of SCONES' Figure 4.
func ExampleSwissRoll() {
	rng := rand.New(rand.NewPCG(1, 2))
	source, err := synth.Normal(rng, 400, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	target, err := synth.SwissRoll(rng, 500, 0.25)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(source.Dims())
	fmt.Println(target.Dims())
	// Output:
	// 400 2
	// 500 2
}

// A covariance of SCONES' Table 2 in dimension 16.
func ExampleRandomCovariance() {
	cov, err := synth.RandomCovariance(rand.New(rand.NewPCG(1, 2)), 16, 1, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cov.Dims())
	// Output: 16 16
}
