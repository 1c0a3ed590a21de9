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

// ProfileParams asks for δ(ε) of one step for a group.
type ProfileParams struct {
	Setting Mechanism `json:"setting"`
	Group   int       `json:"group" min:"1" doc:"records in which data sets differ"`
	Eps     []float64 `json:"eps" min:"0" doc:"ε"`
}

// ProfileOut holds log δ at each ε.
type ProfileOut struct {
	Specific []float64 `json:"specific"`
	Agnostic []float64 `json:"agnostic"`
	PostHoc  []float64 `json:"post_hoc"`
	Removed  []int     `json:"removed"` // of the group, in the worst split
}

var profileOf = lab.Experiment[ProfileParams, ProfileOut]{
	Name: "amplification/profile", Version: 1,
	Run: func(ctx context.Context, c *lab.Cell, p ProfileParams) (ProfileOut, error) {
		var out ProfileOut
		step := p.Setting.event()
		base := lab.Must(bounds.BaseProfile(p.Setting.mechanism()))
		weights := pair.Binomial(p.Group, p.Setting.Rate)
		for i, eps := range p.Eps {
			lab.Check(ctx.Err())
			specific, one := lab.Must(bounds.GroupDelta(step, dp.Relation{Group: p.Group}, eps)),
				lab.Must(bounds.GroupDelta(step, dp.Relation{}, eps/float64(p.Group)))
			out.Specific, out.Removed = append(out.Specific, specific.LogDelta), append(out.Removed, specific.Removed)
			out.Agnostic = append(out.Agnostic, lab.Must(bounds.AgnosticDelta(base, weights, eps)))
			out.PostHoc = append(out.PostHoc,
				lab.Must(bounds.PostHocDelta(func(float64) float64 { return one.LogDelta }, p.Group, eps)))
			c.Progress(i+1, len(p.Eps))
		}
		return out, nil
	},
}

// adpGroups are the group sizes of the figures of δ(ε).
var adpGroups = []int{1, 2, 4, 8, 16}

// against is the bound that a figure compares with.
type against string

const (
	agnostic against = "agnostic"
	postHoc  against = "post-hoc"
)

func (o ProfileOut) baseline(a against) []float64 {
	if a == postHoc {
		return o.PostHoc
	}
	return o.Agnostic
}

// profileFigure is a figure of δ(ε) for groups: the paper's bound against another, at some settings.
type profileFigure struct {
	name, title, shows string
	against            against
	settings           []Mechanism
	ends               []float64 // the right ends of their panels, the paper's
}

// The settings and the right ends of the paper's panels: rows of σ, λ or θ, columns of rates.
var (
	rates     = []float64{.1, .2, .5}
	gaussians = grid("gaussian", []float64{1, 2, 5}, rates)
	laplaces  = grid("laplace", []float64{.5, 1, 2}, rates)
	responses = grid("response", []float64{.7, .8, .9}, rates)
	wideEps   = []float64{10, 10, 10, 5, 6, 10, 2, 3, 6}
	laplEps   = []float64{10, 10, 10, 4, 6, 10, 2, 3, 6}
	rrEps     = []float64{3, 3, 3, 3, 3, 3, 3, 3, 3}
	rrPost    = []float64{2, 2, 6, 6, 4, 10, 6, 10, 10}
)

const (
	gap = "One group record or several in a batch is not the same: the specific bound (full lines) knows it, the " +
		"mechanism-agnostic bound (dashed) only knows whether there is any. They agree for K = 1 and part for " +
		"larger groups."
	noGap = "For randomised response all batches that hold a group record look alike, so the two bounds agree for " +
		"every K: the dashed lines lie on the full ones."
	afterwards = "The specific bound (full lines) against group privacy applied to the tight bound for one record " +
		"(dashed), which is far above it for large groups, and is cut at 1."
)

const profileSmoke, profileQuick, profilePaper = 25, 61, 121

// grid lists the cells of the panels by group size.
func (f profileFigure) grid(set lab.Setting) (out []ProfileParams) {
	n := lab.Pick(set.Preset, profileSmoke, profileQuick, profilePaper, profilePaper)
	for i, s := range f.settings {
		eps := append(space(0, f.ends[i], n), .5, 1, 2) // the ε of the references
		slices.Sort(eps)
		out = append(out, lab.Grid(ProfileParams{Setting: s, Eps: slices.Compact(eps)},
			lab.Vary(func(p *ProfileParams, k int) { p.Group = k }, adpGroups...))...)
	}
	return out
}

