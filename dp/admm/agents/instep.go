package agents

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"coupling/dp/admm"
)

// inStep plays synchronous rounds: share, wait for all neighbours, report, wait for the verdict. Until a node has reported nobody
// gets further than it is, so that the shares of the round that is to be done and of the one before are all that anyone needs.
func (a *Agent) inStep(ctx context.Context) (admm.Verdict, error) {
	for {
		report, err := a.exchange(ctx)
		if err = cmp.Or(err, report.Check()); err != nil {
			return admm.Verdict{}, err
		}
		a.awaiting = a.node.State().Round - 1
		tell := Message{Kind: Tell, Round: a.awaiting, Report: report}
		if err := a.until(ctx, func() bool { return a.verdict != nil }, func() error { return a.tell(ctx, tell) }); err != nil {
			return admm.Verdict{}, err
		}
		v := *a.verdict
		a.verdict, a.awaiting = nil, 0
		if v.Action == admm.Stop {
			return v, nil
		}
		a.node.Obey(v)
	}
}

// exchange shares this node's amounts, waits for the neighbours', and ends the round.
func (a *Agent) exchange(ctx context.Context) (admm.Report, error) {
	if a.Save != nil {
		if err := a.Save(*a.node.State()); err != nil {
			return admm.Report{}, err
		}
	}
	out, err := a.node.Propose()
	if err != nil {
		return admm.Report{}, err
	}
	round := a.node.State().Round
	a.proposed = round
	for k, v := range out {
		if err := a.send(ctx, k, round, v); err != nil {
			return admm.Report{}, err
		}
	}
	waited := a.Resume != nil && a.Resume.Round == round // neighbours shared when this node was not there
	err = a.until(ctx, func() bool { return !slices.Contains(a.have, false) }, func() error {
		defer func() { waited = true }()
		for k, have := range a.have {
			if waited && !have {
				if err := a.ask(ctx, k, round); err != nil {
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

// handleInStep takes a share, or answers who asks for one.
func (a *Agent) handleInStep(ctx context.Context, k int, m Message) error {
	current := a.node.State().Round
	switch {
	case m.Kind == Share && m.Round == current:
		a.in[k], a.have[k] = m.Value, true
	case m.Kind == Ask && m.Round == current && a.proposed == current:
		return a.send(ctx, k, current, a.node.Shared(k))
	case m.Kind == Ask && m.Round == current-1:
		return a.send(ctx, k, current-1, a.node.State().Before[k])
	case m.Kind == Ask && m.Round < current-1:
		return a.over(ctx, k, m.Round)
	case m.Kind == Over && m.Round == current:
		return fmt.Errorf("agents: %v: %w: it begins round %d, which is over for %v", a.Spec.ID, admm.ErrLost, current, m.From)
	}
	return nil
}
