// A sweep in a Go file, with an experiment of its own.
package main

import (
	"context"
	"errors"

	"coupling/lab"
	"coupling/lab/sweepfile"
)

type params struct {
	N int `json:"n"`
}

type result struct {
	Cube int `json:"cube"`
}

var cubes = lab.Experiment[params, result]{Name: "example/cubes", Version: 1,
	Run: func(_ context.Context, _ *lab.Cell, p params) (result, error) {
		if p.N == 3 {
			return result{}, errors.New("three is refused")
		}
		return result{p.N * p.N * p.N}, nil
	}}

func main() {
	grid := lab.Grid(params{}, lab.Vary(func(p *params, n int) { p.N = n }, 0, 1, 2, 3, 4))
	sweepfile.Main(cubes.Jobs(1, grid...), cubes.Decoder())
}
