package noise_test

import (
	"context"
	"fmt"

	"coupling/dp"
	"coupling/dp/noise"
)

// Three values of which one record changes at most 1 in L2 norm, released and accounted for.
func ExampleGaussian() {
	g := noise.Gaussian{Sigma: 4}
	out, err := g.Add(noise.Crypto(), []float64{12.25, -3, 0.125})
	if err != nil {
		fmt.Println(err)
		return
	}
	event, err := g.Event(noise.Query{Sensitivity: 1, Dim: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	bound, err := dp.Epsilon(context.Background(), event, dp.Relation{}, 1e-6)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d values released: %v\n", len(out), bound)
	// Output: 3 values released: ε = 1.06071 at δ = 1e-06 (exact, by closed form, under add/remove)
}

// A count with integer noise: the guarantee is pure, and that of the integers.
func ExampleLaplace() {
	l := noise.Laplace{Scale: 2, Granularity: 1}
	event, err := l.Event(noise.Query{Sensitivity: 1, OnGrid: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	bound, err := dp.Epsilon(context.Background(), event, dp.Relation{}, 0)
	fmt.Printf("ε = %.3f %v\n", bound.Epsilon, err)
	// Output: ε = 0.500 <nil>
}

// Records are rounded first, so that their sum is exact and no rounding adds to the sensitivity.
func ExampleGrid_Round() {
	g, err := noise.Gaussian{Sigma: 1, Granularity: 0x1p-10}.Grid()
	if err != nil {
		fmt.Println(err)
		return
	}
	records, err := g.Round([]float64{0.1, 0.2, 0.3})
	fmt.Println(records, err)
	// Output: [0.099609375 0.2001953125 0.2998046875] <nil>
}
