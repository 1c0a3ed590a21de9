package lab_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"coupling/lab"
	"coupling/lab/store"
)

type params struct {
	N     int     `json:"n"`
	Scale float64 `json:"scale"`
}

type out struct {
	Mean float64 `json:"mean"`
}

// Mean is the sample mean of n numbers, uniform in [0, scale).
var Mean = lab.Experiment[params, out]{Name: "example/mean", Version: 1,
	Run: func(_ context.Context, c *lab.Cell, p params) (out, error) {
		rng, sum := c.Rand("sample"), 0.0
		for i := range p.N {
			sum += p.Scale * rng.Float64()
			c.Progress(i+1, p.N)
		}
		return out{sum / float64(p.N)}, nil
	}}

func exampleStore() *store.Store {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	store, err := lab.OpenStore(dir)
	if err != nil {
		log.Fatal(err)
	}
	return store
}

// Ask twice, compute once.
func ExampleDo() {
	store := exampleStore()
	defer os.RemoveAll(store.Dir)
	for range 2 {
		r, err := lab.Do(context.Background(), store, Mean, 1, params{N: 1000, Scale: 2})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("mean %.2f, recalled: %t\n", r.Value.Mean, r.Recalled)
	}
	// Output:
	// mean 0.96, recalled: false
	// mean 0.96, recalled: true
}

// A grid of parameters, computed on all cores, in the grid's order.
func ExampleSweep() {
	store := exampleStore()
	defer os.RemoveAll(store.Dir)
	grid := lab.Grid(params{N: 1000}, lab.Vary(func(p *params, v float64) { p.Scale = v }, 1, 2, 4))
	for r, err := range lab.Sweep(context.Background(), store, Mean, 0, 1, grid) {
		if err != nil {
			log.Fatal(err) // or go on: the other cells do
		}
		fmt.Printf("scale %g: %.2f\n", r.Params.Scale, r.Value.Mean)
	}
	// Output:
	// scale 1: 0.48
	// scale 2: 0.96
	// scale 4: 1.93
}

// The grid is the product of its axes; a later axis sees what an earlier one set.
func ExampleGrid() {
	grid := lab.Grid(params{},
		lab.Vary(func(p *params, v int) { p.N = v }, 10, 20),
		lab.Vary(func(p *params, v float64) { p.Scale = v * float64(p.N) }, 1, 2))
	fmt.Println(grid)
	// Output:
	// [{10 10} {10 20} {20 20} {20 40}]
}
