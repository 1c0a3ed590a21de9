package semidual_test

import (
	"context"
	"fmt"

	"coupling/dp/synth/semidual"
)

// What a budget allows on 60,000 images of ten classes, before any image is looked at.
func ExampleConfig_Calibrate() {
	c, g, err := semidual.Suggested(1, 60_000, 10, 28*28).Calibrate(context.Background(), 1, 1e-5)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d atoms a class, %d steps of noise %.1f\n%v\n", c.PerClass, c.Steps, c.Noise, g)
	// Output:
	// 10 atoms a class, 15 steps of noise 20.4
	// ε = 1 at δ = 1e-05 (exact, by profile, under add/remove)
}
