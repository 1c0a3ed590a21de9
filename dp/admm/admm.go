package admm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"

	"coupling/dp/internal/check"

	"golang.org/x/sync/errgroup"
)

var (
	// ErrParameter marks a parameter out of range; the message names it and its value. It is dp.ErrParameter.
	ErrParameter = check.ErrParameter
	// ErrInfeasible marks bounds that no plan meets; errors.As with *InfeasibleError gives the violated cut.
	ErrInfeasible = errors.New("no plan meets the bounds")
	// ErrBudget marks a round that a node's privacy budget does not pay for.
	ErrBudget = errors.New("privacy budget is spent")
)

const in = check.In("admm")

var bad = in.Bad

// ADMM holds the rules that all nodes and the coordinator share. Its zero value works.
type ADMM struct {
	// Eta is the penalty η > 0, in units of utility per amount²; 0 means 1. Convergence is fastest
	// where the changes of prices are about η times the changes of amounts.
	Eta float64 `json:"eta,omitzero"`
	// Relax is the over-relaxation λ in (0, 2); 0 means 1, none. 1.6 saves a third of the rounds
	// for curved utilities, and needs some more for linear ones.
	Relax float64 `json:"relax,omitzero"`
	// Adapt lets the coordinator double or halve η when one residual lags behind, in the first 300
	// rounds. It corrects a bad η, and does not improve a good one.
	Adapt bool `json:"adapt,omitzero"`
	// Tol stops when both residuals are at most Tol times (√edges + norm), norm being that of the
	// plan for the primal and of the prices for the dual residual; 0 means 1e-8.
	Tol float64 `json:"tol,omitzero"`
	// MaxRounds limits the rounds of a phase; 0 means 100,000.
	MaxRounds int `json:"max_rounds,omitzero"`
	// Rounds is the number of private rounds; 0 means that nothing is private. The plans of the
	// last Tail rounds (0: half of them) are averaged and then projected.
	Rounds int `json:"rounds,omitzero"`
	Tail   int `json:"tail,omitzero"`
	// Workers is the number of goroutines of Solve; 0 means GOMAXPROCS. It does not change results.
	Workers int `json:"-"`
	// Trace is called after every round of Solve.
	Trace func(Step) `json:"-"`
}

// Status is the end of a run: converged, or out of rounds.
type Status int

const (
	// Converged means that the residuals are within Tol. After private rounds they are those of the
	// projecting phase: private rounds have a fixed number, and noise keeps them from converging.
	Converged Status = iota
	// RoundLimit means that MaxRounds was reached before convergence.
	RoundLimit
)

// String names the status.
func (s Status) String() string {
	if s == Converged {
		return "converged"
	}
	return "round limit"
}

// Step is the state after a round. Slices are an amount an edge, and are overwritten by the next round.
type Step struct {
	Round                  int
	Phase                  Phase
	Eta                    float64
	FromTarget, FromSource []float64 // shared by targets and by sources: all messages
	Plan, Price            []float64 // π and α, which everyone can compute from the messages
	Primal, Dual           float64   // relative residuals
}

// Result is a plan and how the run ended.
type Result struct {
	// Plan is π: amounts on which both ends of each edge agree, feasible up to the residual.
	// Problem.Repair makes it exactly feasible.
	Plan []float64
	// Price is α, the price of a unit that an edge's target pays its source; after private rounds
	// it is that of the projecting phase.
	Price []float64
	// Average is the mean of the shared plans over the last rounds of Algorithm 2, before it was
	// projected; nil for Algorithm 1.
	Average      []float64
	Rounds       int // of both phases
	Status       Status
	Primal, Dual float64
	Eta          float64 // the last
}

// Filled returns the rules with zeros replaced by defaults.
func (a ADMM) Filled() ADMM {
	a.Eta, a.Relax, a.Tol = cmp.Or(a.Eta, 1), cmp.Or(a.Relax, 1), cmp.Or(a.Tol, 1e-8)
	a.MaxRounds, a.Tail = cmp.Or(a.MaxRounds, 100_000), cmp.Or(a.Tail, (a.Rounds+1)/2)
	return a
}

// Check refuses rules out of range.
func (a ADMM) Check() error {
	switch err := in.Positive("Eta", a.Eta); {
	case err != nil:
		return err
	case !(a.Relax > 0 && a.Relax < 2):
		return bad("Relax = %v: must be in (0, 2)", a.Relax)
	case !(a.Tol > 0):
		return bad("Tol = %v: must be positive", a.Tol)
	case a.MaxRounds < 1:
		return bad("MaxRounds = %d: must be at least 1", a.MaxRounds)
	case a.Rounds < 0:
		return bad("Rounds = %d: must be at least 0", a.Rounds)
	case a.Rounds > 0 && (a.Tail < 1 || a.Tail > a.Rounds):
		return bad("Tail = %d: must be in 1..%d", a.Tail, a.Rounds)
	}
	return nil
}

// Digest is equal for rules that are equal after defaults are filled in, apart from Workers and
// Trace; nodes and coordinator must agree on it.
func (a ADMM) Digest() string {
	a = a.Filled()
	sum := sha256.Sum256(fmt.Appendf(nil, "%v %v %v %v %v %v %v", a.Eta, a.Relax, a.Adapt, a.Tol, a.MaxRounds,
		a.Rounds, a.Tail))
	return hex.EncodeToString(sum[:16])
}

// Solve runs Algorithm 1 in this process, all nodes in step; a.Rounds does not apply. The same
// problem gives the same bits as a run over a Transport. It checks the problem first (see
// Problem.Check). Cost: a round is O(edges · log degree); memory some 260 bytes an edge beside the
// problem.
func (a ADMM) Solve(ctx context.Context, p Problem) (*Result, error) {
	a.Rounds, a.Tail = 0, 0
	if err := p.Check(); err != nil {
		return nil, err
	}
	return a.run(ctx, p.Graph, p.Specs())
}

// edgesPerSpan is the number of edges that a goroutine takes at a time.
const edgesPerSpan = 4096

// run is a run of all nodes in this process.
func (a ADMM) run(ctx context.Context, g Graph, specs []Spec) (*Result, error) {
	c, err := NewConsensus(a, g)
	if err != nil {
		return nil, err
	}
	nodes, questions := make([]*Node, len(specs)), make([]Question, len(specs))
	spans, edges := []int{0}, 0 // of nodes, with about equally many edges
	for i, s := range specs {
		if nodes[i], err = NewNode(s, a); err != nil {
			return nil, err
		}
		if edges += len(s.Neighbours); edges >= edgesPerSpan || i == len(specs)-1 {
			spans, edges = append(spans, i+1), 0
		}
	}
	round := func(k int) error {
		for i := spans[k]; i < spans[k+1]; i++ {
			c.Ask(i, &questions[i])
			out, err := nodes[i].Answer(questions[i])
			if err == nil {
				err = c.Take(i, out)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for !c.Done {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := forEach(len(spans)-1, cmp.Or(a.Workers, runtime.GOMAXPROCS(0)), round); err != nil {
			return nil, err
		}
		if err := c.Update(); err != nil {
			return nil, err
		}
	}
	return c.Result(), nil
}

// forEach calls f(0), …, f(n−1) on so many goroutines at a time; with one worker on the caller's.
func forEach(n, workers int, f func(k int) error) error {
	var group errgroup.Group
	group.SetLimit(workers)
	for k := range n {
		if workers > 1 {
			group.Go(func() error { return f(k) })
		} else if err := f(k); err != nil {
			return err
		}
	}
	return group.Wait()
}