func (f profileFigure) study() lab.Study[ProfileParams, ProfileOut] {
	n := float64(len(f.settings))
	return lab.Study[ProfileParams, ProfileOut]{
		Name:  "amplification/" + f.name,
		Title: f.title,
		Shows: f.shows,
		Sizes: kit.Sizes("%v values of ε a curve, K = 1 to 16",
			kit.Per{profileSmoke, profileQuick, profilePaper, profilePaper}),
		Seconds:    seconds(.03*n, .08*n, .15*n),
		Experiment: profileOf,
		Grid:       f.grid,
		Draw:       f.draw,
		Claims:     f.claims,
	}
}

// Fig4 is δ(ε) of one step against the agnostic bound for one Laplace mechanism.
func Fig4() lab.Study[ProfileParams, ProfileOut] {
	return profileFigure{"fig4", "Specific against agnostic: Laplace, one setting", gap, agnostic, laplaces[4:5],
		laplEps[4:5]}.study()
}

// Fig5 is δ(ε) of one step against group privacy for one Gaussian mechanism.
func Fig5() lab.Study[ProfileParams, ProfileOut] {
	return profileFigure{"fig5", "Specific against post-hoc: Gaussian, one setting", afterwards, postHoc,
		gaussians[4:5], wideEps[4:5]}.study()
}

// Fig8 is δ(ε) of one step against the agnostic bound for Gaussian mechanisms.
func Fig8() lab.Study[ProfileParams, ProfileOut] {
	return profileFigure{"fig8", "Specific against agnostic: Gaussian", gap, agnostic, gaussians, wideEps}.study()
}

// Fig9 is δ(ε) of one step against the agnostic bound for Laplace mechanisms.
func Fig9() lab.Study[ProfileParams, ProfileOut] {
	return profileFigure{"fig9", "Specific against agnostic: Laplace", gap, agnostic, laplaces, laplEps}.study()
}

// Fig10 is δ(ε) of one step against the agnostic bound for randomised response.
func Fig10() lab.Study[ProfileParams, ProfileOut] {
	return profileFigure{"fig10", "Specific against agnostic: randomised response", noGap, agnostic, responses,
		rrEps}.study()
}

// Fig14 is δ(ε) of one step against group privacy for Gaussian mechanisms.
func Fig14() lab.Study[ProfileParams, ProfileOut] {
	return profileFigure{"fig14", "Specific against post-hoc: Gaussian", afterwards, postHoc, gaussians,
		wideEps}.study()
}

// Fig15 is δ(ε) of one step against group privacy for Laplace mechanisms.
func Fig15() lab.Study[ProfileParams, ProfileOut] {
	return profileFigure{"fig15", "Specific against post-hoc: Laplace", afterwards, postHoc, laplaces, laplEps}.study()
}

// Fig16 is δ(ε) of one step against group privacy for randomised response.
func Fig16() lab.Study[ProfileParams, ProfileOut] {
	return profileFigure{"fig16", "Specific against post-hoc: randomised response", afterwards, postHoc, responses,
		rrPost}.study()
}

// slightlyOff is the null of bounds that are too large by a thousandth, and baselines by half of that.
var slightlyOff = lab.Null{Name: "bounds off by a thousandth", Spoil: []lab.Spoiler{
	kit.Spoil(profileOf, func(_ ProfileParams, v *ProfileOut) {
		v.Specific, v.Agnostic, v.PostHoc = shift(v.Specific, 1e-3), shift(v.Agnostic, 5e-4), shift(v.PostHoc, 5e-4)
	}),
	kit.Spoil(renyiOf, func(p RenyiParams, v *RenyiOut) {
		by := 1.0005
		if p.Bound == "specific" {
			by = 1.001
		}
		v.Rho = scale(v.Rho, by)
	}),
}}

