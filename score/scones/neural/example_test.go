package neural_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/ot/gaussian"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
)

// Networks learn the potentials between N(0, 1) and N(0, 4) at λ = 4.
func ExampleTraining() {
	p, q := gaussian.Normal{Cov: mat.NewSymDense(1, []float64{1})},
		gaussian.Normal{Cov: mat.NewSymDense(1, []float64{4})}
	dev, err := device.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	training := neural.Training{Hidden: []int{16, 16},
		Ascent: scones.Ascent{Compatibility: scones.Compatibility{Lambda: 4}, Steps: 200}}
	potentials, err := training.Run(context.Background(), rand.New(rand.NewPCG(1, 2)), dev, 1, p.Sample, q.Sample)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(potentials)
	// Output: potentials on R^1, of 321 and 321 parameters
}
