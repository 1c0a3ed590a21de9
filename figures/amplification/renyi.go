package amplification

import (
	"context"
	"errors"
	"fmt"
	"math"

	"coupling/dp"
	"coupling/figures/style"
	"coupling/lab"
)

// renyiParams asks for ρ(α) of one step for a group, by one bound, at N orders from From to To, α − 1 at equal ratios.
type renyiParams struct {
	Setting setting `json:"setting"`
	Group   int     `json:"group"`
	Bound   string  `json:"bound"` // "specific", "agnostic" or "post-hoc"
	From    float64 `json:"from"`  // least α − 1
	To      float64 `json:"to"`
	N       int     `json:"n"`
}

// renyiOut is a curve.
type renyiOut struct {
	Order []float64 `json:"order"`
	Rho   []float64 `json:"rho"`
}

var renyiOf = lab.Experiment[renyiParams, renyiOut]{
	Name: "amplification/renyi", Version: 1,
	Run: func(ctx context.Context, c *lab.Cell, p renyiParams) (renyiOut, error) {
		var out renyiOut
		for i, beta := range logSpace(p.From, p.To, p.N) {
			if err := ctx.Err(); err != nil {
				return out, err
			}
			v, err := p.bound(1 + beta)
			if err != nil {
				return out, err
			}
			out.Order, out.Rho = append(out.Order, 1+beta), append(out.Rho, v)
			c.Progress(i+1, p.N)
		}
		for i := p.N - 2; i >= 0; i-- { // ρ rises with the order: a bound at a larger order is one here
			out.Rho[i] = min(out.Rho[i], out.Rho[i+1])
		}
		return out, nil
	},
}

func (p renyiParams) bound(alpha float64) (float64, error) {
	step := p.Setting.event()
	switch p.Bound {
	case string(agnostic):
		return dp.AgnosticGroupRDP(p.Setting.mechanism(), p.Setting.Rate, p.Group, alpha)
	case string(postHoc):
		var errs error
		one := func(order float64) float64 {
			v, err := dp.GroupRenyi(step, dp.Relation{}, order)
			errs = errors.Join(errs, err)
			return v
		}
		v, err := dp.PostHocRenyi(one, p.Group, alpha)
		return v, errors.Join(errs, err)
	}
	return dp.GroupRenyi(step, dp.Relation{Group: p.Group}, alpha)
}

// rdpGroups are the group sizes of the figures of ρ(α).
var rdpGroups = []int{1, 2, 4, 8}

