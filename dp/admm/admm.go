package admm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"
	"sync"
)

// ADMM is the algorithm: rules that all nodes and the coordinator share. Its zero value works.
type ADMM struct {
	// Eta is the penalty η > 0, in units of utility per amount²; 0 means 1. Convergence is fastest where the changes of prices and η times
	// the changes of amounts are of a size.
	Eta float64 `json:"eta,omitzero"`
	// Relax is the over-relaxation λ in (0, 2); 0 means 1, none. 1.6 saves a third of the rounds where utilities are curved, and costs some where
	// they are linear.
	Relax float64 `json:"relax,omitzero"`
	// Adapt lets the coordinator double or halve η when one residual lags behind, in the first 300 rounds. It mends a bad η, and is
	// no better than a good one.
	Adapt bool `json:"adapt,omitzero"`
	// Tol stops when both residuals are at most Tol times (√edges + norm), norm being that of the plan for the primal and of the prices for
	// the dual residual; 0 means 1e-8.
	Tol float64 `json:"tol,omitzero"`
	// MaxRounds limits the rounds of a phase; 0 means 100,000.
	MaxRounds int `json:"max_rounds,omitzero"`
	// Rounds is the number of private rounds, of which the plans of the last Tail (0: a half) are averaged and then projected; 0 means that
	// nothing is private.
	Rounds int `json:"rounds,omitzero"`
	Tail   int `json:"tail,omitzero"`
	// Workers is the number of goroutines of Solve; 0 means GOMAXPROCS. It changes no number.
	Workers int `json:"-"`
	// Trace is called after every round of Solve.
	Trace func(Step) `json:"-"`
}

// Status says how a run ended.
type Status int

const (
	// Converged means that the residuals are within Tol.
	Converged Status = iota
	// RoundLimit means that MaxRounds came first: look twice.
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
	FromTarget, FromSource []float64 // what targets and what sources shared: all that travels
	Plan                   []float64 // π
	Primal, Dual           float64   // relative residuals
}

// Result is a plan and how it came about.
type Result struct {
	// Plan is π: amounts on which both ends of each edge agree, feasible up to the residual. Problem.Repair makes it exactly feasible.
	Plan []float64
	// Price is α, what an edge's target pays its source for a unit; of the projecting phase after private rounds.
	Price []float64
	// Average is the mean of the shared plans over the last rounds of Algorithm 2, before it was projected; nil for Algorithm 1.
	Average      []float64
	Rounds       int // of both phases
	Status       Status
	Primal, Dual float64
	Eta          float64 // the last
}

// Filled returns the rules with the defaults in place of zeros.
func (a ADMM) Filled() ADMM {
	if a.Eta == 0 {
		a.Eta = 1
	}
	if a.Relax == 0 {
		a.Relax = 1
	}
	if a.Tol == 0 {
		a.Tol = 1e-8
	}
	if a.MaxRounds == 0 {
		a.MaxRounds = 100_000
	}
	if a.Tail == 0 {
		a.Tail = (a.Rounds + 1) / 2
	}
	return a
}

