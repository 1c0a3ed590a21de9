package agents

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
)

// Agent runs one node of a distributed run over a Link, until the coordinator stops it.
type Agent struct {
	Rules admm.ADMM
	Spec  admm.Spec
	Link  Link
	// Patience is how long to wait before asking again for what has not come; 0 means a second. A node that has died is waited for.
	Patience time.Duration
	// Save stores the state before each round, so that a node that dies can come back; nil stores nothing. Resume is the
	// state that was stored last, nil for a node that begins. State holds nothing secret.
	Save   func(admm.State) error
	Resume *admm.State

	node     *admm.Node
	slot     map[int]int // edge of a neighbour's index
	in       []float64   // neighbours' shares of the round that is to be done
	have     []bool      // which have come
	proposed int         // the newest round that the node's own share is ready for
	awaiting int         // the round whose verdict is awaited, 0: none
	verdict  *admm.Verdict
	begun    bool
	let      bool        // go: all have the last verdict
	edges    []edgeState // out of step only
}

// Amounts is a node's part of the plan at the end.
type Amounts struct {
	ID         admm.ID     `json:"id"`
	Neighbours []int       `json:"neighbours"`
	Plan       []float64   `json:"plan"`
	Rounds     int         `json:"rounds"`
	Status     admm.Status `json:"status"`
}

const (
	usualPatience = time.Second
	// lingering is for how many patiences everybody stays when the last verdict is there, for those that do not have it yet.
	lingering = 20
)

// Run takes part in a run. It returns the error of ctx when that ends, admm.ErrBudget or admm.ErrLost where the node cannot go on, and what the
// coordinator gives as a reason when another cannot.
func (a *Agent) Run(ctx context.Context) (Amounts, error) {
	if a.Patience == 0 {
		a.Patience = usualPatience
	}
	if err := a.prepare(); err != nil {
		return Amounts{}, err
	}
	s := a.node.State()
	if s.Over == nil {
		if err := a.join(ctx); err != nil {
			return Amounts{}, a.fail(ctx, err)
		}
		run := a.inStep
		if a.Rules.Delay > 0 {
			run = a.outOfStep
		}
		v, err := run(ctx)
		if err != nil {
			return Amounts{}, a.fail(ctx, err)
		}
		s.Over = &v
		if a.Save != nil {
			if err := a.Save(*s); err != nil {
				return Amounts{}, err
			}
		}
	}
	err := a.leave(ctx)
	return Amounts{ID: a.Spec.ID, Neighbours: a.Spec.Neighbours, Plan: slices.Clone(s.Plan), Rounds: s.Round - 1, Status: s.Over.Status}, err
}

// leave says that the last verdict is here, and answers neighbours that are still in the last round until all have it. A coordinator that does
// not answer is gone, and the node with it after a while.
func (a *Agent) leave(ctx context.Context) error {
	said := 0
	return a.until(ctx, func() bool { return a.let || said > lingering }, func() error {
		said++
		return a.tell(ctx, Message{Kind: Done, Round: a.node.State().Round - 1})
	})
}

func (a *Agent) prepare() error {
	a.Rules = a.Rules.Filled()
	n, err := admm.NewNode(a.Spec, a.Rules)
	if err != nil {
		return err
	}
	d := len(a.Spec.Neighbours)
	if s := a.Resume; s != nil {
		if len(s.Plan) != d || len(s.Price) != d || s.Round < 1 || len(s.Tail) != len(n.State().Tail) {
			return fmt.Errorf("agents: %v: state of %d edges for %d: %w", a.Spec.ID, len(s.Plan), d, admm.ErrLost)
		}
		if s.Eta <= 0 || math.IsInf(s.Eta, 0) || s.Phase != admm.Transporting && (s.Phase != admm.Projecting || a.Rules.Rounds == 0) || s.Round > 1 && a.Rules.Delay == 0 && len(s.Before) != d {
			return fmt.Errorf("agents: %v: state of round %d: Eta = %v, Phase = %d, %d amounts before: cannot be: %w", a.Spec.ID, s.Round, s.Eta, s.Phase, len(s.Before), admm.ErrLost)
		}
		*n.State() = *s
	}
	a.node, a.in, a.have, a.slot = n, make([]float64, d), make([]bool, d), map[int]int{}
	for k, other := range a.Spec.Neighbours {
		a.slot[other] = k
	}
	return nil
}

func (a *Agent) tell(ctx context.Context, m Message) error {
	m.From, m.To = a.Spec.ID, Coordinator
	return a.Link.Send(ctx, m)
}

// fail lets the coordinator know why this node ends, if it is not because it was told to.
func (a *Agent) fail(ctx context.Context, err error) error {
	if ctx.Err() == nil && !errors.Is(err, errFailed) {
		err = errors.Join(err, a.tell(ctx, Message{Kind: Fail, Text: err.Error()}))
	}
	return err
}

// errFailed marks a run that was ended by somebody else.
var errFailed = errors.New("run ended")

