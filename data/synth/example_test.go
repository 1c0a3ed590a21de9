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

// A pair of SCONES' Table 2 in dimension 16.
func ExampleGaussianPair() {
	source, target, err := synth.GaussianPair(rand.New(rand.NewPCG(1, 2)), 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(source.Dim(), target.Dim())
	// Output: 16 16
}