// Check refuses rules out of range.
func (a ADMM) Check() error {
	switch {
	case !(a.Eta > 0) || math.IsInf(a.Eta, 0):
		return bad("Eta = %v: must be positive and finite", a.Eta)
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

// Digest is the same for rules by which nodes and a coordinator can run together: those that are equal after defaults are filled in. Workers and
// Trace do not count.
func (a ADMM) Digest() string {
	a = a.Filled()
	sum := sha256.Sum256(fmt.Appendf(nil, "%v %v %v %v %v %v %v", a.Eta, a.Relax, a.Adapt, a.Tol, a.MaxRounds, a.Rounds, a.Tail))
	return hex.EncodeToString(sum[:16])
}

// Solve runs Algorithm 1 in this process, all nodes in step; a.Rounds does not apply. The same problem gives the same bits as a
// run over a Transport. It checks the problem first (see Problem.Check). Cost: a round is O(edges · log degree); memory some 260 bytes an
// edge beside the problem.
func (a ADMM) Solve(ctx context.Context, p Problem) (*Result, error) {
	a.Rounds, a.Tail = 0, 0
	if err := p.Check(); err != nil {
		return nil, err
	}
	return a.run(ctx, p.Graph, p.Specs())
}

// run plays all nodes.
func (a ADMM) run(ctx context.Context, g Graph, specs []Spec) (*Result, error) {
	a = a.Filled()
	w, err := newWorld(a, g, specs)
	if err != nil {
		return nil, err
	}
	defer w.stop()
	stopping := NewStoppingRule(a)
	var average []float64
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		phase, eta := stopping.Phase, stopping.Eta
		report, err := w.round()
		if err = cmp.Or(err, report.Check()); err != nil {
			return nil, err
		}
		decision := stopping.Decide(report)
		if a.Trace != nil {
			step := Step{Round: stopping.Total, Phase: phase, Eta: eta, FromTarget: w.shared[Target], FromSource: w.shared[Source], Primal: report.Primal(), Dual: report.Dual()}
			step.Plan = w.gather(func(n *Node) []float64 { return n.state.Plan })
			a.Trace(step)
		}
		if decision.Action == BeginProjecting {
			average = w.gather(func(n *Node) []float64 { return n.state.Tail })
		}
		if decision.Action == Stop {
			return &Result{
				Plan: w.gather(func(n *Node) []float64 { return n.state.Plan }), Price: w.gather(func(n *Node) []float64 { return n.state.Price }),
				Average: average, Rounds: stopping.Total, Status: decision.Status, Primal: report.Primal(), Dual: report.Dual(), Eta: eta,
			}, nil
		}
		for _, n := range w.nodes {
			n.Apply(decision)
		}
	}
}

// world holds all nodes of a run and carries their messages.
type world struct {
	graph     Graph
	nodes     []*Node
	incidence [][]int32
	shared    [2][]float64 // by edge, from targets and from sources
	reports   []Report
	errs      []error
	spans     [][2]int // nodes, in pieces of about equally many edges
	tasks     chan func()
	pending   sync.WaitGroup
}

// edgesPerSpan is what a goroutine takes at a time.
const edgesPerSpan = 4096

func newWorld(a ADMM, g Graph, specs []Spec) (*world, error) {
	w := &world{graph: g, incidence: g.incidence(), reports: make([]Report, len(specs)), errs: make([]error, len(specs))}
	begin, edges := 0, 0
	for i, s := range specs {
		n, err := NewNode(s, a)
		if err != nil {
			return nil, err
		}
		w.nodes = append(w.nodes, n)
		if edges += len(s.Neighbours); edges >= edgesPerSpan || i == len(specs)-1 {
			w.spans = append(w.spans, [2]int{begin, i + 1})
			begin, edges = i+1, 0
		}
	}
	w.shared = [2][]float64{make([]float64, len(g.Edges)), make([]float64, len(g.Edges))}
	workers := a.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if workers = min(workers, len(w.spans)); workers > 1 {
		w.tasks = make(chan func())
		for range workers {
			go func() {
				for task := range w.tasks {
					task()
					w.pending.Done()
				}
			}()
		}
	}
	return w, nil
}

func (w *world) stop() {
	if w.tasks != nil {
		close(w.tasks)
	}
}

// each visits all nodes, several at once.
func (w *world) each(visit func(i int)) {
	for _, s := range w.spans {
		task := func() {
			for i := s[0]; i < s[1]; i++ {
				visit(i)
			}
		}
		if w.tasks == nil {
			task()
			continue
		}
		w.pending.Add(1)
		w.tasks <- task
	}
	w.pending.Wait()
}

// round lets all nodes propose, carries the messages, and lets all accept.
func (w *world) round() (Report, error) {
	w.each(func(i int) {
		n := w.nodes[i]
		out, err := n.Propose()
		w.errs[i] = err
		for k, e := range w.incidence[i] {
			if err == nil {
				w.shared[n.spec.ID.Side][e] = out[k]
			}
		}
	})
	for _, err := range w.errs {
		if err != nil {
			return Report{}, err
		}
	}
	w.each(func(i int) {
		n := w.nodes[i]
		others := w.shared[1-n.spec.ID.Side]
		for k, e := range w.incidence[i] {
			n.work[k] = others[e]
		}
		w.reports[i] = n.Accept(n.work)
	})
	var sum Report
	for _, r := range w.reports {
		sum.Add(r)
	}
	return sum, nil
}

// gather collects what targets hold, by edge.
func (w *world) gather(of func(*Node) []float64) []float64 {
	out := make([]float64, len(w.graph.Edges))
	for i, n := range w.nodes[:w.graph.Targets] {
		for k, e := range w.incidence[i] {
			out[e] = of(n)[k]
		}
	}
	return out
}
