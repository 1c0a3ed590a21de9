package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"coupling/dp"
	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/admm/central"
	"coupling/dp/admm/files"
	"coupling/lab"
)

// admmCmd is distributed transport: a problem in a folder, solved here or by processes of its nodes.
type admmCmd struct {
	New     admmNewCmd     `cmd:""`
	Solve   admmSolveCmd   `cmd:""`
	Run     admmRunCmd     `cmd:""`
	Node    admmNodeCmd    `cmd:""`
	Epsilon admmEpsilonCmd `cmd:""`
}

type admmNewCmd struct {
	Out     string  `required:"" placeholder:"DIR"`
	Targets int     `default:"30" min:"1"`
	Sources int     `default:"4" min:"1"`
	Edges   string  `placeholder:"FILE"`
	Bounds  string  `placeholder:"FILE"`
	Utility string  `default:"linear" enum:"linear,log,saturating,quadratic"`
	B       float64 `default:"1"`
	Seed    uint64  `default:"1"`

	Eta   float64 `default:"1"`
	Relax float64 `default:"1"`
	Adapt bool
	Tol   float64 `default:"1e-8"`
	Limit int     `name:"max-rounds" default:"100000"`

	Alpha      *float64 `min:">0" placeholder:"EPS"`
	Rounds     int      `default:"100"`
	Tail       int
	Slope      float64  `default:"5"`
	Range      *float64 `min:">0"`
	Parameters int      `default:"1"`
	Budget     *float64 `min:">0" placeholder:"EPS"`
	Delta      float64  `default:"1e-6"`
	OwnKeys    bool
}

func (c admmNewCmd) Run(a *app) error {
	if _, err := os.Stat(filepath.Join(c.Out, "network.json")); err == nil {
		return usagef("--out %s: it has a problem already: name a new folder, or remove it first with its keys and "+
			"ledgers: rm -r %s", c.Out, c.Out)
	}
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	p := c.problem(rng)
	to := openOut(c.Out, &inputs{paths: []string{c.Edges, c.Bounds}})
	defer to.Close()
	claim(to, "network.json")
	to.Keep = true // nodes of an earlier problem, and their ledgers
	rules := admm.ADMM{Eta: c.Eta, Relax: c.Relax, Adapt: c.Adapt, Tol: c.Tol, MaxRounds: c.Limit}
	var private *admm.Private
	if c.Alpha != nil {
		rules.Rounds, rules.Tail = c.Rounds, c.Tail
		private = &admm.Private{
			Budget:     account.Budget{Alpha: *c.Alpha, Epsilon: given(c.Budget), Delta: c.Delta},
			Slope:      c.Slope,
			Range:      given(c.Range),
			Parameters: c.Parameters,
		}
		if per, known := admm.Steepness(c.utility(1)); known && c.B > 0 { // slopes change by no more than their bound
			private.Range = min(private.Range*per, c.Slope)
		}
		if c.Budget == nil {
			private.Budget.Delta = 0
		}
	}
	keys := rng
	if c.OwnKeys {
		keys = nil
	}
	lab.Check(admmError(files.Write(to.Staging(""), p, rules, private, keys)))
	to.Add("network.json")
	for _, node := range lab.Must(filepath.Glob(to.Staging("nodes/*.json"))) {
		to.Add("nodes/" + filepath.Base(node))
	}
	// The names of what was written, without digests: a node's file is its secret, and could be guessed by its digest.
	lab.Check(commit(to, map[string]any{"files": to.Files()}))
	a.printf("wrote %s: %s, %s, %s; one file a node in nodes/\n", c.Out, plural(p.Graph.Targets, "target"),
		plural(p.Graph.Sources, "source"), plural(len(p.Graph.Edges), "edge"))
	if private != nil && !c.OwnKeys {
		a.printf("noise keys come from --seed: fit for experiments only; see --own-keys\n")
	}
	return nil
}

// admmError marks what the request got wrong.
func admmError(err error) error { return blame(err, fs.ErrNotExist) }

func admmMust[T any](v T, err error) T { return lab.Must(v, admmError(err)) }

