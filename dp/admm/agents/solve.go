package agents

import (
	"context"
	"errors"
	"sync"
	"time"

	"coupling/dp/admm"
)

// Solve runs all nodes as agents, a goroutine each, and a coordinator over a transport. The nodes may be protected
// (Private.Protect). The result has the same bits as that of Solve and SolvePrivate, whatever the transport loses, repeats or delays. Price and Average are not gathered. The problem the specs came from must have passed Check.
func Solve(ctx context.Context, a admm.ADMM, t Transport, g admm.Graph, specs []admm.Spec, retry time.Duration) (*admm.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parts, errs := make([]Amounts, len(specs)), make([]error, len(specs)+1)
	var wg sync.WaitGroup
	for i, s := range specs {
		link, err := t.Join(ctx, s.ID)
		if err != nil {
			cancel()
			wg.Wait()
			return nil, err
		}
		wg.Go(func() {
			defer leave(link)
			parts[i], errs[i] = (&Agent{Rules: a, Spec: s, Link: link, Retry: retry}).Run(ctx)
		})
	}
	link, err := t.Join(ctx, CoordinatorID)
	if err != nil {
		cancel()
		wg.Wait()
		return nil, err
	}
	sum, err := (&Coordinator{Rules: a, Nodes: g.Nodes(), Link: link, Retry: retry, Trace: a.Trace}).Run(ctx)
	leave(link) // which sends the last messages
	if err != nil {
		cancel()
	}
	wg.Wait()
	if err := firstOf(append(errs, err)); err != nil {
		return nil, err
	}
	return &admm.Result{Plan: Assemble(g, parts), Rounds: sum.Rounds, Status: sum.Status, Primal: sum.Primal, Dual: sum.Dual}, nil
}

// leave closes a link at the end of a run, when an error loses nothing.
func leave(l Link) { _ = l.Close() }

// firstOf returns the error that says most: one that is not an end by cancellation or by another's failure.
func firstOf(errs []error) error {
	var rest error
	for _, err := range errs {
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled) || errors.Is(err, errFailed):
			rest = err
		default:
			return err
		}
	}
	return rest
}

// Assemble puts the parts of the targets together to a plan; parts of sources are passed over, and what is missing is 0.
func Assemble(g admm.Graph, parts []Amounts) []float64 {
	plan := make([]float64, len(g.Edges))
	first := make([]int, g.Targets)
	for i := len(g.Edges) - 1; i >= 0; i-- {
		first[g.Edges[i].Target] = i
	}
	for _, p := range parts {
		if p.ID.Side == admm.Target && len(p.Plan) > 0 {
			copy(plan[first[p.ID.Index]:], p.Plan)
		}
	}
	return plan
}
