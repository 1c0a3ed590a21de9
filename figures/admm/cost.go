package admm

import (
	"context"
	"fmt"
	"math"

	"coupling/dp/admm/account"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
)

// costDelta is the δ of the figure.
const costDelta = 1e-6

// Cost is the ε of many rounds by three compositions.
func Cost() lab.Study[CostParams, CostOut] {
	return lab.Study[CostParams, CostOut]{
		Name:  "admm/cost",
		Title: "What private rounds cost, by three compositions",
		Shows: "The theorem of the paper is for one round. The sum over rounds holds always; knowing only the ε of " +
			"a round one can prove less than the sum; knowing the noise, less again, and the less the more edges a " +
			"node has.",
		Sizes:      kit.Sizes("nodes of 4 and 30 edges, %v numbers of rounds", kit.Per{2, 10, 16, 16}),
		Seconds:    kit.ByPreset(2., 10, 16, 16),
		Experiment: costOf,
		Grid:       costGrid,
		Draw:       drawCost,
		Claims:     claimCost,
	}
}

// CostParams are rounds of one α_p at a node with some edges.
type CostParams struct {
	Alpha  float64 `json:"alpha" min:">0" doc:"privacy parameter α_p of a round"`
	Degree int     `json:"degree" min:"1" doc:"edges of the node"`
	Rounds int     `json:"rounds" min:"1" doc:"composed"`
}

// CostOut is the ε of all rounds at δ = 1e-6, by three compositions.
type CostOut struct {
	Basic         float64 `json:"basic"`
	Optimal       float64 `json:"optimal"`
	Numerical     float64 `json:"numerical"`
	NumericalKind string  `json:"numerical_kind"`
	Accountant    string  `json:"accountant"`
}

var costOf = lab.Experiment[CostParams, CostOut]{
	Name: "admm/cost", Version: 1,
	Run: func(ctx context.Context, _ *lab.Cell, p CostParams) (CostOut, error) {
		a := lab.Must(account.Spend(ctx, p.Alpha, p.Degree, p.Rounds, costDelta))
		return CostOut{a.Basic.Epsilon, a.Optimal.Epsilon, a.Numerical.Epsilon, a.Numerical.Kind.String(),
			a.Numerical.Accountant}, nil
	},
}

// costGrid has the notes' case, 100 rounds of 0.1 on 4 edges, in every preset.
func costGrid(set lab.Setting) []CostParams {
	many := []int{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200, 300, 500, 1000}
	rounds := lab.Pick(set.Preset, []int{1, 100}, []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}, many, many)
	return lab.Grid(CostParams{Alpha: .1}, lab.Vary(func(p *CostParams, d int) { p.Degree = d }, sources, targets),
		lab.Vary(func(p *CostParams, k int) { p.Rounds = k }, rounds...))
}

// confused is the null in which the compositions stand in each other's places.
var confused = kit.Null("compositions in each other's places", costOf,
	func(_ CostParams, v *CostOut) { v.Basic, v.Optimal, v.Numerical = v.Numerical, v.Basic, v.Basic })

func drawCost(v lab.View[CostParams, CostOut]) (lab.Exhibit, error) {
	cells := v.Cells
	alpha := cells[0].Params.Alpha
	degrees := kit.Runs(cells, func(c costCell) int { return c.Params.Degree })
	line := func(l style.Line, of []costCell, y func(CostOut) float64) style.Line {
		return kit.Line(l, of, func(c costCell) (float64, float64) {
			return float64(c.Params.Rounds), y(c.Value)
		})
	}
	plot := kit.LogLog("", "rounds", "ε of all rounds at δ = 1e-6", 0,
		line(style.Line{Name: "basic: the sum"}, degrees[0], func(o CostOut) float64 { return o.Basic }),
		line(style.Line{Name: fmt.Sprintf("optimal for ε = %g a round", alpha), Series: 1}, degrees[0],
			func(o CostOut) float64 { return o.Optimal }))
	for i, same := range degrees {
		l := style.Line{Name: fmt.Sprintf("norm noise, %d edges", same[0].Params.Degree), Series: 2 + i, Marks: true}
		plot.Items = append(plot.Items, line(l, same, func(o CostOut) float64 { return o.Numerical }))
	}
	table := kit.Table("epsilon", fmt.Sprintf("ε at δ = 1e-6 of rounds with α_p = %g each.", alpha),
		"edges | rounds | basic | optimal | numerical | which is")
	for _, c := range cells {
		v := c.Value
		table.Rows = append(table.Rows, kit.Row("%v | %v | %.4g | %.4g | %.4g | %s", c.Params.Degree, c.Params.Rounds,
			v.Basic, v.Optimal, v.Numerical, v.NumericalKind+", by "+v.Accountant))
	}
	return lab.Exhibit{
		Pictures: kit.Column(plot, v.Badge(fmt.Sprintf("%d numbers of rounds", len(degrees[0]))),
			fmt.Sprintf("ε of many rounds with α_p = %g each, for one parameter of one node, at δ = 1e-6.", alpha)),
		Tables: []lab.Table{table},
		Notes: []string{"Basic and optimal are upper bounds for this noise; optimal is exact for mechanisms of " +
			"which no more than α_p is known (Kairouz, Oh, Viswanath 2015). The numerical composition is of the " +
			"norm noise itself; its dominating pair is proved in every dimension (account.Account.Numerical has the " +
			"proof), and the table says whether the number for it is exact or an upper bound.", privacyNote},
	}, nil
}

func claimCost(view lab.View[CostParams, CostOut]) ([]lab.Claim, error) {
	out, disorder := []lab.Claim(nil), math.Inf(-1)
	for _, c := range view.Cells {
		v := c.Value
		disorder = max(disorder, v.Numerical/v.Optimal, v.Optimal/v.Basic)
		if c.Params.Rounds == 100 && c.Params.Degree == sources {
			out = append(out,
				kit.Near("numerical ε of 100 rounds on 4 edges", "notes to the paper", v.Numerical, 2.23, .01,
					"printed to three digits", confused),
				kit.Near("optimal ε of 100 rounds", "notes to the paper", v.Optimal, 4.78, .01,
					"printed to three digits", confused),
				kit.Near("basic ε of 100 rounds", "notes to the paper", v.Basic, 10, 1e-11, "a sum", confused))
		}
	}
	return append(out, kit.Law(kit.AtMostWithin("largest of numerical over optimal and optimal over basic",
		"each knows more than the next", disorder, 1, 1e-3, "upper bounds, rounded up by different accountants",
		confused))), nil
}

// costCell is a finished cell.
type costCell = lab.Result[CostParams, CostOut]
