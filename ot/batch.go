package ot

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"coupling/ot/internal/rows"
)

// Batch solves many problems at once, one goroutine for each problem. It uses every core on
// problems that are too small to be parallel themselves, as in mini-batch training. Each plan
// equals, bit for bit, the one that Solver returns for its problem alone.
type Batch struct {
	// Solver solves each problem.
	Solver Solver
	// Workers is the number of problems solved at a time; 0 is GOMAXPROCS. With a geometry on a
	// device it is always 1.
	Workers int
}

// Solve returns the plans in the order of the problems. It stops at an error and returns it with
// the index of its problem; of several, the one of the lowest index.
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
		workers = 1 // a device runs one pass at a time
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
