package agents

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"coupling/dp/admm"
)

// Conductor is the coordinator of a distributed run: it awaits the nodes, adds up their reports, and decides when to stop. It knows who
// takes part and no utility, bound or amount.
type Conductor struct {
	Rules admm.ADMM
	Nodes []admm.ID // who takes part, in the order in which reports are added
	Link  Link
	// Patience is how long to wait before saying again what may have been lost; 0 means a second.
	Patience time.Duration
	// Save stores the state before each verdict is told, so that a coordinator that dies can come back; nil stores nothing. Resume is the
	// state that was stored last, nil for one that begins. Nodes go on telling it what it missed.
	Save   func(Minutes) error
	Resume *Minutes
	// Trace is called after every round; Waiting, when patience ends, with those that have not come.
	Trace   func(admm.Step)
	Waiting func(round int, missing []admm.ID)

	judge   *admm.Judge
	place   map[admm.ID]int
	reports []admm.Report
	newest  []int // the newest round that each node reported
	came    []bool
	missing int
	began   bool
	ended   int          // rounds that were judged
	verdict admm.Verdict // of the last of these
	last    admm.Report  // and its sum
	failure error
	run     string // by which nodes tell this run from others
}

// Minutes are what a coordinator must remember between rounds.
type Minutes struct {
	Run     string          `json:"run"`
	Rules   admm.ADMM       `json:"rules"`
	Judge   admm.JudgeState `json:"judge"`
	Rounds  int             `json:"rounds"`
	Verdict admm.Verdict    `json:"verdict"` // on the last of the rounds
	Last    admm.Report     `json:"last"`    // the sum of its reports
}

// Summary is what a coordinator knows at the end.
type Summary struct {
	Rounds       int
	Status       admm.Status
	Primal, Dual float64
	Silent       []admm.ID // who has not said that it heard the last verdict
}

// Run conducts a run to its end. Errors: that of ctx, and what a node gives as a reason why it cannot go on.
func (c *Conductor) Run(ctx context.Context) (Summary, error) {
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
		if err := c.all(ctx, Message{Kind: Begin, Run: c.run}); err != nil {
			return Summary{}, err
		}
	}
	for !c.over() {
		if err := c.gather(ctx, c.ended+1); err != nil {
			return Summary{}, err
		}
		if err := c.decide(ctx, c.sum()); err != nil {
			return Summary{}, err
		}
	}
	silent, err := c.linger(ctx)
	return Summary{Rounds: c.ended, Status: c.verdict.Status, Primal: c.last.Primal(), Dual: c.last.Dual(), Silent: silent}, err
}

// over reports whether the last verdict was spoken.
func (c *Conductor) over() bool { return c.ended > 0 && c.verdict.Action == admm.Stop }

// decide ends a round, and tells its verdict to all whom it concerns.
func (c *Conductor) decide(ctx context.Context, r admm.Report) error {
	if err := r.Check(); err != nil {
		return c.fail(ctx, err)
	}
	phase := c.judge.Phase
	c.verdict, c.last = c.judge.Decide(r), r
	c.ended++
	if err := c.save(); err != nil {
		return err
	}
	if c.Trace != nil {
		c.Trace(admm.Step{Round: c.ended, Phase: phase, Eta: c.verdict.Eta, Primal: r.Primal(), Dual: r.Dual()})
	}
	if c.over() || c.Rules.Delay == 0 {
		return c.all(ctx, Message{Kind: Decide, Round: c.ended, Verdict: c.verdict})
	}
	return nil
}

func (c *Conductor) save() error {
	if c.Save == nil {
		return nil
	}
	return c.Save(Minutes{Run: c.run, Rules: c.Rules, Judge: c.judge.JudgeState, Rounds: c.ended, Verdict: c.verdict, Last: c.last})
}

// restore takes up a run where its coordinator left it.
func (c *Conductor) restore(m Minutes) error {
	now, err1 := json.Marshal(c.Rules)
	then, err2 := json.Marshal(m.Rules)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !bytes.Equal(now, then) || m.Rounds < 0 {
		return fmt.Errorf("agents: Resume: the run was begun by the rules %s, these are %s: %w", then, now, admm.ErrParameter)
	}
	c.run, c.judge.JudgeState, c.ended, c.verdict, c.last, c.began = m.Run, m.Judge, m.Rounds, m.Verdict, m.Last, true
	return nil
}

func (c *Conductor) prepare() error {
	if err := c.Rules.Check(); err != nil {
		return err
	}
	if c.Patience == 0 {
		c.Patience = usualPatience
	}
	c.run = rand.Text()
	c.judge, c.place = admm.NewJudge(c.Rules), map[admm.ID]int{}
	c.reports, c.newest, c.came = make([]admm.Report, len(c.Nodes)), make([]int, len(c.Nodes)), make([]bool, len(c.Nodes))
	for i, id := range c.Nodes {
		c.place[id] = i
	}
	if len(c.place) != len(c.Nodes) || len(c.Nodes) == 0 {
		return fmt.Errorf("agents: Nodes: %d, of which %d differ: must be at least one, each once: %w", len(c.Nodes), len(c.place), admm.ErrParameter)
	}
	if c.Resume != nil {
		return c.restore(*c.Resume)
	}
	return nil
}

