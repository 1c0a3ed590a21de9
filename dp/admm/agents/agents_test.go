package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/admm/admmtest"
	"coupling/dp/admm/agents"

	"github.com/google/go-cmp/cmp"
)

const retry = 5 * time.Millisecond

func problem(seed uint64, kind admmtest.Kind) admm.Problem {
	return admmtest.Problem(rand.New(rand.NewPCG(seed, 1)), kind)
}

// protected is a problem with private nodes, and what SolvePrivate makes of it.
func protected(t *testing.T, a admm.ADMM) (admm.Problem, []admm.Spec, *admm.Result) {
	t.Helper()
	p := problem(3, admmtest.Kind{Network: "random", Utility: "linear"})
	private := admm.Private{Budget: account.Budget{Alpha: 20}, Slope: 5}
	specs, err := private.Protect(rand.New(rand.NewPCG(5, 6)), p.Specs())
	if err != nil {
		t.Fatal(err)
	}
	want, err := a.SolvePrivate(t.Context(), p, private, rand.New(rand.NewPCG(5, 6)))
	if err != nil {
		t.Fatal(err)
	}
	return p, specs, want
}

var faults = map[string]admmtest.Faulty{
	"none":       {},
	"lost":       {Lose: 0.1},
	"duplicated": {Duplicate: 0.3},
	"late":       {Late: 0.1},
	"all":        {Lose: 0.1, Duplicate: 0.2, Late: 0.1},
}

// Whatever happens to messages, the plan has the same bits as in one process: plain and private, both phases.
func TestSameBitsOverFaultyLines(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			for seed, kind := range []admmtest.Kind{{Network: "random", Utility: "mixed"}, {Network: "complete", Utility: "quadratic"}} {
				p := problem(uint64(seed), kind)
				a := admm.ADMM{Tol: 1e-3, Adapt: true, Relax: 1.2}
				want, err := a.Solve(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				line := &admmtest.Faulty{Transport: &agents.Channels{}, Seed: 7, Lose: f.Lose, Duplicate: f.Duplicate, Late: f.Late}
				got, err := agents.Solve(t.Context(), a, line, p.Graph, p.Specs(), retry)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want.Plan, got.Plan); d != "" || got.Rounds != want.Rounds {
					t.Errorf("%v: %d rounds for %d: %s", kind, got.Rounds, want.Rounds, d)
				}
			}
			a := admm.ADMM{Rounds: 20, Tol: 1e-4}
			p, specs, want := protected(t, a)
			line := &admmtest.Faulty{Transport: &agents.Channels{}, Seed: 8, Lose: f.Lose, Duplicate: f.Duplicate, Late: f.Late}
			got, err := agents.Solve(t.Context(), a, line, p.Graph, specs, retry)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.Plan, got.Plan); d != "" || got.Rounds != want.Rounds {
				t.Errorf("private: %d rounds for %d: %s", got.Rounds, want.Rounds, d)
			}
		})
	}
}

// mortal is an agent that dies in the middle of a round, several times, and comes back with what it had saved.
func mortal(ctx context.Context, a agents.Agent, line agents.Transport, deaths int, lose bool) (agents.Amounts, error) {
	var saved []byte
	for death := 0; ; death++ {
		life, die := context.WithCancel(ctx)
		link, err := line.Join(ctx, a.Spec.ID)
		if err != nil {
			die()
			return agents.Amounts{}, err
		}
		saves := 0
		b := agents.Agent{Rules: a.Rules, Spec: a.Spec, Link: link, Retry: a.Retry}
		b.Save = func(s admm.State) (err error) {
			if saved, err = json.Marshal(s); err != nil {
				return err
			}
			if saves++; saves == 3 && death < deaths {
				die()
			}
			return nil
		}
		if saved != nil && !lose {
			b.Resume = new(admm.State)
			if err := json.Unmarshal(saved, b.Resume); err != nil {
				die()
				return agents.Amounts{}, err
			}
		}
		out, err := b.Run(life)
		dead := life.Err() != nil && ctx.Err() == nil
		die()
		if !dead {
			return out, err
		}
		time.Sleep(3 * retry) // away for a while: its messages are lost
		drain(link)
	}
}

