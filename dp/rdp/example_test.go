package rdp_test

import (
	"context"
	"fmt"

	"coupling/dp/pair"
	"coupling/dp/rdp"
)

// Ten thousand steps of DP-SGD with noise multiplier 1.1 and rate 0.01, one record removed.
func ExampleAccountant() {
	p, err := pair.Poisson(pair.Gaussian, 1.1, 0.01, 0, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	steps := []pair.Step{{Pair: p, Times: 10_000}}
	for _, a := range []rdp.Accountant{{}, {Conversion: rdp.Classical}} {
		r, err := a.Search(context.Background(), steps, pair.EpsilonAt(1e-5))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("ε = %.4f at order %.2f\n", r.Upper, r.Order)
	}
	// Output:
	// ε = 5.6318 at order 4.67
	// ε = 6.2786 at order 4.92
}