func (c *Conductor) all(ctx context.Context, m Message) error {
	m.From = Coordinator
	for _, id := range c.Nodes {
		m.To = id
		if err := c.Link.Send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// gather waits until every node has come, with a hello for round 0 and with a report for others. Nodes that are out of step report when they
// like: then it waits for one report more of each, and the newest count.
func (c *Conductor) gather(ctx context.Context, round int) error {
	clear(c.came)
	for c.missing = len(c.Nodes); c.missing > 0; {
		if err := c.next(ctx); err != nil {
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				if c.Waiting != nil {
					c.Waiting(round, c.absent())
				}
				continue
			}
			return err
		}
	}
	return nil
}

func (c *Conductor) absent() []admm.ID {
	var out []admm.ID
	for i, id := range c.Nodes {
		if !c.came[i] {
			out = append(out, id)
		}
	}
	return out
}

// next handles one message, or gives up after Patience.
func (c *Conductor) next(ctx context.Context) error {
	within, stop := context.WithTimeout(ctx, c.Patience)
	defer stop()
	m, err := c.Link.Receive(within)
	if err != nil {
		return cmp.Or(within.Err(), err)
	}
	i, known := c.place[m.From]
	if !known {
		return nil
	}
	return c.handle(ctx, i, m)
}

func (c *Conductor) handle(ctx context.Context, i int, m Message) error {
	over, inStep := c.over(), c.Rules.Delay == 0
	reply := Message{From: Coordinator, To: m.From}
	switch {
	case c.failure != nil:
		reply.Kind, reply.Text = Fail, c.failure.Error()
		return c.Link.Send(ctx, reply)
	case m.Kind == Fail:
		return c.fail(ctx, fmt.Errorf("agents: %v: %s", m.From, m.Text))
	case inStep && m.Round > c.ended+1 && (m.Kind == Hello || m.Kind == Tell):
		return c.fail(ctx, fmt.Errorf("agents: %v is in round %d of a run of which this coordinator knows %d: %w", m.From, m.Round, c.ended, admm.ErrLost))
	case m.Kind == Hello && m.Rules != c.Rules.Digest():
		return c.fail(ctx, fmt.Errorf("agents: %v has other rules than the coordinator: every node must have the same: %w", m.From, admm.ErrParameter))
	case m.Kind == Hello && c.began:
		reply.Kind, reply.Run = Begin, c.run
		return c.Link.Send(ctx, reply)
	case m.Kind == Hello && m.Rounds < c.Rules.Rounds:
		return c.fail(ctx, fmt.Errorf("agents: Rounds = %d: %v: %w: it pays for %d", c.Rules.Rounds, m.From, admm.ErrBudget, m.Rounds))
	case m.Kind == Tell && (over && !inStep || inStep && c.ended > 0 && m.Round == c.ended):
		reply.Kind, reply.Round, reply.Verdict = Decide, c.ended, c.verdict
		return c.Link.Send(ctx, reply)
	case m.Kind == Tell && inStep && m.Round < c.ended:
		reply.Kind, reply.Round = Over, m.Round
		return c.Link.Send(ctx, reply)
	case m.Kind == Tell && (m.Round == c.ended+1 || !inStep):
		if m.Round > c.newest[i] {
			c.reports[i], c.newest[i] = m.Report, m.Round
		}
	case m.Kind == Done && over:
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

// sum adds the newest reports in the order of Nodes.
func (c *Conductor) sum() admm.Report {
	var sum admm.Report
	for _, r := range c.reports {
		sum.Add(r)
	}
	return sum
}

// linger answers those that have not heard the end.
func (c *Conductor) linger(ctx context.Context) ([]admm.ID, error) {
	clear(c.came)
	c.missing = len(c.Nodes)
	for patience := 0; c.missing > 0 && patience < lingering; {
		err := c.next(ctx)
		switch {
		case err == nil:
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			patience++
			if err := c.remind(ctx); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
	return slices.Clip(c.absent()), c.all(ctx, Message{Kind: Bye})
}

// fail tells all why the run ends, and for some time those who did not hear it.
func (c *Conductor) fail(ctx context.Context, reason error) error {
	c.failure = reason
	if err := c.all(ctx, Message{Kind: Fail, Text: reason.Error()}); err != nil {
		return errors.Join(reason, err)
	}
	for until := time.Now().Add(3 * c.Patience); time.Now().Before(until) && ctx.Err() == nil; {
		if err := c.next(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	return reason
}

func (c *Conductor) remind(ctx context.Context) error {
	for _, id := range c.absent() {
		m := Message{Kind: Decide, From: Coordinator, To: id, Round: c.ended, Verdict: c.verdict}
		if err := c.Link.Send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}
