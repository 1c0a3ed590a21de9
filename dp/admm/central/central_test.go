package central_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/dp/admm"
	"coupling/dp/admm/central"
	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/exact"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// gonum solves the linear program in standard form: amounts, what totals leave to Max, what they exceed Min by.
func gonum(t *testing.T, p admm.Problem) float64 {
	t.Helper()
	edges, nodes := len(p.Graph.Edges), p.Graph.Nodes()
	a, b := mat.NewDense(2*len(nodes), edges+2*len(nodes), nil), make([]float64, 2*len(nodes))
	c := make([]float64, edges+2*len(nodes))
	for e := range edges {
		c[e] = -p.TargetUtility[e].Slope(0) - p.SourceUtility[e].Slope(0)
	}
	for n, id := range nodes {
		for e, edge := range p.Graph.Edges {
			if id.Side == admm.Target && edge.Target == id.Index || id.Side == admm.Source && edge.Source == id.Index {
				a.Set(2*n, e, 1)
				a.Set(2*n+1, e, 1)
			}
		}
		a.Set(2*n, edges+2*n, 1)
		a.Set(2*n+1, edges+2*n+1, -1)
		b[2*n], b[2*n+1] = p.Bounds(id).Max, p.Bounds(id).Min
	}
	value, _, err := lp.Simplex(c, a, b, 1e-12, nil)
	if err != nil {
		t.Skipf("gonum: %v", err)
	}
	return -value
}

// A linear problem with fixed totals is one of transport over the pairs of its graph as they are. ADMM does not always
// end within 1e-8 on these.
func TestTransport(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 9))
		g := must.Get(admm.Random(rng, 40, 30, .2))
		p, starts, sources, costs := admm.Problem{Graph: g}, make([]int, g.Targets+1), []int(nil), []float64(nil)
		plan := make([]float64, len(g.Edges))
		for e, edge := range g.Edges {
			value, of := admm.Linear{A: 1 + 4*rng.Float64()}, admm.Linear{A: 1 + 4*rng.Float64()}
			p.TargetUtility, p.SourceUtility = append(p.TargetUtility, value), append(p.SourceUtility, of)
			sources, costs = append(sources, edge.Source), append(costs, -value.A-of.A)
			plan[e], starts[edge.Target+1] = rng.ExpFloat64(), e+1
		}
		at, from := p.Totals(plan)
		for _, v := range at {
			p.TargetBounds = append(p.TargetBounds, admm.Bounds{Min: v, Max: v})
		}
		for _, v := range from {
			p.SourceBounds = append(p.SourceBounds, admm.Bounds{Min: v, Max: v})
		}
		want := must.Get(exact.Simplex{}.Solve(t.Context(),
			ot.Problem{Geometry: cost.Sparse(g.Sources, starts, sources, costs), A: at, B: from}))
		out, err := central.Solve(t.Context(), p)
		off := math.Abs(out.Value+want.Value) + out.Gap
		if err != nil || off > 1e-11*math.Abs(want.Value) || p.Violation(out.Plan) > 1e-11 {
			t.Errorf("seed %d: %v with a gap of %g, %v, want %v", seed, out.Value, out.Gap, err, -want.Value)
		}
	}
}

// linear is a random linear problem, integer or not, on a complete network or not.
func linear(seed uint64) admm.Problem {
	rng := rand.New(rand.NewPCG(seed, 4))
	g := must.Get(admm.Random(rng, 2+rng.IntN(8), 2+rng.IntN(4), .5+.5*float64(seed%2)))
	p := admm.Problem{Graph: g}
	value := func() float64 {
		if seed%3 == 0 {
			return float64(1 + rng.IntN(5))
		}
		return 1 + 4*rng.Float64()
	}
	for range g.Edges {
		p.TargetUtility, p.SourceUtility = append(p.TargetUtility, admm.Linear{A: value()}),
			append(p.SourceUtility, admm.Linear{A: value()})
	}
	for range g.Targets {
		p.TargetBounds = append(p.TargetBounds, admm.Bounds{Min: .1 * rng.Float64(), Max: value()})
	}
	for range g.Sources {
		p.SourceBounds = append(p.SourceBounds, admm.Bounds{Min: .2 * rng.Float64(), Max: 2 * value()})
	}
	return p
}