// allTheSame is the null of a figure in which every bound is the specific one.
var allTheSame = lab.Null{Name: "one bound under two names", Spoil: []lab.Spoiler{
	kit.Spoil(profileOf, func(_ ProfileParams, v *ProfileOut) { v.Agnostic, v.PostHoc = v.Specific, v.Specific }),
	lab.Spoil(renyiOf, func(cells []renyiCell) {
		for i := 1; i < len(cells); i += 2 {
			cells[i].Value = cells[i-1].Value
		}
	}),
}}

// shift adds to all of a list.
func shift(list []float64, by float64) []float64 {
	return kit.Each(list, func(v float64) float64 { return v + by })
}

// scale multiplies all of a list.
func scale(list []float64, by float64) []float64 {
	return kit.Each(list, func(v float64) float64 { return v * by })
}

func (f profileFigure) draw(v lab.View[ProfileParams, ProfileOut]) (lab.Exhibit, error) {
	parts := kit.Runs(v.Cells, func(c profileCell) Mechanism { return c.Params.Setting })
	table := kit.Table("delta", "δ at ε = 1.",
		"setting | K | specific | "+string(f.against)+" | removed in the worst split")
	groups := kit.Each(parts[0], func(c profileCell) int { return c.Params.Group })
	panels := sheet(style.Panels{Columns: min(3, len(parts)), ShareY: true, Letters: len(parts) > 1}, parts,
		func(cells []profileCell) style.Plot {
			at, eps := cells[0].Params.Setting, cells[0].Params.Eps
			plot := style.Plot{
				Title:  at.String(),
				X:      style.Axis{Label: "ε", Max: slices.Max(eps)},
				Y:      style.Axis{Label: "δ(ε)", Max: 1},
				Aspect: .75,
			}
			for k, c := range cells {
				plot.Items = append(plot.Items, curve(k, dashed, c.Params.Eps, exps(c.Value.baseline(f.against))),
					curve(k, full, c.Params.Eps, exps(c.Value.Specific)))
				if one := slices.Index(c.Params.Eps, 1); one >= 0 {
					table.Rows = append(table.Rows, kit.Row("%s | %v | %.4g | %.4g | %v", at, c.Params.Group,
						math.Exp(c.Value.Specific[one]), math.Exp(c.Value.baseline(f.against)[one]),
						c.Value.Removed[one]))
				}
			}
			return plot
		}, groupKey(groups, dashKey("specific (exact)", full), dashKey(string(f.against)+" (upper bound)", dashed))...)
	var tables []lab.Table
	if len(table.Rows) > 0 {
		tables = []lab.Table{table}
	}
	return lab.Exhibit{
		Pictures: pictured(panels, kit.Badge(v.Source, "%d values of ε", len(v.Cells[0].Params.Eps)),
			fmt.Sprintf(
				"Privacy profile of one step for a group of K records, Poisson sampling: specific (full lines) "+
					"against %s (dashed).", f.against)),
		Tables: tables,
		Notes:  profileNotes(f.against),
	}, nil
}

func profileNotes(a against) []string {
	notes :=
		[]string{"Specific: the largest δ(ε) over all splits of the group into inserted and removed records (SSKG, " +
			"Theorems 3.7, 3.8 and M.2). It is tight; numbers are exact to 1e-12."}
	if a == postHoc {
		return append(notes,
			"Post-hoc: δ_K(ε) = δ₁(ε/K) Σ_{k<K} e^{kε/K} of the exact δ₁ (SSKG, C.1.4), an upper bound, cut at 1. "+
				"For one step it is computed from one record and so without the defect of the composed baseline in "+
				"Figures 6 and 18 to 21.")
	}
	return append(notes,
		"Agnostic: δ(ε) = Σ_k Bin(k|K, r) δ_k(ε₀), e^ε = 1 + p₀(e^ε₀ − 1), p₀ = 1 − (1 − r)^K, with the exact group "+
			"profiles δ_k of the mechanism (Balle, Barthe, Gaboardi 2018; SSKG, section 3.2). An upper bound, tight "+
			"for the worst mechanism with these profiles.")
}

// reference is a value of another program, which computes with 40 digits.
type reference struct {
	setting           Mechanism
	group             int
	eps               float64
	specific          float64
	agnostic, postHoc float64
}

