package eval_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/data"
	"coupling/lab/device"
	"coupling/lab/eval"
)

// Two synthetic images, black and white, and four real ones in grey: the nearest synthetic image, and a logistic
// regression trained on the two, tell dark from bright.
func Example() {
	synthetic, _ := data.New(2, 1, 1, 2)
	copy(synthetic.Pixels(), []float32{0, 0, 1, 1})
	synthetic.Labels = []int{0, 1}
	real, _ := data.New(4, 1, 1, 2)
	copy(real.Pixels(), []float32{.1, 0, .3, .4, .7, .6, .4, .4})
	real.Labels = []int{0, 0, 1, 1}

	nearest, _ := eval.Nearest(context.Background(), synthetic, real)
	fmt.Println(nearest, nearest.Confusion)

	dev, _ := device.CPU{}.Open()
	defer dev.Close()
	r, err := eval.Classifier{Kind: eval.Logistic, Protocol: eval.Paper}.
		Evaluate(context.Background(), dev, synthetic, real, rand.New(rand.NewPCG(1, 2)))
	fmt.Println(r.Correct, "of", r.N, r.Run.Status, err)
	// Output:
	// 75.00% (95%: 30.06–95.44, n = 4) [[2 0] [1 1]]
	// 3 of 4 converged <nil>
}
