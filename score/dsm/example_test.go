package dsm_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/data/synth"
	"coupling/lab/device"
	"coupling/score/dsm"

	"gonum.org/v1/gonum/mat"
)

// The score of N(0, 1) at noise level 1 is that of N(0, 2): −x/2.
func ExampleTraining() {
	rng := rand.New(rand.NewPCG(1, 2))
	x, err := synth.Normal(rng, 1000, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	dev, err := device.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	levels := []float64{1, .5}
	net := dsm.DenoisingMLP([]float64{0}, 1, levels, 16, 1)
	f, err := dsm.Training{Sigmas: levels, Steps: 200}.Run(context.Background(), rng, dev, net, x, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := mat.NewDense(1, 1, nil)
	err = f.Score(s, mat.NewDense(1, 1, []float64{1}), 1)
	fmt.Printf("%.1f %v\n", s.At(0, 0), err)
	// Output: -0.5 <nil>
}
