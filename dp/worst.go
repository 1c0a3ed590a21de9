package dp

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"coupling/dp/pair"
)

// A search looks for the largest number over the branches of a relation.
type search struct {
	branches []Branch
	ask      func(steps []pair.Step, branch int) (pair.Interval, string, error)
	// within reports whether a branch is certain not to exceed v, given what like says of the first branch and its answer. It may say no
	// when in doubt; nil always does.
	within func(steps []pair.Step, v float64, like likeness) bool
	like   func(steps []pair.Step, v float64, accountant string) likeness
}

// worst takes the largest answer over all branches. Those that are certain not to exceed the first one's (all records removed: mostly the
// worst) are passed over; they are found in parallel, and what remains is asked in turn, each passed over if it does not exceed what
// became known since. The result does not depend on the number of processors.
func (w search) worst(ctx context.Context) (g Guarantee, v float64, err error) {
	v = -1
	var passed []bool
	first, like := 0.0, likeness{}
	for i, b := range w.branches {
		if i > 0 && (passed[i] || v > first && w.within != nil && w.within(b.Steps, v, like)) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nothing(), 0, err
		}
		in, name, err := w.ask(b.Steps, i)
		if err == nil && (math.IsNaN(in.Upper) || math.IsInf(in.Upper, 0) || in.Upper < 0) {
			err = fmt.Errorf("dp: %s answered %v: %w", name, in.Upper, ErrUnbounded)
		}
		if err != nil {
			return nothing(), 0, fmt.Errorf("dp: %v inserted, %v removed: %w", b.Inserted, b.Removed, err)
		}
		g.Lower = max(g.Lower, in.Lower)
		if in.Upper > v {
			v = in.Upper + 0 // no −0
			g.Accountant, g.Inserted, g.Removed = name, b.Inserted, b.Removed
		}
		if i == 0 {
			first = v
			if w.within != nil && len(w.branches) > 1 {
				like = w.like(b.Steps, v, name)
			}
			passed = w.pass(v, like)
		}
	}
	g.Lower = min(g.Lower, v)
	g.Kind = kindOf(g.Lower, v)
	return g, v, nil
}

// pass asks of all branches but the first whether they are within v, on all processors.
func (w search) pass(v float64, like likeness) []bool {
	out := make([]bool, len(w.branches))
	if w.within == nil {
		return out
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := 1; i < len(w.branches); i++ {
		group.Go(func() error {
			out[i] = w.within(w.branches[i].Steps, v, like)
			return nil
		})
	}
	_ = group.Wait() // no question fails
	return out
}
