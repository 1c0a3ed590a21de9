package agents

import (
	"context"
	"fmt"
	"slices"

	"coupling/dp/admm"
)

// edgeState is an edge of a node that is out of step: each edge has rounds of its own.
type edgeState struct {
	round       int // of the edge, from 1
	waiting     bool
	sent, past  float64 // shared in this round and in the one before
	in, early   float64 // the other end's share of this round and of the next
	have, ahead bool
	age         int // steps since the edge last went on
	gap2        float64
	change2     float64
}

// untold stands for the disagreement on an edge that has not moved yet: no residual of sums of it is small, and all are finite.
const untold = 1e100

// outOfStep plays rounds in which a node goes on as soon as one neighbour has answered and none is more than Delay of its steps behind
// (a partial barrier, as of Zhang and Kwok 2014). Edges go on one by one when both ends have shared, so that both ends keep the same
// amount and price, and where all rest the plan is optimal. That it gets there is proved for fixed η and bounded delay only for networks
// with one side of one node; the tests see it everywhere.
func (a *Agent) outOfStep(ctx context.Context) (admm.Verdict, error) {
	a.edges = make([]edgeState, len(a.in))
	for k := range a.edges {
		a.edges[k] = edgeState{round: 1, gap2: untold}
	}
	for a.verdict == nil {
		if err := a.step(ctx); err != nil {
			return admm.Verdict{}, err
		}
		r := a.advance()
		if err := r.Check(); err != nil {
			return admm.Verdict{}, err
		}
		if a.verdict == nil {
			if err := a.tell(ctx, Message{Kind: Tell, Round: a.node.State().Round - 1, Report: r}); err != nil {
				return admm.Verdict{}, err
			}
		}
		if len(a.edges) == 0 { // nothing to do but to report that, again and again
			heard := func() bool { return a.verdict != nil }
			if err := a.until(ctx, heard, func() error { return a.tell(ctx, Message{Kind: Tell, Round: a.idle(), Report: r}) }); err != nil {
				return admm.Verdict{}, err
			}
		}
	}
	return *a.verdict, nil
}

// step decides, shares on the edges that have gone on, and waits.
func (a *Agent) step(ctx context.Context) error {
	out, err := a.node.Propose()
	if err != nil {
		return err
	}
	for k := range a.edges {
		e := &a.edges[k]
		if e.waiting {
			a.node.Share(k, e.sent) // what the other end has
			continue
		}
		e.waiting, e.past, e.sent = true, e.sent, out[k]
		if err := a.send(ctx, k, e.round, e.sent); err != nil {
			return err
		}
	}
	waited := false
	return a.until(ctx, a.mayGoOn, func() error {
		defer func() { waited = true }()
		for k, e := range a.edges {
			if waited && !e.have {
				if err := a.ask(ctx, k, e.round); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (a *Agent) mayGoOn() bool {
	late := slices.ContainsFunc(a.edges, func(e edgeState) bool { return !e.have && e.age >= a.Rules.Delay })
	some := slices.ContainsFunc(a.edges, func(e edgeState) bool { return e.have })
	return a.verdict != nil || len(a.edges) == 0 || some && !late
}

// advance updates the edges that both ends have shared on.
func (a *Agent) advance() admm.Report {
	r := admm.Report{Edges: len(a.edges)}
	n := a.node
	for k := range a.edges {
		e := &a.edges[k]
		if e.age++; e.have {
			gap, change := n.Update(k, e.in)
			e.gap2, e.change2 = gap*gap, n.State().Eta*n.State().Eta*change*change
			e.round, e.age, e.waiting = e.round+1, 0, false
			e.in, e.have, e.ahead = e.early, e.ahead, false
		}
		r.Gap2 += e.gap2
		r.Change2 += e.change2
		r.Plan2 += n.State().Plan[k] * n.State().Plan[k]
		r.Price2 += n.State().Price[k] * n.State().Price[k]
	}
	n.State().Round++
	return r
}

// handleOutOfStep takes a share of an edge's own round, or answers who asks for one.
func (a *Agent) handleOutOfStep(ctx context.Context, k int, m Message) error {
	if a.edges == nil {
		return nil // not begun: it will be asked again
	}
	e := &a.edges[k]
	switch {
	case m.Kind == Share && m.Round == e.round:
		e.in, e.have = m.Value, true
	case m.Kind == Share && m.Round == e.round+1:
		e.early, e.ahead = m.Value, true
	case m.Kind == Ask && m.Round == e.round && e.waiting:
		return a.send(ctx, k, e.round, e.sent)
	case m.Kind == Ask && m.Round == e.round-1:
		value := e.past
		if !e.waiting {
			value = e.sent
		}
		return a.send(ctx, k, e.round-1, value)
	case m.Kind == Ask && m.Round < e.round-1:
		return a.over(ctx, k, m.Round)
	case m.Kind == Over && m.Round == e.round:
		return fmt.Errorf("agents: %v: %w: it begins round %d with %v, which is over", a.Spec.ID, admm.ErrLost, e.round, m.From)
	}
	return nil
}

// idle counts a step of a node without edges.
func (a *Agent) idle() int {
	a.node.State().Round++
	return a.node.State().Round
}
