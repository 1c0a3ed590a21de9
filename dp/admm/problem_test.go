package admm_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"coupling/dp/admm"
	_ "coupling/lab/draws"
	"coupling/lab/must"

	"pgregory.net/rapid"
)

// small is a random network with integer bounds, feasible or not.
func small(t *rapid.T) admm.Problem {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	g := must.Get(admm.Random(rng, 1+rng.IntN(4), 1+rng.IntN(4), .4))
	p := admm.Problem{Graph: g}
	bounds := func() admm.Bounds {
		low := float64(rng.IntN(4))
		return admm.Bounds{Min: low, Max: low + float64(rng.IntN(3))}
	}
	for range g.Targets {
		p.TargetBounds = append(p.TargetBounds, bounds())
	}
	for range g.Sources {
		p.SourceBounds = append(p.SourceBounds, bounds())
	}
	return p
}

// hall decides feasibility by asking every set of nodes of each side.
func hall(p admm.Problem) bool {
	for _, side := range []admm.Side{admm.Target, admm.Source} {
		n := p.Graph.Targets
		if side == admm.Source {
			n = p.Graph.Sources
		}
		for set := range 1 << n {
			need, have := 0.0, 0.0
			through := map[int]bool{}
			for i := range n {
				if set>>i&1 == 0 {
					continue
				}
				need += p.Bounds(admm.ID{Side: side, Index: i}).Min
				for _, e := range p.Graph.Edges {
					ends := [2]int{e.Target, e.Source}
					if ends[side] == i {
						through[ends[1-side]] = true
					}
				}
			}
			for j := range through {
				have += p.Bounds(admm.ID{Side: 1 - side, Index: j}).Max
			}
			if need > have {
				return false
			}
		}
	}
	return true
}

// Check finds a plan or a cut: the cut is violated, its Through are the neighbours of its Nodes,
// and Repair of nothing is a feasible plan whenever there is one.
func TestFeasibilityOrCut(t *testing.T) {
	networks := rapid.Custom(small)
	feasible := 0
	for key := range 50 { // fixed draws: both kinds are among those of the law
		if hall(networks.Example(key)) {
			feasible++
		}
	}
	if feasible == 0 || feasible == 50 {
		t.Errorf("%d of 50 networks", feasible)
	}
	rapid.Check(t, func(t *rapid.T) {
		p := networks.Draw(t, "network")
		err := p.Check()
		if (err == nil) != hall(p) {
			t.Fatalf("%+v: %v, but the sets say %v", p, err, hall(p))
		}
		if err == nil {
			for _, start := range []float64{0, 1, 100} {
				plan := p.Repair(slices.Repeat([]float64{start}, len(p.Graph.Edges)))
				if v := p.Violation(plan); v > 1e-12 {
					t.Fatalf("%+v: repaired plan %v misses a bound by %v", p, plan, v)
				}
			}
			return
		}
		var cut *admm.InfeasibleError
		if !errors.As(err, &cut) || !errors.Is(err, admm.ErrInfeasible) || cut.Need <= cut.Have || len(cut.Nodes) == 0 {
			t.Fatalf("%v: no cut", err)
		}
		for _, e := range p.Graph.Edges {
			ends := [2]int{e.Target, e.Source}
			if slices.Contains(cut.Nodes, ends[cut.Side]) && !slices.Contains(cut.Through, ends[1-cut.Side]) {
				t.Fatalf("%v: edge %v crosses the cut", err, e)
			}
		}
	})
}

// A violated cut is found and named beside one of far larger sums with which it has nothing to do.
func TestCutBesideLargeSums(t *testing.T) {
	g := must.Get(admm.Edges(2, 2, []admm.Edge{{Target: 0, Source: 0}, {Target: 1, Source: 1}}))
	for _, excess := range []float64{0, 1} { // of target 1, which may hide in the rounding of the other's
		p := admm.Problem{
			Graph:        g,
			TargetBounds: []admm.Bounds{{Min: 1e15 + 1, Max: 2e15}, {Min: 1, Max: 9}},
			SourceBounds: []admm.Bounds{{Max: 1e15}, {Max: 1 - excess}},
		}
		var cut *admm.InfeasibleError
		err := p.Check()
		if excess == 0 && err != nil {
			t.Errorf("%v: 1 of 1e15 is within rounding", err)
		}
		if excess > 0 && (!errors.As(err, &cut) || !slices.Equal(cut.Nodes, []int{1}) ||
			!slices.Equal(cut.Through, []int{1})) {
			t.Errorf("%v: want a cut of target 1 alone", err)
		}
	}
}