// join says hello until the coordinator begins, or answers that it knows nothing of the rounds that were before.
func (a *Agent) join(ctx context.Context) error {
	rounds := account.Many
	if a.Spec.Secret != nil && len(a.Spec.Neighbours) > 0 {
		rounds = a.Spec.Secret.Affords()
	}
	return a.until(ctx, func() bool { return a.begun }, func() error {
		return a.tell(ctx, Message{Kind: Hello, Round: a.node.State().Round, Rounds: rounds, Rules: a.Rules.Digest()})
	})
}

// until handles messages until done, and does remind at the start and whenever patience ends.
func (a *Agent) until(ctx context.Context, done func() bool, remind func() error) error {
	for !done() {
		if err := remind(); err != nil {
			return err
		}
		within, stop := context.WithTimeout(ctx, a.Patience)
		for !done() {
			m, err := a.Link.Receive(within)
			if err == nil {
				err = a.handle(ctx, m)
			}
			if err != nil && within.Err() != nil && ctx.Err() == nil {
				break
			}
			if err != nil {
				stop()
				return err
			}
		}
		stop()
	}
	return nil
}

// handle takes one message; whatever comes twice, or too late to matter, changes nothing.
func (a *Agent) handle(ctx context.Context, m Message) error {
	if m.From == Coordinator {
		return a.hear(m)
	}
	k, ok := a.slot[m.From.Index]
	if !ok || m.From.Side != 1-a.Spec.ID.Side || m.Round < 1 {
		return nil
	}
	if m.Kind == Share && (math.IsNaN(m.Value) || math.IsInf(m.Value, 0)) {
		return fmt.Errorf("agents: %v: share of %v in round %d is %v: must be finite: %w", a.Spec.ID, m.From, m.Round, m.Value, admm.ErrParameter)
	}
	if a.Rules.Delay > 0 {
		return a.handleOutOfStep(ctx, k, m)
	}
	return a.handleInStep(ctx, k, m)
}

// hear takes a message of the coordinator.
func (a *Agent) hear(m Message) error {
	switch {
	case m.Kind == Fail:
		return fmt.Errorf("agents: %w: %s", errFailed, m.Text)
	case m.Kind == Begin:
		return a.begin(m.Run)
	case m.Kind == Bye:
		a.let = a.verdict != nil || a.node.State().Over != nil
	case m.Kind == Over && m.Round == a.awaiting && m.Round > 0:
		return fmt.Errorf("agents: %v: %w: it reports round %d, which is long over", a.Spec.ID, admm.ErrLost, m.Round)
	case m.Kind == Decide && a.awaits(m):
		a.verdict = &m.Verdict
	}
	return nil
}

// begin takes part in a run. A state of another run is of no use, unless nothing was done in it; then the node begins as if it had none.
func (a *Agent) begin(run string) error {
	s := a.node.State()
	if s.Run != "" && s.Run != run {
		if a.begun || s.Round > 1 {
			return fmt.Errorf("agents: %v: %w: what it has, of round %d, is of another run", a.Spec.ID, admm.ErrLost, s.Round)
		}
		fresh, err := admm.NewNode(a.Spec, a.Rules)
		if err != nil {
			return err
		}
		*s = *fresh.State()
	}
	s.Run, a.begun = run, true
	return nil
}

// awaits reports whether m is the verdict that the node waits for: in step that on the round it has reported, out of step the last.
func (a *Agent) awaits(m Message) bool {
	v := m.Verdict
	if !(v.Eta > 0) || math.IsInf(v.Eta, 0) || v.Action < admm.Continue || v.Action > admm.Stop {
		return false
	}
	if v.Action == admm.BeginProjecting && (a.Rules.Rounds == 0 || a.node.State().Phase == admm.Projecting) {
		return false
	}
	if a.Rules.Delay > 0 {
		return a.begun && a.edges != nil && v.Action == admm.Stop
	}
	return a.awaiting > 0 && m.Round == a.awaiting
}

// send shares a value with the neighbour of an edge.
func (a *Agent) send(ctx context.Context, k, round int, value float64) error {
	to := a.Spec.ID.Peer(a.Spec.Neighbours[k])
	return a.Link.Send(ctx, Message{Kind: Share, From: a.Spec.ID, To: to, Round: round, Value: value})
}

// ask asks the neighbour of an edge for its share.
func (a *Agent) ask(ctx context.Context, k, round int) error {
	return a.Link.Send(ctx, Message{Kind: Ask, From: a.Spec.ID, To: a.Spec.ID.Peer(a.Spec.Neighbours[k]), Round: round})
}

// over tells the neighbour of an edge that the round it asks about is long over.
func (a *Agent) over(ctx context.Context, k, round int) error {
	return a.Link.Send(ctx, Message{Kind: Over, From: a.Spec.ID, To: a.Spec.ID.Peer(a.Spec.Neighbours[k]), Round: round})
}
