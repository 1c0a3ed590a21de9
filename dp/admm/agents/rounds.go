package agents

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"coupling/dp/admm"
)

// rounds plays the rounds of a run: share, wait for all neighbours, report, wait for the decision. No node gets further than one that has
// not reported, so that nobody needs other shares than those of the current round and of the one before.
func (a *Agent) rounds(ctx context.Context) error {
	for {
		report, err := a.exchange(ctx)
		if err = cmp.Or(err, report.Check()); err != nil {
			return err
		}
		a.awaiting = a.node.State().Round - 1
		tell := Message{Kind: Report, Round: a.awaiting, Report: report}
		if err := a.until(ctx, func() bool { return a.decision != nil }, func() error { return a.tell(ctx, tell) }); err != nil {
			return err
		}
		d := a.decision
		a.decision, a.awaiting = nil, 0
		if d.Action == admm.Stop {
			a.node.State().Final = d
			return nil
		}
		a.node.Apply(*d)
	}
}

// exchange shares this node's amounts, waits for the neighbours', and ends the round.
func (a *Agent) exchange(ctx context.Context) (admm.Report, error) {
	if err := a.save(); err != nil {
		return admm.Report{}, err
	}
	out, err := a.node.Propose()
	if err != nil {
		return admm.Report{}, err
	}
	round := a.node.State().Round
	a.proposed = round
	for k, v := range out {
		if err := a.toNeighbour(ctx, k, Message{Kind: Share, Round: round, Value: v}); err != nil {
			return admm.Report{}, err
		}
	}
	waited := a.Resume != nil && a.Resume.Round == round // neighbours shared when this node was away
	err = a.until(ctx, func() bool { return !slices.Contains(a.have, false) }, func() error {
		defer func() { waited = true }()
		for k, have := range a.have {
			if waited && !have {
				if err := a.toNeighbour(ctx, k, Message{Kind: Ask, Round: round}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return admm.Report{}, err
	}
	clear(a.have)
	return a.node.Accept(a.in), nil
}

// handleNeighbour takes a share, or answers a neighbour that asks for one.
func (a *Agent) handleNeighbour(ctx context.Context, k int, m Message) error {
	current := a.node.State().Round
	switch {
	case m.Kind == Share && m.Round == current:
		a.in[k], a.have[k] = m.Value, true
	case m.Kind == Ask && m.Round == current && a.proposed == current:
		return a.toNeighbour(ctx, k, Message{Kind: Share, Round: current, Value: a.node.Shared(k)})
	case m.Kind == Ask && m.Round == current-1:
		return a.toNeighbour(ctx, k, Message{Kind: Share, Round: current - 1, Value: a.node.State().Before[k]})
	case m.Kind == Ask && m.Round < current-1:
		return a.toNeighbour(ctx, k, Message{Kind: Lost, Round: m.Round})
	case m.Kind == Lost && m.Round == current:
		return fmt.Errorf("agents: %v: %w: it begins round %d, which is over for %v", a.Spec.ID, admm.ErrLost, current, m.From)
	}
	return nil
}
