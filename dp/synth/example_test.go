package synth_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/dp/synth/semidual"
	"coupling/lab/device"
)

// Synthetic images of private ones, at ε = 2.
func Example() {
	images, err := data.New(2000, 1, 8, 8) // bright in the upper or in the lower half
	check(err)
	images.Labels, images.Classes = make([]int, images.Len()), []string{"upper", "lower"}
	for i := range images.Labels {
		images.Labels[i] = i % 2
		for j := range 32 {
			images.Row(i)[32*(i%2)+j] = .9
		}
	}
	ctx := context.Background()
	dev, err := device.CPU{}.Open()
	check(err)
	defer dev.Close()
	public, err := synth.PublicOf(images)
	check(err)
	method, guarantee, err := synth.Calibrate(ctx, semidual.Suggested(2, public), public,
		dp.Budget{Epsilon: 2, Delta: 1e-5})
	check(err)
	// release.NewKey() for real data
	sampler, err := method.Train(ctx, dev, images, synth.Run{Key: release.SeededKey(1)})
	check(err)
	synthetic, err := sampler.Sample(rand.New(rand.NewPCG(1, 1)), 10)
	check(err)
	fmt.Printf("%d images, the first one %s: %.1f above, %.1f below, ε = %.4g at δ = %g\n",
		synthetic.Len(), synthetic.Classes[synthetic.Labels[0]], synthetic.Row(0)[20], synthetic.Row(0)[52],
		guarantee.Epsilon, guarantee.Delta)
	// Output:
	// 10 images, the first one upper: 0.9 above, 0.0 below, ε = 2 at δ = 1e-05
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
