package agents

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"coupling/dp/admm"
)

// Coordinator waits for the nodes, adds up their reports, and decides when to stop. It knows who takes part, and no utility, bound or amount.
type Coordinator struct {
	Rules admm.ADMM
	Nodes []admm.ID // who takes part, in the order in which reports are added
	Link  Link
	// Retry is the time after which a message that may be lost is sent again; 0 means a second.
	Retry time.Duration
	// Save stores the checkpoint before each decision is sent, so that a coordinator that was killed can resume; nil stores nothing. Resume
	// is the last stored checkpoint, or nil to begin a run.
	Save   func(Checkpoint) error
	Resume *Checkpoint
	// Trace is called after every round; Waiting, after every Retry without a message, with the nodes that have not answered.
	Trace   func(admm.Step)
	Waiting func(round int, missing []admm.ID)

	stopping *admm.StoppingRule
	place    map[admm.ID]int
	reports  []admm.Report
	came     []bool
	missing  int
	began    bool
	last     Checkpoint // after the newest round
	failure  error
}

// Checkpoint is what a coordinator must remember between rounds.
type Checkpoint struct {
	Run      string             `json:"run"` // tells this run from others
	Rules    admm.ADMM          `json:"rules"`
	Stopping admm.StoppingState `json:"stopping"`
	Rounds   int                `json:"rounds"`   // rounds that have ended
	Decision admm.Decision      `json:"decision"` // on the last of them
	Report   admm.Report        `json:"report"`   // the sum of its reports
}

// Summary is what a coordinator knows at the end.
type Summary struct {
	Rounds       int
	Status       admm.Status
	Primal, Dual float64
	Unconfirmed  []admm.ID // nodes that have not confirmed the last decision
}

// Run coordinates a run to its end. It returns the error of ctx, or the reason for which a node cannot go on.
func (c *Coordinator) Run(ctx context.Context) (Summary, error) {
	c.Rules = c.Rules.Filled()
	if err := c.prepare(); err != nil {
		return Summary{}, err
	}
	if !c.began {
		if err := c.gather(ctx, 0); err != nil {
			return Summary{}, err
		}
		c.began = true
		if err := c.save(); err != nil {
			return Summary{}, err
		}
		if err := c.all(ctx, Message{Kind: Begin, Run: c.last.Run}); err != nil {
			return Summary{}, err
		}
	}
	for !c.over() {
		if err := c.gather(ctx, c.last.Rounds+1); err != nil {
			return Summary{}, err
		}
		if err := c.decide(ctx); err != nil {
			return Summary{}, err
		}
	}
	unconfirmed, err := c.finish(ctx)
	r := c.last.Report
	return Summary{Rounds: c.last.Rounds, Status: c.last.Decision.Status, Primal: r.Primal(), Dual: r.Dual(), Unconfirmed: unconfirmed}, err
}

// over reports whether the last decision was to stop.
func (c *Coordinator) over() bool { return c.last.Rounds > 0 && c.last.Decision.Action == admm.Stop }

// decide ends a round, and sends its decision to all nodes.
func (c *Coordinator) decide(ctx context.Context) error {
	var sum admm.Report
	for _, r := range c.reports { // in the order of Nodes
		sum.Add(r)
	}
	if err := sum.Check(); err != nil {
		return c.fail(ctx, err)
	}
	phase := c.stopping.Phase
	c.last.Decision, c.last.Report = c.stopping.Decide(sum), sum
	c.last.Rounds++
	if err := c.save(); err != nil {
		return err
	}
	if c.Trace != nil {
		c.Trace(admm.Step{Round: c.last.Rounds, Phase: phase, Eta: c.last.Decision.Eta, Primal: sum.Primal(), Dual: sum.Dual()})
	}
	return c.all(ctx, Message{Kind: Decide, Round: c.last.Rounds, Decision: c.last.Decision})
}

func (c *Coordinator) save() error {
	if c.Save == nil {
		return nil
	}
	c.last.Stopping = c.stopping.StoppingState
	return c.Save(c.last)
}

func (c *Coordinator) prepare() error {
	if err := c.Rules.Check(); err != nil {
		return err
	}
	c.Retry = cmp.Or(c.Retry, defaultRetry)
	c.last = Checkpoint{Run: rand.Text(), Rules: c.Rules}
	c.stopping, c.place = admm.NewStoppingRule(c.Rules), map[admm.ID]int{}
	c.reports, c.came = make([]admm.Report, len(c.Nodes)), make([]bool, len(c.Nodes))
	for i, id := range c.Nodes {
		c.place[id] = i
	}
	if len(c.place) != len(c.Nodes) || len(c.Nodes) == 0 {
		return fmt.Errorf("agents: Nodes: %d, of which %d differ: must be at least one, each once: %w", len(c.Nodes), len(c.place), admm.ErrParameter)
	}
	if c.Resume == nil {
		return nil
	}
	now, err1 := json.Marshal(c.Rules)
	then, err2 := json.Marshal(c.Resume.Rules)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !bytes.Equal(now, then) || c.Resume.Rounds < 0 {
		return fmt.Errorf("agents: Resume: the run began with the rules %s, these are %s: %w", then, now, admm.ErrParameter)
	}
	c.last, c.stopping.StoppingState, c.began = *c.Resume, c.Resume.Stopping, true
	return nil
}