// renyiPanel is a setting with the range of orders that the paper shows.
type renyiPanel struct {
	setting
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

const (
	renyiSmoke, renyiQuick, renyiPaper = 15, 81, 121
)

// renyiFigure is a figure of ρ(α) for groups, the paper's bound against another.
func renyiFigure(name string, base against) lab.Figure {
	cells := func(at renyiPanel, p lab.Preset) []renyiParams {
		return lab.Grid(renyiParams{Setting: at.setting, From: at.from - 1, To: at.to - 1, N: pick(p, renyiSmoke, renyiQuick, renyiPaper)},
			lab.Vary(func(p *renyiParams, k int) { p.Group = k }, rdpGroups...),
			lab.Vary(func(p *renyiParams, b string) { p.Bound = b }, "specific", string(base)))
	}
	f := lab.Figure{
		Name: "amplification/" + name, Title: "Rényi divergences of groups: specific against " + string(base),
		Shows: "Gaussian mechanism on Poisson samples, ρ(α) of one step for groups of K. The specific bound (full lines) is below the " + string(base) +
			" one (dashed), by orders of magnitude where the order is large and the mechanism private.",
		Sizes:    sizes("%d orders a curve, K = 1 to 8", renyiSmoke, renyiQuick, renyiPaper),
		Decoders: []lab.Decoder{renyiOf.Decoder()},
		Jobs: func(set lab.Setting) ([]lab.Job, error) {
			var jobs []lab.Job
			for _, at := range renyiPanels() {
				jobs = append(jobs, renyiOf.Jobs(set.Seed, cells(at, set.Preset)...)...)
			}
			return jobs, nil
		},
	}
	f.Draw = func(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
		panels := style.Panels{Columns: 2, Letters: true}
		for i, at := range renyiPanels() {
			got, err := lab.RecallAll(s, renyiOf, set.Seed, cells(at, set.Preset))
			if err != nil {
				return lab.Exhibit{}, err
			}
			p := style.Plot{Title: at.String(), X: style.Axis{Log: true}, Y: style.Axis{Log: true}, Aspect: .55}
			if i%2 == 0 {
				p.Y.Label = "ρ(α)"
			}
			if i >= 4 {
				p.X.Label = "order α"
			}
			for k := 0; k < len(got); k += 2 {
				p.Items = append(p.Items, curve(k/2, dashed, got[k+1].Value.Order, got[k+1].Value.Rho), curve(k/2, full, got[k].Value.Order, got[k].Value.Rho))
			}
			if i == 0 {
				p.Items = append(p.Items, groupKey(rdpGroups, dashKey("specific (exact)", full), dashKey(string(base)+" (upper bound)", dashed))...)
			}
			panels.Items = append(panels.Items, p)
		}
		return lab.Exhibit{
			Pictures: []lab.Picture{{
				Caption: fmt.Sprintf("Rényi divergence of one step for a group of K records, Poisson sampling: specific (full lines) against %s (dashed).", base),
				Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, fmt.Sprintf("%d orders", pick(set.Preset, renyiSmoke, renyiQuick, renyiPaper)))},
			}},
			Notes: []string{"Specific: the largest Rényi divergence over all splits of the group (SSKG, Theorem 3.8), by quadrature with its error bound added.", renyiNote(base)},
		}, nil
	}
	f.Claims = func(s *lab.Store, set lab.Setting) ([]lab.Claim, error) {
		above, single, gain, private := math.Inf(-1), 0.0, 0.0, 0.0
		for _, at := range renyiPanels() {
			got, err := lab.RecallAll(s, renyiOf, set.Seed, cells(at, set.Preset))
			if err != nil {
				return nil, err
			}
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
			{What: "specific over " + string(base) + " ρ(α), the largest over all curves", Source: "SSKG, Theorem 3.8 is tight", Got: above, Relation: lab.AtMost, Want: 1, AbsTol: 1e-9,
				Why: "quadrature adds its error bound to both"},
			{What: "K = 1: largest relative difference of the two bounds", Source: "SSKG, section 3.2", Got: single, Want: 0, AbsTol: 1e-9, Why: "quadrature adds its error bound to both"},
			{What: string(base) + " over specific ρ(α), the largest, at least", Source: "SSKG, section 4: “stronger privacy guarantees” for K ≥ 2", Got: gain, Relation: lab.AtLeast, Want: 2,
				Why: "a gap that can be seen on a logarithmic axis; the paper gives no number"},
		}
		if base == postHoc {
			claims = append(claims, lab.Claim{What: "post-hoc over specific ρ(α) at σ = 5, r = 0.001, 2 ≤ α ≤ 30, the largest", Source: "SSKG, section 4: “increasingly tight upper bounds” for private mechanisms and small rates",
				Got: private, Relation: lab.AtMost, Want: 2, Why: "the lines lie on each other in a figure of twelve decades; at some order above 30 both rise steeply, at slightly different places"})
		}
		return claims, nil
	}
	return f
}

func renyiNote(a against) string {
	if a == postHoc {
		return "Post-hoc: ρ_K(α) = (α − ½)/(α − 1) ρ_{K/2}(2α) + ρ_{K/2}(2α − 1), from the exact ρ₁ (Mironov 2017, Proposition 11), " +
			"and the least of its values at larger orders, as ρ rises with the order. An upper bound."
	}
	return "Agnostic: the moment is at most Σ_k Bin(k|K, r)/p₀ times that of the mechanism with k records in every batch, sampled at rate p₀ = 1 − (1 − r)^K (SSKG, appendix N), an upper bound."
}
