package sgd_test

import (
	"context"
	"fmt"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/sgd"
	"coupling/lab/device"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
)

// Logistic regression on 500 images, with the least noise that is (4, 1e-3)-differentially private for two records of one
// person.
func ExampleTraining() {
	images, err := data.New(500, 1, 4, 4)
	if err != nil {
		panic(err)
	}
	images.Labels = make([]int, images.Len())
	for i := range images.Labels { // the bright half tells the class
		images.Labels[i] = i % 2
		for j := range 8 {
			images.Row(i)[8*images.Labels[i]+j] = 1
		}
	}
	ctx := context.Background()
	t := sgd.Training{
		Net: arch.Logistic(16, 2), Objective: sgd.Classification{Images: images},
		Clip: 1, Rate: .2, Steps: 50, Optimiser: train.SGD{Rate: 1},
	}
	t, g, err := t.Calibrate(ctx, dp.Budget{Epsilon: 4, Delta: 1e-3, Relation: dp.Relation{Group: 2}})
	if err != nil {
		panic(err)
	}
	dev, err := device.CPU{}.Open()
	if err != nil {
		panic(err)
	}
	defer dev.Close()
	if err := t.Run(ctx, dev, release.SeededKey(1)); err != nil { // release.NewKey() for real data
		panic(err)
	}
	fmt.Printf("noise multiplier %.2f, ε ≤ %.0f for groups of %d\n", t.Multiplier, g.Epsilon, g.Relation.Group)
	// Output: noise multiplier 2.53, ε ≤ 4 for groups of 2
}
