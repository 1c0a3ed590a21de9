package dp_test

import (
	"context"
	"fmt"
	"strings"

	"coupling/dp"
)

// DP-SGD with noise multiplier 1.1, sampling rate 0.01 and 10,000 steps.
func ExampleEpsilon() {
	g, err := dp.Epsilon(context.Background(), dp.SGD(1.1, 0.01, 10_000), dp.Relation{}, 1e-5)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g)
	// Output: ε = 5.19259 at δ = 1e-05 (exact, by contour, under add/remove)
}

// Groups of four: all ways to insert and remove four records.
func ExampleRelation() {
	g, err := dp.Epsilon(context.Background(), dp.SGD(5, 0.001, 1000), dp.Relation{Group: 4}, 1e-6)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v, worst with %d removed\n", g, g.Removed)
	// Output: ε = 0.093435 at δ = 1e-06 (exact, by contour, under add/remove, groups of 4), worst with 4 removed
}

// The least noise that keeps 1,000 steps within (2, 1e-6).
func ExampleMinNoise() {
	budget := dp.Budget{Epsilon: 2, Delta: 1e-6}
	noise, g, err := dp.MinNoise(context.Background(), budget,
		func(x float64) dp.Event { return dp.SGD(x, 0.01, 1000) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("noise %.4f: ε = %.6f\n", noise, g.Epsilon)
	// Output: noise 1.0290: ε = 2.000000
}

// No test of a Gaussian of σ = 2 with a type I error of .05 has a smaller type II error, and μ is 1/2.
func ExampleGuarantee_TradeOff() {
	ctx := context.Background()
	g, err := dp.Epsilon(ctx, dp.Gaussian{NoiseMultiplier: 2}, dp.Relation{}, 1e-5)
	if err != nil {
		fmt.Println(err)
		return
	}
	curve, err := g.TradeOff(ctx, 1001)
	if err != nil {
		fmt.Println(err)
		return
	}
	mu, err := curve.GDP(.01)
	fmt.Printf("type II error at least %.2f, μ = %.2f, %v\n", curve.At(.05), mu, err)
	// Output: type II error at least 0.87, μ = 0.50, <nil>
}

// A step of one mechanism cannot be sampled as a whole when it is itself a composition: the error names the part.
func ExampleBranches() {
	_, err := dp.Branches(dp.Poisson{Rate: 0.1, Event: dp.Repeat{Times: 3, Event: dp.Gaussian{NoiseMultiplier: 1}}},
		dp.Relation{})
	fmt.Println(strings.ReplaceAll(err.Error(), "; ", ";\n"))
	// Output:
	// dp: 3 × Gaussian(noise multiplier 1): several runs on one sampled batch;
	// sample inside Repeat: no dominating pair is known
}
