package sgd_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/sgd"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A small network learns, from 2,000 points of a plane, which lie inside a circle: with the least
// noise that is (2, 1e-5)-differentially private for two points of one person.
func ExampleTraining() {
	rng := rand.New(rand.NewPCG(1, 1))
	x, labels := mat.NewDense(2000, 2, nil), make([]int, 2000)
	for i := range labels {
		x.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
		if floats.Norm(x.RawRowView(i), 2) < 1.2 {
			labels[i] = 1
		}
	}
	ctx := context.Background()
	t := sgd.Training{
		Net:       nn.Seq(&nn.Dense{In: 2, Out: 16}, nn.Tanh(), &nn.Dense{In: 16, Out: 2}),
		Objective: sgd.Classification{X: sgd.Rows(x), Labels: labels},
		Clip:      1, Rate: .1, Batch: .1 * 2000, Steps: 200, Optimiser: train.Adam{Rate: .02},
	}
	t, g, err := t.Calibrate(ctx, dp.Budget{Epsilon: 2, Delta: 1e-5, Relation: dp.Relation{Group: 2}})
	check(err)
	dev, err := device.CPU{}.Open()
	check(err)
	defer dev.Close()
	check(t.Run(ctx, dev, release.SeededKey(1))) // release.NewKey() for real data
	logits, err := sgd.Predict(t.Net, sgd.Rows(mat.NewDense(2, 2, []float64{0, .1, 2, -1.5})))
	check(err)
	fmt.Println("inside:", logits.At(0, 1) > logits.At(0, 0), logits.At(1, 1) > logits.At(1, 0))
	fmt.Printf("noise multiplier %.2f, ε ≤ %.0f for groups of %d\n", t.NoiseMultiplier, g.Epsilon, g.Relation.Group)
	// Output:
	// inside: true false
	// noise multiplier 5.79, ε ≤ 2 for groups of 2
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
