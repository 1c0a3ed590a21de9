package admm_test

import (
	"fmt"
	"math/rand/v2"

	"coupling/dp/admm"
)

// kind is a kind of random problem: a network and a family of utilities.
type kind struct{ Network, Utility string }

// kinds lists every kind.
func kinds() []kind {
	var out []kind
	for _, n := range []string{"complete", "random", "list"} {
		for _, u := range []string{"linear", "integer", "log", "saturating", "quadratic", "func", "mixed"} {
			out = append(out, kind{n, u})
		}
	}
	return out
}

// String names the kind.
func (k kind) String() string { return fmt.Sprintf("%s/%s", k.Network, k.Utility) }

// draw draws a feasible problem of a kind, of 2 to 9 targets and 2 to 5 sources, with lower bounds on both sides.
func draw(rng *rand.Rand, k kind) admm.Problem {
	for {
		p := admm.Problem{Graph: graphOf(rng, k.Network)}
		for range p.Graph.Edges {
			p.TargetUtility = append(p.TargetUtility, utility(rng, k.Utility))
			p.SourceUtility = append(p.SourceUtility, utility(rng, k.Utility))
		}
		for range p.Graph.Targets {
			p.TargetBounds = append(p.TargetBounds, boundsOf(rng, 1, 4))
		}
		for range p.Graph.Sources {
			p.SourceBounds = append(p.SourceBounds, boundsOf(rng, 2, 8))
		}
		if p.Check() == nil {
			return p
		}
	}
}

func boundsOf(rng *rand.Rand, least, most float64) admm.Bounds {
	b := admm.Bounds{Max: least + (most-least)*rng.Float64()}
	if rng.IntN(2) == 0 {
		b.Min = b.Max * rng.Float64()
	}
	return b
}

func graphOf(rng *rand.Rand, network string) admm.Graph {
	t, s := 2+rng.IntN(8), 2+rng.IntN(4)
	g, err := admm.Complete(t, s), error(nil)
	switch network {
	case "random":
		g, err = admm.Random(rng, t, s, 0.5)
	case "list": // a ring with a chord: each target has two or three sources
		var edges []admm.Edge
		for x := range t {
			edges = append(edges, admm.Edge{Target: x, Source: x % s}, admm.Edge{Target: x, Source: (x + 1) % s})
		}
		g, err = admm.Edges(t, s, edges)
	}
	if err != nil {
		panic(err) // the parameters above are in range
	}
	return g
}

// utility draws a utility of a family, or for "mixed" of any; slopes are at most 5.
func utility(rng *rand.Rand, family string) admm.Utility {
	a, b := 0.5+4.5*rng.Float64(), 1+2*rng.Float64()
	switch family {
	case "integer":
		return admm.Linear{A: float64(1 + rng.IntN(5))}
	case "log":
		return admm.Log{A: a, B: b}
	case "saturating":
		return admm.Saturating{A: a, B: b}
	case "quadratic":
		return admm.Quadratic{A: a, B: b}
	case "func": // a v/(b + v)
		return own{f: func(v float64) float64 { return a * v / (b + v) },
			d: func(v float64) float64 { return a * b / ((b + v) * (b + v)) }}
	case "mixed":
		return utility(rng, []string{"linear", "log", "saturating", "quadratic", "func"}[rng.IntN(5)])
	}
	return admm.Linear{A: a}
}

// own is a user's own utility, with its derivative.
type own struct{ f, d func(v float64) float64 }

func (u own) Value(v float64) float64 { return u.f(v) }
func (u own) Slope(v float64) float64 { return u.d(v) }
