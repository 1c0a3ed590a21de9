package semidual_test

import (
	"context"
	"fmt"

	"coupling/dp"
	"coupling/dp/synth"
	"coupling/dp/synth/semidual"
)

// What a budget allows on 60,000 images of ten classes, before any image is looked at.
func ExampleSuggested() {
	public := synth.Public{Records: 60_000, Classes: make([]string, 10), Channels: 1, Height: 28, Width: 28}
	c, g, err := synth.Calibrate(context.Background(), semidual.Suggested(1, public), public,
		dp.Budget{Epsilon: 1, Delta: 1e-5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d atoms a class, %d steps of noise %.1f\n%v\n", c.PerClass, c.Steps, c.NoiseMultiplier, g)
	// Output:
	// 10 atoms a class, 15 steps of noise 20.4
	// ε = 1 at δ = 1e-05 (exact, by closed form, under add/remove)
}
