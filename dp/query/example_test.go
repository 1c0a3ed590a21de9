package query_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"coupling/dp"
	"coupling/dp/noise"
	"coupling/dp/query"
)

// What OpenDP writes as make_count() >> then_laplace(scale), and Tumult as a session with a budget:
// counts by known keys, a sum and the most frequent key, within ε = 1 at δ = 1e-6 for one person.
func ExampleSession() {
	city := []string{"Oslo", "Oslo", "Bergen", "Oslo", "Bergen", "Moss"}
	income := []float64{31, 52, 47, 1200, 38, 29}
	ctx := context.Background()
	s := query.Session{
		Budget: dp.Budget{Epsilon: 1, Delta: 1e-6},
		Source: noise.Seeded(rand.New(rand.NewPCG(1, 2))), // noise.Crypto() for real data
	}
	counts, err := s.Histogram(ctx, city, []string{"Oslo", "Bergen", "Moss"}, query.Noise{Scale: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	total, err := s.Sum(ctx, income, 0, 100, 1, query.Noise{Scale: 500})
	if err != nil {
		fmt.Println(err)
		return
	}
	most, err := s.Argmax(ctx, []int{3, 2, 1}, 5, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(counts), "counts, a total of", total, "and a most frequent city were released:", most >= 0)
	fmt.Println(strings.ReplaceAll(s.Event().String(), " + ", "\n+ "))
	left, err := s.Left(ctx)
	fmt.Printf("left: ε = %.4f of the sum, or %.4f at order %.1f, %v\n", left.Epsilon, left.Divergence, left.Order, err)
	_, err = s.Count(ctx, len(city), query.Noise{Scale: 1})
	fmt.Println(strings.ReplaceAll(err.Error(), ": ", ":\n"))
	// Output:
	// 3 counts, a total of 833 and a most frequent city were released: true
	// (DiscreteLaplace(scale 5, sensitivity 1)
	// + DiscreteLaplace(scale 500, sensitivity 100)
	// + Pure(0.20000000000000023))
	// left: ε = 0.4000 of the sum, or 0.0196 at order 21.7, <nil>
	// query:
	// DiscreteLaplace(scale 1, sensitivity 1):
	// with what was released before it needs ε = 1.6 of 1 at δ = 0:
	// take more noise
}
