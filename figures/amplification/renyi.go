package amplification

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/dp"
	"coupling/dp/bounds"
	"coupling/dp/pair"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
)

// RenyiParams asks for ρ(α) of one step for a group, by one bound, at N orders from From to To, α − 1 at equal ratios.
type RenyiParams struct {
	Setting Mechanism `json:"setting"`
	Group   int       `json:"group" min:"1" doc:"records in which data sets differ"`
	Bound   string    `json:"bound" enum:"specific,agnostic,post-hoc" doc:"on the group"`
	From    float64   `json:"from" min:">0" doc:"least α − 1"`
	To      float64   `json:"to" min:">0" doc:"largest α − 1"`
	N       int       `json:"n" min:"2" doc:"orders, α − 1 at equal ratios"`
}

// RenyiOut is a curve.
type RenyiOut struct {
	Order []float64 `json:"order"`
	Rho   []float64 `json:"rho"`
}

var renyiOf = lab.Experiment[RenyiParams, RenyiOut]{
	Name: "amplification/renyi", Version: 1,
	Run: func(ctx context.Context, c *lab.Cell, p RenyiParams) (RenyiOut, error) {
		var out RenyiOut
		for i, beta := range logSpace(p.From, p.To, p.N) {
			lab.Check(ctx.Err())
			out.Order, out.Rho = append(out.Order, 1+beta), append(out.Rho, lab.Must(p.bound(1+beta)))
			c.Progress(i+1, p.N)
		}
		for i := p.N - 2; i >= 0; i-- { // ρ rises with the order: a bound at a larger order is one here
			out.Rho[i] = min(out.Rho[i], out.Rho[i+1])
		}
		return out, nil
	},
}

func (p RenyiParams) bound(alpha float64) (float64, error) {
	step := p.Setting.event()
	switch p.Bound {
	case string(agnostic):
		return bounds.AgnosticGroupRDP(p.Setting.mechanism(), p.Setting.Rate, p.Group, alpha)
	case string(postHoc):
		one := func(order float64) float64 { return lab.Must(bounds.GroupRenyi(step, dp.Relation{}, order)) }
		return bounds.PostHocRenyi(one, p.Group, alpha)
	}
	return bounds.GroupRenyi(step, dp.Relation{Group: p.Group}, alpha)
}

// rdpGroups are the group sizes of the figures of ρ(α).
var rdpGroups = []int{1, 2, 4, 8}

// renyiPanel is a setting with the range of orders that the paper shows.
type renyiPanel struct {
	Mechanism
	from, to float64
}

// The ranges are those of the paper; its grids begin at 1.02.
func renyiPanels() []renyiPanel {
	ranges := [][2]float64{{1.02, 4}, {1.02, 10}, {1.02, 10}, {1.02, 40}, {2, 1e4}, {1.02, 1e4}}
	var out []renyiPanel
	for i, s := range grid("gaussian", []float64{1, 2, 5}, []float64{.1, .001}) {
		out = append(out, renyiPanel{s, ranges[i][0], ranges[i][1]})
	}
	return out
}

const renyiSmoke, renyiQuick, renyiPaper = 15, 81, 121

// renyiGrid pairs the specific bound with another for each group of each panel.
func renyiGrid(set lab.Setting, base against) (out []RenyiParams) {
	for _, at := range renyiPanels() {
		out = append(out, renyiPairs(RenyiParams{
			Setting: at.Mechanism,
			From:    at.from - 1,
			To:      at.to - 1,
			N:       lab.Pick(set.Preset, renyiSmoke, renyiQuick, renyiPaper, renyiPaper),
		}, base)...)
	}
	return out
}

func renyiPairs(p RenyiParams, base against) []RenyiParams {
	return lab.Grid(p, lab.Vary(func(p *RenyiParams, k int) { p.Group = k }, rdpGroups...),
		lab.Vary(func(p *RenyiParams, b string) { p.Bound = b }, "specific", string(base)))
}

// atTwo is ρ(2) for a group whose records are all removed: log Σ_ij w_i w_j e^{ij/σ²}, w = Bin(K,
// r), for the Gaussian mechanism, and for randomised response the larger of both directions. No
// split of the group has more here.
func (s Mechanism) atTwo(group int) float64 {
	if s.Kind == "response" {
		t, hit := s.Scale, -math.Expm1(float64(group)*math.Log1p(-s.Rate))
		f := t + hit*(1-2*t)
		return math.Log(max(f*f/t+(1-f)*(1-f)/(1-t), t*t/f+(1-t)*(1-t)/(1-f)))
	}
	moment := 0.
	for i, wi := range exps(pair.Binomial(group, s.Rate)) {
		for j, wj := range exps(pair.Binomial(group, s.Rate)) {
			moment += wi * wj * math.Exp(float64(i*j)/(s.Scale*s.Scale))
		}
	}
	return math.Log(moment)
}

