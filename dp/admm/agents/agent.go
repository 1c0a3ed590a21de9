package agents

import (
	"context"
	"errors"
	"fmt"
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
	// lingering is for how many patiences a coordinator that has decided waits for those that have not said they heard.
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
	err = a.tell(ctx, Message{Kind: Done, Round: a.node.State().Round - 1})
	return Amounts{ID: a.Spec.ID, Neighbours: a.Spec.Neighbours, Plan: slices.Clone(a.node.State().Plan), Rounds: a.node.State().Round - 1, Status: v.Status}, err
}

func (a *Agent) prepare() error {
	a.Rules = a.Rules.Filled()
	n, err := admm.NewNode(a.Spec, a.Rules)
	if err != nil {
		return err
	}
	d := len(a.Spec.Neighbours)
	if s := a.Resume; s != nil {
		if len(s.Plan) != d || len(s.Price) != d || s.Round < 1 || s.Tail != nil && len(s.Tail) != d || (s.Tail == nil) != (a.Rules.Rounds == 0) {
			return fmt.Errorf("agents: %v: state of %d edges for %d: %w", a.Spec.ID, len(s.Plan), d, admm.ErrLost)
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

// join says hello until the coordinator begins. A node that resumes is awaited and asks nothing.
func (a *Agent) join(ctx context.Context) error {
	if a.Resume != nil {
		return nil
	}
	rounds := account.Many
	if a.Spec.Secret != nil && len(a.Spec.Neighbours) > 0 {
		rounds = a.Spec.Secret.Affords()
	}
	return a.until(ctx, func() bool { return a.begun }, func() error { return a.tell(ctx, Message{Kind: Hello, Rounds: rounds}) })
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
	switch m.Kind {
	case Fail:
		return fmt.Errorf("agents: %w: %s", errFailed, m.Text)
	case Begin:
		a.begun = true
	case Decide:
		if m.Round == a.awaiting || a.Rules.Delay > 0 {
			a.verdict = &m.Verdict
		}
	default:
		k, ok := a.slot[m.From.Index]
		if !ok || m.From.Side != 1-a.Spec.ID.Side {
			return nil
		}
		if a.Rules.Delay > 0 {
			return a.handleOutOfStep(ctx, k, m)
		}
		return a.handleInStep(ctx, k, m)
	}
	return nil
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
