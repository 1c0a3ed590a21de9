package agents

import (
	"cmp"
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
	// Retry is the time after which a missing message is asked for again; 0 means a second. A node that was killed is waited for.
	Retry time.Duration
	// Save stores the state before each round, so that a node that was killed can resume; nil stores nothing. Resume is the last stored
	// state, or nil to begin. A state holds nothing secret.
	Save   func(admm.State) error
	Resume *admm.State

	node     *admm.Node
	slot     map[int]int // edge of a neighbour's index
	in       []float64   // neighbours' shares of the current round
	have     []bool      // which have come
	proposed int         // the newest round for which the node's own share is ready
	awaiting int         // the round whose decision is awaited, 0: none
	decision *admm.Decision
	begun    bool
	released bool // all nodes have the last decision
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
	defaultRetry = time.Second
	// finalRetries is how often nodes and coordinator repeat their last messages before they leave without an answer.
	finalRetries = 20
)

// Run takes part in a run. It returns the error of ctx, admm.ErrBudget or admm.ErrLost where the node cannot go on, and the coordinator's
// reason where another node cannot.
func (a *Agent) Run(ctx context.Context) (Amounts, error) {
	a.Retry = cmp.Or(a.Retry, defaultRetry)
	if err := a.prepare(); err != nil {
		return Amounts{}, err
	}
	s := a.node.State()
	if s.Final == nil {
		err := a.join(ctx)
		if err == nil {
			err = a.rounds(ctx)
		}
		if err != nil {
			return Amounts{}, a.fail(ctx, err)
		}
		if err := a.save(); err != nil {
			return Amounts{}, err
		}
	}
	err := a.leave(ctx)
	return Amounts{ID: a.Spec.ID, Neighbours: a.Spec.Neighbours, Plan: slices.Clone(s.Plan), Rounds: s.Round - 1, Status: s.Final.Status}, err
}

// leave confirms the last decision, and answers neighbours that are still in the last round until all nodes have it. A coordinator that
// does not answer is given up after finalRetries.
func (a *Agent) leave(ctx context.Context) error {
	said := 0
	return a.until(ctx, func() bool { return a.released || said > finalRetries }, func() error {
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
		if s.Eta <= 0 || math.IsInf(s.Eta, 0) || s.Phase != admm.Transporting && (s.Phase != admm.Projecting || a.Rules.Rounds == 0) || s.Round > 1 && len(s.Before) != d {
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

func (a *Agent) save() error {
	if a.Save == nil {
		return nil
	}
	return a.Save(*a.node.State())
}

func (a *Agent) tell(ctx context.Context, m Message) error {
	m.From, m.To = a.Spec.ID, CoordinatorID
	return a.Link.Send(ctx, m)
}

// toNeighbour sends a message along an edge.
func (a *Agent) toNeighbour(ctx context.Context, edge int, m Message) error {
	m.From, m.To = a.Spec.ID, a.Spec.ID.Peer(a.Spec.Neighbours[edge])
	return a.Link.Send(ctx, m)
}

// fail tells the coordinator why this node ends, unless the node was told to end.
func (a *Agent) fail(ctx context.Context, err error) error {
	if ctx.Err() == nil && !errors.Is(err, errFailed) {
		err = errors.Join(err, a.tell(ctx, Message{Kind: Fail, Text: err.Error()}))
	}
	return err
}

// errFailed marks a run that was ended by another node or the coordinator.
var errFailed = errors.New("run ended")

// join says hello until the coordinator begins, or answers that it does not know the node's earlier rounds.
func (a *Agent) join(ctx context.Context) error {
	rounds := account.UnlimitedRounds
	if a.Spec.Secret != nil && len(a.Spec.Neighbours) > 0 {
		rounds = a.Spec.Secret.Affords()
	}
	return a.until(ctx, func() bool { return a.begun }, func() error {
		return a.tell(ctx, Message{Kind: Hello, Round: a.node.State().Round, Rounds: rounds, Rules: a.Rules.Digest()})
	})
}

// until handles messages until done, and calls remind first and after every Retry.
func (a *Agent) until(ctx context.Context, done func() bool, remind func() error) error {
	for !done() {
		if err := remind(); err != nil {
			return err
		}
		within, stop := context.WithTimeout(ctx, a.Retry)
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

// handle takes one message. A message that comes twice, or too late to matter, changes nothing.
func (a *Agent) handle(ctx context.Context, m Message) error {
	if m.From == CoordinatorID {
		return a.handleCoordinator(m)
	}
	k, ok := a.slot[m.From.Index]
	if !ok || m.From.Side != 1-a.Spec.ID.Side || m.Round < 1 {
		return nil
	}
	if m.Kind == Share && (math.IsNaN(m.Value) || math.IsInf(m.Value, 0)) {
		return fmt.Errorf("agents: %v: share of %v in round %d is %v: must be finite: %w", a.Spec.ID, m.From, m.Round, m.Value, admm.ErrParameter)
	}
	return a.handleNeighbour(ctx, k, m)
}

func (a *Agent) handleCoordinator(m Message) error {
	switch {
	case m.Kind == Fail:
		return fmt.Errorf("agents: %w: %s", errFailed, m.Text)
	case m.Kind == Begin:
		return a.begin(m.Run)
	case m.Kind == Bye:
		a.released = a.node.State().Final != nil
	case m.Kind == Lost && m.Round == a.awaiting && m.Round > 0:
		return fmt.Errorf("agents: %v: %w: it reports round %d, which ended long ago", a.Spec.ID, admm.ErrLost, m.Round)
	case m.Kind == Decide && a.awaits(m):
		a.decision = &m.Decision
	}
	return nil
}

// begin takes part in a run. The state of another run is refused, unless it is from before that run's first round: then the node begins
// as if it had none.
func (a *Agent) begin(run string) error {
	s := a.node.State()
	if s.Run != "" && s.Run != run {
		if a.begun || s.Round > 1 {
			return fmt.Errorf("agents: %v: %w: its state, of round %d, is of another run", a.Spec.ID, admm.ErrLost, s.Round)
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

// awaits reports whether m is a possible decision on the round that the node has reported.
func (a *Agent) awaits(m Message) bool {
	d := m.Decision
	if !(d.Eta > 0) || math.IsInf(d.Eta, 0) || d.Action < admm.Continue || d.Action > admm.Stop {
		return false
	}
	if d.Action == admm.BeginProjecting && (a.Rules.Rounds == 0 || a.node.State().Phase == admm.Projecting) {
		return false
	}
	return a.awaiting > 0 && m.Round == a.awaiting
}
