package ot

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

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

// Solve returns the plans in the order of the problems. It stops at the first error and returns it
// with the index of its problem.
func (b Batch) Solve(ctx context.Context, problems []Problem) ([]*Plan, error) {
	if b.Solver == nil {
		return nil, bad(ErrParameter, "Batch.Solver is nil")
	}
	plans := make([]*Plan, len(problems))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(rows.Workers(b.Workers))
	if slices.ContainsFunc(problems, func(p Problem) bool { _, ok := p.Geometry.(*OnDevice); return ok }) {
		group.SetLimit(1) // a device runs one pass at a time
	}
	for k, p := range problems {
		group.Go(func() (err error) {
			if plans[k], err = b.Solver.Solve(ctx, p); err != nil {
				err = fmt.Errorf("ot: Batch: problem %d: %w", k, err)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return plans, nil
}