// A feasible plan is not changed, and an almost feasible one hardly.
func TestRepairIsGentle(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for _, k := range kinds()[:8] {
		p := draw(rng, k)
		plan := p.Repair(make([]float64, len(p.Graph.Edges)))
		if again := p.Repair(plan); !near(again, plan, 1e-12) {
			t.Errorf("%v: a feasible plan changes", k)
		}
		off := slices.Clone(plan)
		for i := range off {
			off[i] += 1e-6 * rng.NormFloat64()
		}
		if fixed := p.Repair(off); !near(fixed, plan, 1e-4) || p.Violation(fixed) > 1e-12 {
			t.Errorf("%v: repaired %v to %v", k, off, fixed)
		}
	}
}

func near(a, b []float64, tol float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > tol {
			return false
		}
	}
	return len(a) == len(b)
}

func TestGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		g := must.Get(admm.Random(rng, 9, 7, .1))
		seen := map[admm.ID]bool{}
		for _, e := range g.Edges {
			seen[admm.ID{Side: admm.Target, Index: e.Target}], seen[admm.ID{Side: admm.Source, Index: e.Source}] = true,
				true
		}
		if len(seen) != 16 {
			t.Errorf("random: %d nodes of 16 have an edge", len(seen))
		}
	}
	if n := len(admm.Complete(5, 3).Edges); n != 15 {
		t.Errorf("complete: %d edges", n)
	}
}

// What is wrong is named.
func TestCheckNames(t *testing.T) {
	edge := admm.Complete(1, 1)
	bound := []admm.Bounds{{Max: 1}}
	for want, p := range map[string]admm.Problem{
		"Targets = 0":                {},
		"is there twice":             {Graph: admm.Graph{Targets: 1, Sources: 1, Edges: []admm.Edge{{}, {}}}},
		"must join a target in 0..0": {Graph: admm.Graph{Targets: 1, Sources: 1, Edges: []admm.Edge{{Target: 1}}}},
		"2 for 1 edges":              {Graph: edge, TargetUtility: make([]admm.Utility, 2)},
		"utility = nil":              {Graph: edge, TargetUtility: make([]admm.Utility, 1), TargetBounds: bound},
		"utility = (*admm.Log)(nil)": {Graph: edge, TargetUtility: []admm.Utility{(*admm.Log)(nil)},
			TargetBounds: bound},
		"Linear.A = -1": {Graph: edge, TargetUtility: []admm.Utility{admm.Linear{A: -1}},
			TargetBounds: bound},
		"Log.B = 0": {Graph: edge, SourceUtility: []admm.Utility{admm.Log{A: 1}},
			TargetBounds: bound},
		"must be concave": {Graph: edge, SourceUtility: []admm.Utility{own{f: math.Exp, d: math.Sqrt}},
			TargetBounds: bound},
		"Max = 1: must be at least": {Graph: edge, TargetBounds: []admm.Bounds{{Min: 2, Max: 1}}},
		"Min = NaN":                 {Graph: edge, TargetBounds: []admm.Bounds{{Min: math.NaN(), Max: 1}}},
		"both have Max = +Inf":      {Graph: edge},
		"1 for 2 nodes":             {Graph: admm.Complete(2, 1), TargetBounds: bound},
		"must receive at least 3": {Graph: edge, TargetBounds: []admm.Bounds{{Min: 3, Max: 4}},
			SourceBounds: []admm.Bounds{{Max: 2}}},
		"sources [0] must give at le": {Graph: edge, SourceBounds: []admm.Bounds{{Min: 3, Max: 4}},
			TargetBounds: []admm.Bounds{{Max: 2}}},
	} {
		if _, err := (admm.ADMM{}).Solve(t.Context(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, a := range map[string]admm.ADMM{
		"Eta = -1": {Eta: -1}, "Relax = 2": {Relax: 2}, "Tol = NaN": {Tol: math.NaN()},
		"MaxRounds = -1": {MaxRounds: -1},
	} {
		if _, err := a.Solve(t.Context(), admm.Problem{Graph: edge, TargetBounds: bound}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