// claimAtTwo compares the specific curves with closed forms.
func claimAtTwo(v renyiView) lab.Claim {
	off := lab.Most(v.Where(func(p RenyiParams) bool { return p.Bound == "specific" }),
		func(c renyiCell) float64 {
			order, rho := c.Value.Order, c.Value.Rho
			i := slices.IndexFunc(order[1:], func(a float64) bool { return a >= 2 })
			if i < 0 {
				return math.NaN()
			}
			share := -math.Log(order[i]-1) / math.Log((order[i+1]-1)/(order[i]-1))
			return math.Abs((1-share)*math.Log(rho[i]) + share*math.Log(rho[i+1]) -
				math.Log(c.Params.Setting.atTwo(c.Params.Group)))
		})
	return kit.AtMost("specific ρ(2) against its closed form, the largest |log ratio|",
		"Σ_ij w_i w_j e^{ij/σ²}, w = Bin(K, r), all of the group removed; randomised response: SSKG, appendix M", off,
		.1, "a straight line between two orders, on logarithmic axes",
		largeOrders)
}

// renyiGroups are the groups of the first panel, each a pair of cells.
func renyiGroups(cells []renyiCell) (out []int) {
	for pair := range slices.Chunk(kit.Runs(cells, settingOf)[0], 2) {
		out = append(out, pair[0].Params.Group)
	}
	return out
}

// settingOf is the setting of a panel.
func settingOf(c renyiCell) Mechanism { return c.Params.Setting }

// Fig11 is ρ(α) of groups against the agnostic bound.
func Fig11() lab.Study[RenyiParams, RenyiOut] { return renyiStudy("fig11", agnostic) }

// Fig17 is ρ(α) of groups against group privacy.
func Fig17() lab.Study[RenyiParams, RenyiOut] { return renyiStudy("fig17", postHoc) }

// renyiStudy is a figure of ρ(α) for groups, the paper's bound against another.
func renyiStudy(name string, base against) lab.Study[RenyiParams, RenyiOut] {
	return lab.Study[RenyiParams, RenyiOut]{
		Name:  "amplification/" + name,
		Title: "Rényi divergences of groups: specific against " + string(base),
		Shows: "Gaussian mechanism on Poisson samples, ρ(α) of one step for groups of K. The specific bound (full " +
			"lines) is below the " + string(base) + " one (dashed), by orders of magnitude where the order is large " +
			"and the mechanism private.",
		Sizes:      kit.Sizes("%v orders a curve, K = 1 to 8", kit.Per{renyiSmoke, renyiQuick, renyiPaper, renyiPaper}),
		Seconds:    seconds(.5, 3, 5),
		Experiment: renyiOf,
		Grid:       func(set lab.Setting) []RenyiParams { return renyiGrid(set, base) },
		Draw:       func(v renyiView) (lab.Exhibit, error) { return drawRenyi(v, base) },
		Claims:     func(v renyiView) ([]lab.Claim, error) { return claimRenyi(v, base), nil },
	}
}

// tenfold is the null of a post-hoc bound that is never close.
var tenfold = kit.NullOf("post-hoc ten times as large", renyiOf, func(cells []renyiCell) {
	for i := 1; i < len(cells); i += 2 {
		cells[i].Value.Rho = scale(cells[i].Value.Rho, 10)
	}
})

func drawRenyi(v renyiView, base against) (lab.Exhibit, error) {
	panels := sheet(style.Panels{Columns: 2, Letters: true}, kit.Runs(v.Cells, settingOf),
		func(got []renyiCell) style.Plot {
			p := kit.LogLog(got[0].Params.Setting.String(), "order α", "ρ(α)", .55)
			for k := 0; k < len(got); k += 2 {
				p.Items = append(p.Items, curve(k/2, dashed, got[k+1].Value.Order, got[k+1].Value.Rho),
					curve(k/2, full, got[k].Value.Order, got[k].Value.Rho))
			}
			return p
		}, groupKey(renyiGroups(v.Cells), dashKey("specific (exact)", full),
			dashKey(string(base)+" (upper bound)", dashed))...)
	return lab.Exhibit{
		Pictures: kit.Wide(panels, kit.Badge(v.Source, "%d orders", v.Cells[0].Params.N),
			fmt.Sprintf(
				"Rényi divergence of one step for a group of K records, Poisson sampling: specific (full lines) "+
					"against %s (dashed).", base)),
		Notes: []string{"Specific: the largest Rényi divergence over all splits of the group (SSKG, Theorem 3.8), " +
			"by quadrature with its error bound added.", renyiNote(base)},
	}, nil
}

