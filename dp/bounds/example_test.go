package bounds_test

import (
	"fmt"

	"coupling/dp"
	"coupling/dp/bounds"
)

// δ of one step for a group of four, and what group privacy makes of the δ of one record.
func ExamplePostHocDelta() {
	step := dp.Poisson{Rate: .1, Event: dp.Gaussian{NoiseMultiplier: 2}}
	four, err := bounds.GroupDelta(step, dp.Relation{Group: 4}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	one := func(eps float64) float64 {
		g, _ := bounds.GroupDelta(step, dp.Relation{}, eps)
		return g.LogDelta
	}
	afterwards, err := bounds.PostHocDelta(one, 4, 1)
	fmt.Printf("log δ = %.2f, by group privacy %.2f %v\n", four.LogDelta, afterwards, err)
	// Output: log δ = -7.71, by group privacy -7.37 <nil>
}