// drain takes what came for a node that was away, as a broker without a subscriber would.
func drain(link agents.Link) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	for {
		if _, err := link.Receive(ctx); err != nil {
			return
		}
	}
}

// play runs a problem in which two neighbours die three times each.
func play(t *testing.T, a admm.ADMM, p admm.Problem, specs []admm.Spec, lose bool) (*admm.Result, error) {
	t.Helper()
	line := &agents.Channels{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	parts, errs := make([]agents.Amounts, len(specs)), make([]error, len(specs))
	var wg sync.WaitGroup
	for i, s := range specs {
		deaths := 0
		if i == 0 || i == p.Graph.Targets {
			deaths = 3
		}
		wg.Go(func() {
			parts[i], errs[i] = mortal(ctx, agents.Agent{Rules: a, Spec: s, Retry: retry}, line, deaths, lose)
		})
	}
	link, err := line.Join(ctx, agents.CoordinatorID)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := (&agents.Coordinator{Rules: a, Nodes: p.Graph.Nodes(), Link: link, Retry: retry}).Run(ctx)
	if err != nil {
		cancel()
	}
	wg.Wait()
	for _, e := range errs {
		if errors.Is(e, admm.ErrLost) {
			err = e
		}
	}
	return &admm.Result{Plan: agents.Assemble(p.Graph, parts), Rounds: sum.Rounds}, err
}

// Nodes that die and come back change nothing, with noise or without.
func TestNodesDie(t *testing.T) {
	a := admm.ADMM{Rounds: 12, Tol: 1e-4}
	p, specs, want := protected(t, a)
	got, err := play(t, a, p, specs, false)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Plan, got.Plan); d != "" || got.Rounds != want.Rounds {
		t.Errorf("%d rounds for %d: %s", got.Rounds, want.Rounds, d)
	}
}

// A node that comes back without its state is told so, and the run ends with that reason.
func TestStateIsLost(t *testing.T) {
	p := problem(1, admmtest.Kind{Network: "complete", Utility: "log"})
	if _, err := play(t, admm.ADMM{}, p, p.Specs(), true); !errors.Is(err, admm.ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
}

// A coordinator that dies, before and after it has told what it decided, comes back with what it had saved; nodes die too; nothing changes.
func TestCoordinatorDies(t *testing.T) {
	a := admm.ADMM{Rounds: 12, Tol: 1e-4}
	p, specs, want := protected(t, a)
	got, deaths, err := reign(t, a, p, specs, false)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Plan, got.Plan); d != "" || got.Rounds != want.Rounds || deaths < 4 {
		t.Errorf("%d rounds for %d, %d deaths: %s", got.Rounds, want.Rounds, deaths, d)
	}
}