func (c admmNewCmd) utility(a float64) admm.Utility { return files.Utilities(a, c.B)[c.Utility] }

func (c admmNewCmd) problem(rng *rand.Rand) admm.Problem {
	p := admm.Problem{Graph: admm.Complete(c.Targets, c.Sources)}
	if c.Edges != "" {
		p = orUsage(files.ReadEdges(c.Edges, c.utility))
	} else {
		for range p.Graph.Edges {
			p.TargetUtility = append(p.TargetUtility, c.utility(float64(1+rng.IntN(5))))
			p.SourceUtility = append(p.SourceUtility, c.utility(float64(1+rng.IntN(5))))
		}
	}
	if c.Bounds != "" {
		lab.Check(usage(files.ReadBounds(c.Bounds, &p)))
		return p
	}
	for range p.Graph.Targets {
		p.TargetBounds = append(p.TargetBounds, admm.Bounds{Max: float64(1 + rng.IntN(5))})
	}
	for range p.Graph.Sources {
		p.SourceBounds = append(p.SourceBounds, admm.Bounds{Max: float64(20 + rng.IntN(21))})
	}
	return p
}

type admmSolveCmd struct {
	Dir  string `arg:""`
	Out  string `placeholder:"FILE"`
	JSON bool
}

// admmSummary is what --json prints.
type admmSummary struct {
	// Status, Primal and Dual are of the projection where rounds are private: these have a fixed number.
	Status    string  `json:"status"`
	Rounds    int     `json:"rounds"` // private ones among them
	Private   int     `json:"private_rounds,omitzero"`
	Primal    float64 `json:"primal"`
	Dual      float64 `json:"dual"`
	Utility   float64 `json:"utility"` // of the repaired plan
	Optimum   float64 `json:"optimum"`
	Gap       float64 `json:"gap"` // of the optimum
	Violation float64 `json:"violation"`
	// Privacy of the whole run for the node that it costs most; nil if nothing is private.
	Privacy *spending `json:"privacy"`
}

// Run plays all nodes and compares with the optimum.
func (c admmSolveCmd) Run(a *app) error {
	lab.Check(usage(isNoPart(c.Out, c.Dir)))
	p, specs, rules, err := files.ReadProblem(c.Dir)
	lab.Check(admmError(err))
	var r *admm.Result
	if rules.Rounds > 0 {
		r = admmMust(rules.SolveProtected(a.run.ctx, p, specs))
	} else {
		r = admmMust(rules.Solve(a.run.ctx, p))
	}
	lab.Check(writePlan(c.Out, p.Graph, r.Plan))
	best := lab.Must(central.Solve(a.run.ctx, p))
	s := admmSummary{
		Status:    r.Status.String(),
		Rounds:    r.Rounds,
		Private:   rules.Rounds,
		Primal:    r.Primal,
		Dual:      r.Dual,
		Utility:   p.Utility(p.Repair(r.Plan)),
		Optimum:   best.Value,
		Gap:       best.Gap,
		Violation: p.Violation(r.Plan),
	}
	costs := costs(a.run.ctx, specs, rules)
	if len(costs) > 0 {
		worst := spent(costs[len(costs)-1].Best())
		s.Privacy = &worst
	}
	if c.JSON {
		err = writeJSON(a, s)
	} else {
		s.print(a, costs)
	}
	return errors.Join(err, admmVerdict(r))
}

// admmVerdict is the error of a run that did not converge.
func admmVerdict(r *admm.Result) error {
	if r.Status == admm.Converged {
		return nil
	}
	return unconverged("admm: %v after %d rounds: residuals %.3g and %.3g", r.Status, r.Rounds, r.Primal, r.Dual)
}

// admmDelta is the δ at which runs are accounted for that have no budget; those that have one are at its δ.
const admmDelta = 1e-6

