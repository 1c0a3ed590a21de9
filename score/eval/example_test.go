package eval_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/data"
	"coupling/lab/device"
	"coupling/score/eval"
)

// Two synthetic images, black and white, and four real ones in grey: a logistic regression trained
// on the two tells dark from bright.
func Example() {
	synthetic, _ := data.New(2, 1, 1, 2)
	copy(synthetic.Pixels(), []float32{0, 0, 1, 1})
	synthetic.Labels = []int{0, 1}
	real, _ := data.New(4, 1, 1, 2)
	copy(real.Pixels(), []float32{.1, 0, .3, .4, .7, .6, .4, .4})
	real.Labels = []int{0, 0, 1, 1}

	dev, _ := device.CPU{}.Open()
	defer dev.Close()
	r, err := eval.Classifier{Kind: eval.Logistic, Protocol: eval.Paper}.
		Evaluate(context.Background(), dev, synthetic, real, rand.New(rand.NewPCG(1, 2)))
	fmt.Println(r.Correct, "of", r.N, r.Run.Complete, err)
	// Output:
	// 3 of 4 true <nil>
}
