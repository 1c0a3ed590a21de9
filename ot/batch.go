package ot

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"coupling/ot/internal/rows"
)

// Batch solves many problems at once, one goroutine a problem: the way to use every core on problems that are too
// small to be cut into spans, as in mini-batch training. Plans are those of Solver one by one, bit for bit.
type Batch struct {
	// Solver solves each problem.
	Solver Solver
	// Workers is the number of problems solved at a time; 0 is GOMAXPROCS. With a geometry on a device it is 1.
	Workers int
}

// Solve returns the plans in the order of the problems. On the first error, by index among those seen, it stops and
// returns that error with the index of its problem.
func (b Batch) Solve(ctx context.Context, problems []Problem) ([]*Plan, error) {
	if b.Solver == nil {
		return nil, bad(ErrParameter, "Batch.Solver is nil")
	}
	plans, errs := make([]*Plan, len(problems)), make([]error, len(problems))
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	workers := min(rows.Workers(b.Workers), len(problems))
	if slices.ContainsFunc(problems, func(p Problem) bool { _, ok := p.Geometry.(*OnDevice); return ok }) {
		workers = 1 // a device is for one goroutine
	}
	for range workers {
		wg.Go(func() {
			for !failed.Load() {
				k := int(next.Add(1)) - 1
				if k >= len(problems) {
					return
				}
				if plans[k], errs[k] = b.Solver.Solve(ctx, problems[k]); errs[k] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	for k, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("ot: Batch: problem %d: %w", k, err)
		}
	}
	return plans, nil
}
