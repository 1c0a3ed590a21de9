package main

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
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

// Run writes a problem.
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