func (c *Coordinator) all(ctx context.Context, m Message) error { return c.send(ctx, c.Nodes, m) }

func (c *Coordinator) send(ctx context.Context, to []admm.ID, m Message) error {
	m.From = CoordinatorID
	for _, id := range to {
		m.To = id
		if err := c.Link.Send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// gather waits until every node has said hello, for round 0, or has reported the round.
func (c *Coordinator) gather(ctx context.Context, round int) error {
	clear(c.came)
	for c.missing = len(c.Nodes); c.missing > 0; {
		late, err := c.next(ctx)
		if err != nil {
			return err
		}
		if late && c.Waiting != nil {
			c.Waiting(round, c.absent())
		}
	}
	return nil
}

func (c *Coordinator) absent() (out []admm.ID) {
	for i, id := range c.Nodes {
		if !c.came[i] {
			out = append(out, id)
		}
	}
	return out
}

// next handles one message, or reports late after Retry without one.
func (c *Coordinator) next(ctx context.Context) (late bool, err error) {
	within, stop := context.WithTimeout(ctx, c.Retry)
	defer stop()
	m, err := c.Link.Receive(within)
	switch {
	case err != nil && ctx.Err() == nil && within.Err() != nil:
		return true, nil
	case err != nil:
		return false, cmp.Or(ctx.Err(), err)
	}
	if i, known := c.place[m.From]; known {
		return false, c.handle(ctx, i, m)
	}
	return false, nil
}

// handle takes one message of node i. A message of another round is answered, so that its sender catches up, or ignored.
func (c *Coordinator) handle(ctx context.Context, i int, m Message) error {
	reply := func(r Message) error { return c.send(ctx, []admm.ID{m.From}, r) }
	ended := c.last.Rounds
	switch {
	case c.failure != nil:
		return reply(Message{Kind: Fail, Text: c.failure.Error()})
	case m.Kind == Fail:
		return c.fail(ctx, fmt.Errorf("agents: %v: %s", m.From, m.Text))
	case m.Round > ended+1 && (m.Kind == Hello || m.Kind == Report):
		return c.fail(ctx, fmt.Errorf("agents: %v is in round %d of a run of which this coordinator knows %d: %w", m.From, m.Round, ended, admm.ErrLost))
	case m.Kind == Hello && m.Rules != c.Rules.Digest():
		return c.fail(ctx, fmt.Errorf("agents: %v has other rules than the coordinator: every node must have the same: %w", m.From, admm.ErrParameter))
	case m.Kind == Hello && c.began:
		return reply(Message{Kind: Begin, Run: c.last.Run})
	case m.Kind == Hello && m.Rounds < c.Rules.Rounds:
		return c.fail(ctx, fmt.Errorf("agents: Rounds = %d: %v: %w: it pays for %d", c.Rules.Rounds, m.From, admm.ErrBudget, m.Rounds))
	case m.Kind == Report && ended > 0 && m.Round == ended:
		return reply(Message{Kind: Decide, Round: ended, Decision: c.last.Decision})
	case m.Kind == Report && m.Round < ended:
		return reply(Message{Kind: Lost, Round: m.Round})
	case m.Kind == Report && m.Round == ended+1:
		if !c.came[i] {
			c.reports[i] = m.Report
		}
	case m.Kind == Done && c.over():
	case m.Kind == Hello:
	default:
		return nil
	}
	if !c.came[i] {
		c.came[i] = true
		c.missing--
	}
	return nil
}

// finish sends the last decision until all nodes have confirmed it, and returns those that have not after finalRetries.
func (c *Coordinator) finish(ctx context.Context) ([]admm.ID, error) {
	clear(c.came)
	c.missing = len(c.Nodes)
	for retries := 0; c.missing > 0 && retries < finalRetries; {
		late, err := c.next(ctx)
		if err != nil {
			return nil, err
		}
		if late {
			retries++
			if err := c.send(ctx, c.absent(), Message{Kind: Decide, Round: c.last.Rounds, Decision: c.last.Decision}); err != nil {
				return nil, err
			}
		}
	}
	return c.absent(), c.all(ctx, Message{Kind: Bye})
}

// fail tells all nodes why the run ends. It goes on to tell those that report, for some time, as they did not hear it.
func (c *Coordinator) fail(ctx context.Context, reason error) error {
	c.failure = reason
	if err := c.all(ctx, Message{Kind: Fail, Text: reason.Error()}); err != nil {
		return errors.Join(reason, err)
	}
	for until := time.Now().Add(3 * c.Retry); time.Now().Before(until); {
		if _, err := c.next(ctx); err != nil {
			break
		}
	}
	return reason
}