// ADMM with its proof and gonum's simplex agree on linear programs.
func TestLinear(t *testing.T) {
	asked := 0
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := linear(seed)
			got := must.Get(central.Solve(t.Context(), p))
			if v := p.Violation(got.Plan); v > 1e-11 { // rounding of totals up to 8
				t.Errorf("the plan misses a bound by %g", v)
			}
			want := gonum(t, p)
			if d := want - got.Value; d > got.Gap+1e-12*want || d < -1e-12*want {
				t.Errorf("gonum %v, ADMM %v: differ by %g, the gap is %g", want, got.Value, d, got.Gap)
			}
			asked++
		})
	}
	if asked < 12 {
		t.Errorf("gonum answered on %d problems of 24: too few to compare with", asked)
	}
}

// A long run satisfies the conditions of optimality in a case done by hand: log utilities at one
// target with Max 3 share it in proportion where B is equal: u = log(1+v) + 2 log(1+w), v + w = 3:
// 1+w = 2(1+v), v = 2/3.
func TestConcaveByHand(t *testing.T) {
	p := admm.Problem{
		Graph:         admm.Complete(1, 2),
		TargetUtility: []admm.Utility{admm.Log{A: 1, B: 1}, admm.Log{A: 2, B: 1}},
		TargetBounds:  []admm.Bounds{{Max: 3}},
	}
	got := must.Get(central.Solve(t.Context(), p))
	if math.Abs(got.Plan[0]-2./3) > 1e-6 || math.Abs(got.Value-math.Log(5./3)-2*math.Log(10./3)) > 1e-9 {
		t.Errorf("%v, want 2/3 and 7/3", got.Plan)
	}
}

// Where nobody may give or receive anything the plan is zero, and so it is on edges of such a node.
func TestNothingMoves(t *testing.T) {
	zero, some := []admm.Bounds{{}, {}}, []admm.Bounds{{Max: 3}, {Max: 2}}
	for _, bounds := range [][2][]admm.Bounds{{zero, zero}, {zero, some}, {some, zero}, {zero, nil}, {nil, zero},
		{{{}, {Max: 2}}, some}} {
		for _, u := range []admm.Utility{admm.Linear{A: 1}, admm.Log{A: 1, B: 1}} {
			p := admm.Problem{
				Graph:         admm.Complete(2, 2),
				TargetUtility: []admm.Utility{u, u, u, u},
				TargetBounds:  bounds[0],
				SourceBounds:  bounds[1],
			}
			want := 0.0
			if bounds[0] != nil && bounds[0][1].Max > 0 && bounds[1] != nil && bounds[1][1].Max > 0 {
				want = map[bool]float64{true: 2, false: 2 * math.Log(2)}[u == admm.Linear{A: 1}]
			}
			got, err := central.Solve(t.Context(), p)
			if err != nil {
				t.Errorf("%T, %v: %v", u, bounds, err)
			} else if v := p.Violation(got.Plan); math.Abs(got.Value-want) > 1e-8 || v > 1e-9 {
				t.Errorf("%T, %v: value %v of %v, want %v; misses a bound by %v", u, bounds, got.Value,
					got.Plan, want, v)
			}
		}
	}
}

// The optimum of a linear program, with a proof: no plan is better by more than Gap.
func ExampleSolve() {
	p := admm.Problem{
		Graph:         admm.Complete(2, 1),
		TargetUtility: []admm.Utility{admm.Linear{A: 2}, admm.Linear{A: 3}},
		TargetBounds:  []admm.Bounds{{Min: 1, Max: 5}, {Max: 5}},
		SourceBounds:  []admm.Bounds{{Max: 4}},
	}
	best, err := central.Solve(context.Background(), p)
	fmt.Printf("%.6f %.6f %t %v", best.Plan, best.Value, best.Gap < 1e-7, err)
	// Output: [1.000000 3.000000] 11.000000 true <nil>
}