func claimRenyi(v renyiView, base against) []lab.Claim {
	none := math.Inf(-1)
	above, single, gain, private := none, none, none, none
	for _, got := range kit.Runs(v.Cells, settingOf) {
		at := got[0].Params.Setting
		for k := 0; k < len(got); k += 2 {
			for i, specific := range got[k].Value.Rho {
				ratio := specific / got[k+1].Value.Rho[i]
				above, gain = max(above, ratio), max(gain, 1/ratio)
				if got[k].Params.Group == 1 {
					single = max(single, math.Abs(ratio-1))
				}
				if at.Scale == 5 && at.Rate == .001 && got[k].Value.Order[i] >= 2 && got[k].Value.Order[i] <= 30 {
					private = max(private, 1/ratio)
				}
			}
		}
	}
	claims := []lab.Claim{
		kit.Law(kit.AtMostWithin("specific over "+string(base)+" ρ(α), the largest over all curves",
			"SSKG, Theorem 3.8 is tight", above, 1, 1e-9, "quadrature adds its error bound to both", slightlyOff)),
		kit.Law(kit.AtMostWithin("K = 1: largest relative difference of the two bounds", "SSKG, section 3.2", single,
			0, 1e-9, "quadrature adds its error bound to both", slightlyOff)),
		kit.AtLeast(string(base)+" over specific ρ(α), the largest, at least",
			"SSKG, section 4: “stronger privacy guarantees” for K ≥ 2", gain, 2,
			"a gap that can be seen on a logarithmic axis; the paper gives no number", allTheSame),
	}
	claims = append(claims, claimAtTwo(v))
	if base == postHoc {
		claims = append(claims, kit.AtMost("post-hoc over specific ρ(α) at σ = 5, r = 0.001, 2 ≤ α ≤ 30, the largest",
			"SSKG, section 4: “increasingly tight upper bounds” for private mechanisms and small rates",
			private, 2, "the lines lie on each other in a figure of twelve decades; at some order above 30 both "+
				"rise steeply, at slightly different places", tenfold))
	}
	return claims
}

func renyiNote(a against) string {
	if a == postHoc {
		return "Post-hoc: ρ_K(α) = (α − ½)/(α − 1) ρ_{K/2}(2α) + ρ_{K/2}(2α − 1), from the exact ρ₁ (Mironov 2017, " +
			"Proposition 11), and the least of its values at larger orders, as ρ rises with the order. An upper " +
			"bound."
	}
	return "Agnostic: the moment is at most Σ_k Bin(k|K, r)/p₀ times that of the mechanism with k records in every " +
		"batch, sampled at rate p₀ = 1 − (1 − r)^K (SSKG, appendix N), an upper bound."
}

// spentDelta is the δ of Figures 22 and 23.
const spentDelta = 1e-8

const spentSmoke, spentQuick, spentPaper = 80, 200, 400

// Fig22 is Rényi accounting of the Gaussian mechanism.
func Fig22() lab.Study[RenyiParams, RenyiOut] {
	return spentStudy("fig22", "Rényi accounting: Gaussian", grid("gaussian", []float64{1, 5}, []float64{.001}))
}

// Fig23 is Rényi accounting of randomised response.
func Fig23() lab.Study[RenyiParams, RenyiOut] {
	return spentStudy("fig23", "Rényi accounting: randomised response",
		grid("response", []float64{.6}, []float64{.1, .001}))
}

// spentStudy is a figure of ε over steps by Rényi accounting, δ = 1e-8.
func spentStudy(name, title string, settings []Mechanism) lab.Study[RenyiParams, RenyiOut] {
	return lab.Study[RenyiParams, RenyiOut]{
		Name: "amplification/" + name, Title: title,
		Shows: "ε spent after t steps at δ = 1e-8, by Rényi accounting for groups of K: the specific bound (full " +
			"lines) against the Rényi form of group privacy (dashed). The post-hoc bound of K needs orders some K " +
			"times as large, where a sampled mechanism is amplified little.",
		Sizes:      kit.Sizes("the best of %v orders", kit.Per{spentSmoke, spentQuick, spentPaper, spentPaper}),
		Seconds:    seconds(1, 3, 6),
		Experiment: renyiOf,
		Grid: func(set lab.Setting) (out []RenyiParams) {
			for _, at := range settings {
				base := RenyiParams{
					Setting: at,
					From:    1e-2,
					To:      1e3,
					N:       lab.Pick(set.Preset, spentSmoke, spentQuick, spentPaper, spentPaper),
				}
				if at.Kind == "response" {
					base.From, base.To = 1e-3, 1e9 // a bounded loss: with few steps the best order is infinite
				}
				out = append(out, renyiPairs(base, postHoc)...)
			}
			return out
		},
		Draw:   drawSpent,
		Claims: claimSpent,
	}
}