// costs accounts for a private run: one account for each α_p, degree and δ that differ, the least ε first.
func costs(ctx context.Context, specs []admm.Spec, rules admm.ADMM) []account.Account {
	type kind struct {
		alpha  float64
		degree int
		delta  float64
	}
	seen := map[kind]bool{}
	var out []account.Account
	for _, s := range specs {
		if s.Secret == nil || len(s.Neighbours) == 0 {
			continue
		}
		k := kind{s.Secret.Alpha, len(s.Neighbours), admmDelta}
		if s.Secret.Epsilon > 0 {
			k.delta = s.Secret.Delta
		}
		if seen[k] {
			continue
		}
		seen[k] = true
		out = append(out, lab.Must(account.Spend(ctx, k.alpha, k.degree, rules.Rounds, k.delta)))
	}
	slices.SortStableFunc(out,
		func(a, b account.Account) int { return cmp.Compare(a.Best().Epsilon, b.Best().Epsilon) })
	return out
}

// howEnded words how a run ended. Private rounds have a fixed number: what converges after them is the
// projection of their average onto the feasible plans.
func howEnded(status string, private, rounds int) string {
	if private == 0 {
		return fmt.Sprintf("%s after %s", status, plural(rounds, "round"))
	}
	return fmt.Sprintf("%s, then the projection of their average: %s after %s", plural(private, "private round"),
		status, plural(rounds-private, "round"))
}

func (s admmSummary) print(a *app, costs []account.Account) {
	a.printf("%s, residuals %.2g and %.2g\n", howEnded(s.Status, s.Private, s.Rounds), s.Primal, s.Dual)
	below := fmt.Sprintf("%.3g", s.Optimum-s.Utility)
	if s.Optimum != 0 {
		below = fmt.Sprintf("%.3g%%", 100*(s.Optimum-s.Utility)/math.Abs(s.Optimum))
	}
	a.printf("social utility %.10g, optimum %.10g (proved to %.2g): %s below\n", s.Utility, s.Optimum, s.Gap, below)
	a.printf("the plan misses bounds by at most %.2g before it is repaired\n", s.Violation)
	for _, c := range costs {
		a.printf("\nprivacy: %v", c)
	}
	if len(costs) > 0 {
		printCaveats(a)
	}
}

func printCaveats(a *app) {
	for _, s := range account.Caveats() {
		a.printf("  - %s\n", s)
	}
}

// isNoPart returns an error if the file of a plan is a part of the problem in dir.
func isNoPart(plan, dir string) error {
	parts, err := filepath.Glob(filepath.Join(dir, "*.json"))
	more, bad := filepath.Glob(filepath.Join(dir, "*", "*.json")) // nodes, ledgers
	return errors.Join(err, bad, isOwnInput("out", plan, append(parts, more...)...))
}

// writePlan writes a plan in the fewest digits that read back exactly.
func writePlan(path string, g admm.Graph, plan []float64) error {
	if path == "" {
		return nil
	}
	var b bytes.Buffer
	b.WriteString("target,source,amount\n")
	for i, e := range g.Edges {
		fmt.Fprintf(&b, "%d,%d,%s\n", e.Target, e.Source, strconv.FormatFloat(plan[i], 'g', -1, 64))
	}
	return files.Replace(path, b.Bytes())
}

type admmEpsilonCmd struct {
	Alpha  float64 `required:""`
	Rounds int     `default:"1"`
	Degree int     `default:"1"`
	Delta  float64 `default:"1e-6"`
	JSON   bool
}

// spending is what --json prints of a guarantee.
type spending struct {
	Epsilon    float64 `json:"epsilon"`
	Delta      float64 `json:"delta"`
	Accountant string  `json:"accountant"`
	Kind       string  `json:"kind"`
}

func spent(g dp.Guarantee) spending {
	return spending{g.Epsilon, g.Delta, g.Accountant, g.Kind.String()}
}

func (c admmEpsilonCmd) Run(a *app) error {
	got := admmMust(account.Spend(a.run.ctx, c.Alpha, c.Degree, c.Rounds, c.Delta))
	if c.JSON {
		return writeJSON(a, map[string]spending{"basic": spent(got.Basic), "optimal": spent(got.Optimal),
			"numerical": spent(got.Numerical)})
	}
	a.printf("%v", got)
	printCaveats(a)
	return nil
}