var references = []reference{
	{Mechanism{"gaussian", 2, .2}, 4, 1, 0.010877428654254189359, 0.018464914975865419399, 0.014227803187337822377},
	{Mechanism{"gaussian", 2, .2}, 16, 2, 0.21299170740212847672, 0.22620889984677225992, 0.48631066806627953311},
	{Mechanism{"gaussian", 1, .1}, 4, 2, 0.0071484207990939811591, 0.011708881255470384450, 0.020017830451570112244},
	{Mechanism{"laplace", 1, .2}, 4, 1, 0.018303195684538075517, 0.057337052429846394013, 0.068283433475678899291},
	{Mechanism{"laplace", 1, .2}, 16, 2, 0.34348512176436601137, 0.38576367257669140207, 1},
	{Mechanism{"laplace", 2, .1}, 16, 1, 0.0002907266026244693479, 0.050674555072947528037, 0.0030531914747553718114},
	{Mechanism{"response", .8, .2}, 4, 1, 0.010583634308190952928, 0.010583634308190952928, 0.38231323878825626886},
	{Mechanism{"response", .9, .1}, 16, .5, 0.58688625782183990532, 0.58688625782183990532, 1},
}

func (f profileFigure) claims(v lab.View[ProfileParams, ProfileOut]) ([]lab.Claim, error) {
	none := math.Inf(-1)
	above, single, equal, gain := none, none, none, none
	var out []lab.Claim
	for _, c := range v.Cells {
		for i, specific := range c.Value.Specific {
			base := c.Value.baseline(f.against)[i]
			excess := specific - base
			switch {
			case math.IsInf(specific, -1):
				continue // 0 is below everything
			case c.Params.Group == 1:
				single = max(single, math.Abs(excess))
			case specific > math.Log(1e-3):
				gain = max(gain, math.Exp(-excess))
			}
			above, equal = max(above, excess), max(equal, math.Abs(excess))
		}
		out = append(out, f.referenceClaims(c)...)
	}
	theorem := "SSKG, section 3.2 and appendix N.3: the agnostic bound is the specific one with joint convexity applied"
	if f.against == postHoc {
		theorem = "SSKG, section 4: the specific bound is tight, the post-hoc one valid"
	}
	laws := []lab.Claim{
		kit.Law(kit.AtMostWithin("log of specific over "+string(f.against)+" δ, the largest over all curves",
			theorem, above, 0, 1e-11, exactly, slightlyOff)),
		kit.Law(kit.AtMostWithin("K = 1: the largest difference of log δ between the two bounds",
			"SSKG, section 3.2: identical for K = 1", single, 0, 1e-11, exactly, slightlyOff)),
	}
	if f.against == agnostic && f.settings[0].Kind == "response" {
		return slices.Concat(laws, []lab.Claim{
			kit.Law(kit.AtMostWithin("all K: the largest difference of log δ between the two bounds",
				"the batch matters only through whether it holds a group record",
				equal, 0, 1e-11, exactly, slightlyOff)),
		}, out), nil
	}
	laws = append(laws, kit.AtLeast(
		"K ≥ 2: the largest "+string(f.against)+" δ over specific δ where that is above 1e-3, at least",
		"SSKG, section 4: “stronger privacy guarantees” for K ≥ 2", gain, 1.05,
		"a gap that can be seen in the figure; the paper gives no number", allTheSame))
	return slices.Concat(laws, out), nil
}

// referenceClaims compares a cell with the references that it holds.
func (f profileFigure) referenceClaims(c profileCell) (out []lab.Claim) {
	const source, why = "another program, with 40 digits", "it states 1e-14, package dp 1e-12"
	for _, r := range references {
		i := slices.Index(c.Params.Eps, r.eps)
		if r.setting != c.Params.Setting || r.group != c.Params.Group || i < 0 {
			continue
		}
		what := fmt.Sprintf("δ at %v, K = %d, ε = %g", r.setting, r.group, r.eps)
		want := r.agnostic
		if f.against == postHoc {
			want = r.postHoc
		}
		out = append(out,
			kit.Near("specific "+what, source, math.Exp(c.Value.Specific[i]), r.specific, 1e-12*r.specific, why,
				slightlyOff),
			kit.Near(string(f.against)+" "+what, source, math.Exp(c.Value.baseline(f.against)[i]), want,
				1e-12*want, why, slightlyOff))
	}
	return out
}

// profileCell is a finished cell.
type profileCell = lab.Result[ProfileParams, ProfileOut]