// largeOrders is the null of a grid that holds the largest orders alone, so that its first is the best for many steps.
var largeOrders = kit.Null("large orders alone", renyiOf, func(_ RenyiParams, v *RenyiOut) {
	from := 3 * len(v.Order) / 4
	v.Order, v.Rho = v.Order[from:], v.Rho[from:]
})

func drawSpent(v renyiView) (lab.Exhibit, error) {
	panels := style.Panels{Letters: true, ShareX: true}
	table := kit.Table("epsilon", "ε at δ = 1e-8 after t steps.",
		"setting | K | bound | t = 1 | t = 100 | t = 10,000 | t = 100,000")
	steps := logSpace(1, 1e5, 121)
	for i, got := range kit.Runs(v.Cells, settingOf) {
		at := got[0].Params.Setting
		p := kit.LogLog(at.String(), "steps t", "", .8)
		if i == 0 {
			p.Y.Label = "ε"
			p.Items = groupKey(renyiGroups(v.Cells), dashKey("specific (upper bound)", full),
				dashKey("post-hoc (upper bound)", dashed))
		}
		for k, c := range got {
			y := make([]float64, len(steps))
			for j, t := range steps {
				y[j], _ = c.Value.spent(t)
			}
			p.Items = append(p.Items, curve(k/2, []int{full, dashed}[k%2], steps, y))
			row := kit.Row("%s | %v | %s", at, c.Params.Group, c.Params.Bound)
			for _, t := range []float64{1, 100, 1e4, 1e5} {
				eps, _ := c.Value.spent(t)
				row = append(row, fmt.Sprintf("%.4g", eps))
			}
			table.Rows = append(table.Rows, row)
		}
		panels.Items = append(panels.Items, p)
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, kit.Badge(v.Source, "%d orders", v.Cells[0].Params.N),
			"ε at δ = 1e-8 over the number of steps, by Rényi accounting: specific (full lines) against post-hoc "+
				"(dashed), group sizes K."),
		Tables: []lab.Table{table},
		Notes: []string{"Both curves are upper bounds: ε(t) = min over α of t ρ(α) + log(1 − 1/α) − (log δ + log " +
			"α)/(α − 1) (Canonne, Kamath, Steinke 2020), over a grid of orders wide enough that its ends are never " +
			"the best (a claim checks it; the loss of randomised response is bounded, and with few steps the " +
			"largest order gives its maximum). ρ is exact for the specific curve and by " + renyiNote(postHoc),
			"The defect of the published post-hoc baseline in Figures 6 and 18 to 21 is not in this figure: the " +
				"Rényi form starts from one record."},
	}, nil
}

// spent is the least ε at spentDelta after t steps over the orders of the curve, and the index of the order.
func (o RenyiOut) spent(t float64) (eps float64, at int) {
	eps = math.Inf(1)
	for i, a := range o.Order {
		if v := t*o.Rho[i] + math.Log1p(-1/a) - (math.Log(spentDelta)+math.Log(a))/(a-1); v < eps {
			eps, at = v, i
		}
	}
	return max(eps, 0), at
}

func claimSpent(v renyiView) ([]lab.Claim, error) {
	above, gain, edge := math.Inf(-1), math.Inf(-1), 0.0
	for k := 0; k < len(v.Cells); k += 2 {
		specificCell, postCell := v.Cells[k].Value, v.Cells[k+1].Value
		for _, t := range logSpace(1, 1e5, 26) {
			specific, i := specificCell.spent(t)
			post, j := postCell.spent(t)
			above, gain = max(above, specific/post), max(gain, post/specific)
			for _, best := range []int{i, j} {
				if best == 0 || best == len(specificCell.Order)-1 && v.Cells[k].Params.Setting.Kind != "response" {
					edge++
				}
			}
		}
	}
	return []lab.Claim{
		kit.Law(kit.AtMostWithin("ε of specific over post-hoc, the largest", "SSKG, Theorem 3.8 is tight", above, 1,
			1e-9, "quadrature adds its error bound to both; same orders for both", slightlyOff)),
		kit.AtLeast("ε of post-hoc over specific, the largest, at least",
			"SSKG, appendix B.2.4: post-hoc is looser", gain, 1.5, "a gap that can be seen; the paper gives no "+
				"number", allTheSame),
		claimAtTwo(v),
		kit.Near("numbers whose best order is an end of the grid",
			"a search that stops at its edge reports a number that is too large", edge, 0, 0,
			"a count; at order 1e9 a bounded loss is at its maximum, and ε is t times that within 2e-8", largeOrders),
	}, nil
}

// renyiView is the finished cells.
type renyiView = lab.View[RenyiParams, RenyiOut]

// renyiCell is a finished cell.
type renyiCell = lab.Result[RenyiParams, RenyiOut]