// A coordinator that begins in the middle of a run says that it does not know it, and nobody waits for ever.
func TestCoordinatorForgets(t *testing.T) {
	a := admm.ADMM{Rounds: 12, Tol: 1e-4}
	p, specs, _ := protected(t, a)
	if _, _, err := reign(t, a, p, specs, true); !errors.Is(err, admm.ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
}

// reign plays a problem under coordinators that die after every fifth decision, in turn before and after it is told.
func reign(t *testing.T, a admm.ADMM, p admm.Problem, specs []admm.Spec, forget bool) (*admm.Result, int, error) {
	t.Helper()
	line := &agents.Channels{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	parts := make([]agents.Amounts, len(specs))
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, s := range specs {
		deaths := 0
		if i == 1 {
			deaths = 3
		}
		wg.Go(func() { // whose error is the coordinator's
			parts[i], _ = mortal(ctx, agents.Agent{Rules: a, Spec: s, Retry: retry}, line, deaths, false)
		})
	}
	var checkpoint []byte
	for deaths := 0; ; deaths++ {
		life, die := context.WithCancel(ctx)
		link, err := line.Join(ctx, agents.CoordinatorID)
		if err != nil {
			t.Fatal(err)
		}
		saves := 0
		c := agents.Coordinator{Rules: a, Nodes: p.Graph.Nodes(), Link: link, Retry: retry}
		c.Save = func(m agents.Checkpoint) (err error) {
			checkpoint, err = json.Marshal(m)
			if saves++; saves == 5 && deaths%2 == 0 {
				die()
				return life.Err() // nobody is told
			}
			return err
		}
		c.Trace = func(admm.Step) {
			if saves == 5 {
				die()
			}
		}
		if checkpoint != nil && !forget {
			c.Resume = new(agents.Checkpoint)
			if err := json.Unmarshal(checkpoint, c.Resume); err != nil {
				t.Fatal(err)
			}
		}
		sum, err := c.Run(life)
		dead := life.Err() != nil && ctx.Err() == nil
		die()
		if !dead {
			if err != nil {
				cancel()
			}
			wg.Wait()
			return &admm.Result{Plan: agents.Assemble(p.Graph, parts), Rounds: sum.Rounds}, deaths, err
		}
		time.Sleep(3 * retry)
		drain(link)
	}
}

// What a coordinator would not say, or not now, or another says in its name, changes nothing.
func TestForgedVerdicts(t *testing.T) {
	p := problem(1, admmtest.Kind{Network: "complete", Utility: "linear"})
	a := admm.ADMM{Tol: 1e-4}
	want, err := a.Solve(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	stop := admm.Decision{Action: admm.Stop, Eta: 1}
	var forged []agents.Message
	neighbour, nobody := admm.ID{Side: admm.Source}, admm.ID{Side: admm.Source, Index: 99}
	for _, from := range []admm.ID{agents.CoordinatorID, neighbour, nobody} {
		for _, round := range []int{0, -1, 1 << 30} {
			forged = append(forged, agents.Message{Kind: agents.Decide, From: from, Round: round, Decision: stop})
		}
		for _, v := range []admm.Decision{{}, {Action: admm.Stop}, {Action: admm.Stop, Eta: -1}, {Action: admm.Stop, Eta: math.NaN()}, {Action: admm.Stop, Eta: math.Inf(1)}, {Action: 3, Eta: 1}, {Action: -1, Eta: 1}} {
			for round := range 20 {
				forged = append(forged, agents.Message{Kind: agents.Decide, From: from, Round: round, Decision: v})
			}
		}
		if from != agents.CoordinatorID {
			for round := range 20 {
				forged = append(forged, agents.Message{Kind: agents.Decide, From: from, Round: round, Decision: stop})
			}
			forged = append(forged, agents.Message{Kind: agents.Fail, From: from, Text: "no"}, agents.Message{Kind: agents.Bye, From: from})
		}
	}
	got, err := agents.Solve(t.Context(), a, &forger{Channels: &agents.Channels{}, messages: forged}, p.Graph, p.Specs(), retry)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Plan, got.Plan); d != "" || got.Status != admm.Converged {
		t.Errorf("%v rounds for %d: %s", got.Rounds, want.Rounds, d)
	}
}

// forger lets everybody receive forged messages among the true ones.
type forger struct {
	*agents.Channels
	messages []agents.Message
}

func (f *forger) Join(ctx context.Context, id admm.ID) (agents.Link, error) {
	l, err := f.Channels.Join(ctx, id)
	return &forgedLink{Link: l, forger: f, coordinator: id == agents.CoordinatorID}, err
}

type forgedLink struct {
	agents.Link
	forger      *forger
	coordinator bool
	at          int
}

func (l *forgedLink) Receive(ctx context.Context) (agents.Message, error) {
	if l.at++; l.at%2 == 0 && !l.coordinator && ctx.Err() == nil {
		return l.forger.messages[l.at/2%len(l.forger.messages)], nil
	}
	return l.Link.Receive(ctx)
}

// A share that is no number ends the run with the reason.
func TestShareIsNoNumber(t *testing.T) {
	p := problem(1, admmtest.Kind{Network: "complete", Utility: "linear"})
	line := &forger{Channels: &agents.Channels{}, messages: []agents.Message{{Kind: agents.Share, From: admm.ID{Side: admm.Source}, Round: 2, Value: math.NaN()}}}
	if _, err := agents.Solve(t.Context(), admm.ADMM{}, line, p.Graph, p.Specs(), retry); !errors.Is(err, admm.ErrParameter) {
		t.Errorf("%v, want ErrParameter", err)
	}
}

// A budget that does not pay for the rounds ends the run before its first round.
func TestBudgetIsAsked(t *testing.T) {
	p := problem(2, admmtest.Kind{Network: "complete", Utility: "linear"})
	specs, err := admm.Private{Budget: account.Budget{Alpha: 1, Epsilon: 5}, Slope: 5}.Protect(rand.New(rand.NewPCG(1, 1)), p.Specs())
	if err != nil {
		t.Fatal(err)
	}
	rounds := 0
	a := admm.ADMM{Rounds: 6, Trace: func(admm.Step) { rounds++ }}
	if _, err = agents.Solve(t.Context(), a, &agents.Channels{}, p.Graph, specs, retry); !errors.Is(err, admm.ErrBudget) || rounds > 0 {
		t.Errorf("%v after %d rounds, want ErrBudget", err, rounds)
	}
	a.Rounds = 5
	if _, err = agents.Solve(t.Context(), a, &agents.Channels{}, p.Graph, specs, retry); err != nil {
		t.Error(err)
	}
}

// A node without edges takes part.
func TestNodeWithoutEdges(t *testing.T) {
	g, err := admm.Edges(2, 1, []admm.Edge{{Target: 1}})
	if err != nil {
		t.Fatal(err)
	}
	p := admm.Problem{Graph: g, TargetUtility: []admm.Utility{admm.Linear{A: 1}}, SourceBounds: []admm.Bounds{{Max: 2}}}
	r, err := agents.Solve(t.Context(), admm.ADMM{}, &agents.Channels{}, p.Graph, p.Specs(), retry)
	if err != nil || r.Status != admm.Converged || math.Abs(r.Plan[0]-2) > 1e-6 {
		t.Errorf("%v, %v", r, err)
	}
}

// conduct runs agents, each with what one makes of the rules of the run and of what it resumes.
func conduct(t *testing.T, a admm.ADMM, line agents.Transport, p admm.Problem, change func(i int, n *agents.Agent)) (*admm.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	parts := make([]agents.Amounts, len(p.Graph.Nodes()))
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, s := range p.Specs() {
		link, err := line.Join(ctx, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		n := &agents.Agent{Rules: a, Spec: s, Link: link, Retry: retry}
		change(i, n)
		wg.Go(func() { parts[i], _ = n.Run(ctx) }) // whose error is the coordinator's
	}
	link, err := line.Join(ctx, agents.CoordinatorID)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := (&agents.Coordinator{Rules: a, Nodes: p.Graph.Nodes(), Link: link, Retry: retry}).Run(ctx)
	if err != nil {
		cancel()
	}
	wg.Wait()
	return &admm.Result{Plan: agents.Assemble(p.Graph, parts), Rounds: sum.Rounds}, err
}

// A node by other rules, which would end with another plan or none, ends the run before its first round.
func TestRulesDiffer(t *testing.T) {
	p := problem(1, admmtest.Kind{Network: "complete", Utility: "linear"})
	for _, other := range []admm.ADMM{{Rounds: 100}, {Eta: 2}, {Relax: 1.5}, {Tail: 3}} {
		r, err := conduct(t, admm.ADMM{Rounds: 50}, &agents.Channels{}, p, func(i int, n *agents.Agent) {
			if i == 1 {
				n.Rules = other
			}
		})
		if !errors.Is(err, admm.ErrParameter) || r.Rounds != 0 {
			t.Errorf("%+v: %v after %d rounds", other, err, r.Rounds)
		}
	}
}

// A state that was kept before the first round of another run, by other rules, is forgotten; of a later round it is refused.
func TestStateOfAnotherRun(t *testing.T) {
	p := problem(1, admmtest.Kind{Network: "complete", Utility: "quadratic"})
	a := admm.ADMM{Tol: 1e-4}
	want, err := a.Solve(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, round := range []int{1, 2} {
		got, err := conduct(t, a, &agents.Channels{}, p, func(i int, n *agents.Agent) {
			if d := len(n.Spec.Neighbours); i == 0 {
				n.Resume = &admm.State{Run: "another", Round: round, Eta: 7, Plan: make([]float64, d), Price: make([]float64, d), Before: make([]float64, d)}
			}
		})
		if round == 1 && (err != nil || cmp.Diff(want.Plan, got.Plan) != "") || round > 1 && !errors.Is(err, admm.ErrLost) {
			t.Errorf("round %d: %v, plan %v, want %v", round, err, got.Plan, want.Plan)
		}
	}
}

// Messages of rounds that no run has change nothing, in the first round above all.
func TestMessagesOfNoRound(t *testing.T) {
	p := problem(1, admmtest.Kind{Network: "complete", Utility: "linear"})
	var odd []agents.Message
	for _, side := range []admm.Side{admm.Target, admm.Source} {
		for _, kind := range []agents.Kind{agents.Ask, agents.Share, agents.Lost, agents.Report, agents.Hello, "nonsense"} {
			for _, round := range []int{0, -1, math.MinInt} {
				odd = append(odd, agents.Message{Kind: kind, From: admm.ID{Side: side}, Round: round})
			}
		}
	}
	odd = slices.Concat(slices.Repeat([]agents.Message{{Kind: agents.Ask, From: admm.ID{Side: admm.Target}}, {Kind: agents.Ask, From: admm.ID{Side: admm.Source}}}, 2), odd)
	projecting := agents.Message{Kind: agents.Decide, From: agents.CoordinatorID, Decision: admm.Decision{Action: admm.BeginProjecting, Eta: 1}}
	for projecting.Round = range 5 {
		odd = append(odd, projecting)
	}
	a := admm.ADMM{Tol: 1e-4}
	want, err := a.Solve(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := agents.Solve(t.Context(), a, &forger{Channels: &agents.Channels{}, messages: odd}, p.Graph, p.Specs(), retry)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Plan, got.Plan); d != "" || got.Status != admm.Converged {
		t.Errorf("%v after %d rounds: %s", got.Status, got.Rounds, d)
	}
}

// A state that no run leaves is refused, and never indexed.
func TestStateThatCannotBe(t *testing.T) {
	spec := admm.Spec{Neighbours: []int{0}, Utilities: []admm.Utility{admm.Linear{A: 1}}, Bounds: admm.Bounds{Max: 1}}
	one := []float64{1}
	for i, s := range []admm.State{
		{Round: 0, Eta: 1, Plan: one, Price: one},
		{Round: 2, Eta: 1, Plan: one, Price: one},
		{Round: 2, Eta: 0, Plan: one, Price: one, Before: one},
		{Round: 2, Eta: 1, Phase: admm.Projecting, Plan: one, Price: one, Before: one},
		{Round: 2, Eta: 1, Phase: -1, Plan: one, Price: one, Before: one},
		{Round: 2, Eta: 1, Plan: one, Price: one, Before: one, Tail: one},
	} {
		link, err := (&agents.Channels{}).Join(t.Context(), spec.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&agents.Agent{Spec: spec, Link: link, Resume: &s}).Run(t.Context()); !errors.Is(err, admm.ErrLost) {
			t.Errorf("%d: %v, want ErrLost", i, err)
		}
	}
}

// What float64 cannot hold ends a run with the reason, over a transport too.
func TestSumsOverflow(t *testing.T) {
	huge := []admm.Utility{admm.Linear{A: 1e308}}
	p := admm.Problem{Graph: admm.Complete(1, 1), TargetUtility: huge, SourceUtility: huge, SourceBounds: []admm.Bounds{{Max: 1}}}
	if _, err := agents.Solve(t.Context(), admm.ADMM{}, &agents.Channels{}, p.Graph, p.Specs(), retry); !errors.Is(err, admm.ErrParameter) {
		t.Errorf("%v, want ErrParameter", err)
	}
}
