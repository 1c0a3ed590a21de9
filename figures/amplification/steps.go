package amplification

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/dp"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/plot"
)

// stepsBudget is the δ of the paper's example; stepsShown the number of steps that its panels end at.
const (
	stepsBudget = 1e-6
	stepsShown  = 1000
)

// route is a way to δ for a group: from which group's composition, and at which ε. The weight multiplies δ.
type route string

const (
	direct       route = "specific"
	corrected    route = "post-hoc, corrected"
	asPublished  route = "post-hoc, as published"
	stepsDefect        = "As published, the post-hoc baseline composes the profile of the group of K and then applies group privacy for K once more. Corrected, it composes the profile of one record: δ_K(ε) = δ₁(ε/K) Σ_{k<K} e^{kε/K}. The published line for K therefore lies near the specific one for K²."
	stepsCertify       = "Specific lines are exact as drawn: certified enclosures of the worst split's δ, narrower than the line is wide (contour integrals where they apply, else privacy-loss distributions; upper ends are drawn). " +
		"Post-hoc lines are upper bounds, from exact profiles. Nothing is drawn below 1e-12."
)

// at returns the group and ε that are composed for a group of K, and the logarithm of the weight.
func (r route) at(group int, eps float64) (composed int, at, logW float64) {
	switch r {
	case corrected:
		return 1, eps / float64(group), logWeight(group, eps)
	case asPublished:
		return group, eps / float64(group), logWeight(group, eps)
	}
	return group, eps, 0
}

// allowedParams asks how many steps a budget of ε at δ allows.
type allowedParams struct {
	Setting  setting `json:"setting"`
	Group    int     `json:"group"`
	Eps      float64 `json:"eps"`
	LogDelta float64 `json:"log_delta"`
}

type allowedOut struct {
	Steps int `json:"steps"`
}

var allowedOf = lab.Experiment[allowedParams, allowedOut]{
	Name: "amplification/allowed", Version: 1,
	Run: func(ctx context.Context, _ *lab.Cell, p allowedParams) (allowedOut, error) {
		b := dp.Budget{Epsilon: p.Eps, Delta: math.Exp(p.LogDelta), Relation: dp.Relation{Group: p.Group}}
		n, err := dp.MaxSteps(ctx, b, func(steps int) dp.Event { return dp.Repeat{Times: steps, Event: p.Setting.event()} })
		return allowedOut{n}, err
	},
}

// allowed returns the cell for the steps that stepsBudget allows a group by a route.
func (r route) allowed(s setting, group int, eps float64) allowedParams {
	k, at, logW := r.at(group, eps)
	return allowedParams{Setting: s, Group: k, Eps: at, LogDelta: math.Log(stepsBudget) - logW}
}

// stepsPanel is δ over steps at one setting and ε.
type stepsPanel struct {
	setting  setting
	eps      float64
	from, to float64 // steps
	finer    int     // a factor on their number
}

const (
	stepsSmoke, stepsQuick, stepsPaper = 3, 10, 31
)

// cell returns the cell behind a line.
func (p stepsPanel) cell(r route, group int, preset lab.Preset) composedParams {
	k, at, _ := r.at(group, p.eps)
	var steps []int
	for _, t := range logSpace(p.from, p.to, p.finer*pick(preset, stepsSmoke, stepsQuick, stepsPaper)) {
		steps = append(steps, int(math.Round(t)))
	}
	return composedParams{Setting: p.setting, Group: k, Eps: at, Width: pick(preset, .1, .1, .05), Steps: slices.Compact(steps)}
}

// groups of a preset.
func stepsGroups(p lab.Preset) []int { return pick(p, []int{1, 4}, []int{1, 4, 16}, adpGroups) }

func stepsSizes() map[lab.Preset]string {
	return map[lab.Preset]string{
		lab.Smoke: fmt.Sprintf("some %d numbers of steps, K = 1, 4", stepsSmoke),
		lab.Quick: fmt.Sprintf("some %d numbers of steps, K = 1, 4, 16", stepsQuick),
		lab.Paper: fmt.Sprintf("some %d numbers of steps, K = 1 to 16", stepsPaper),
	}
}

// cells lists all cells of a panel, each once.
func (p stepsPanel) cells(preset lab.Preset) (out []composedParams) {
	for _, r := range []route{direct, corrected, asPublished} {
		for _, k := range stepsGroups(preset) {
			c := p.cell(r, k, preset)
			if !slices.ContainsFunc(out, func(o composedParams) bool { return o.Group == c.Group && o.Eps == c.Eps }) {
				out = append(out, c)
			}
		}
	}
	return out
}

// line returns the steps and log δ of a group by a route, at most 0; NaN below the floor.
func (p stepsPanel) line(s *lab.Store, set lab.Setting, r route, group int) (x, logDelta []float64, err error) {
	got, err := lab.Recall(s, composedOf, set.Seed, p.cell(r, group, set.Preset))
	if err != nil {
		return nil, nil, err
	}
	_, _, logW := r.at(group, p.eps)
	for i, t := range got.Params.Steps {
		v := min(0, math.Log(got.Value.Upper[i])+logW)
		if got.Value.Upper[i] <= floor || v < math.Log(1e-12) {
			v = math.NaN()
		}
		x, logDelta = append(x, float64(t)), append(logDelta, v)
	}
	return x, logDelta, nil
}

// plot draws the specific bound against a post-hoc one.
func (p stepsPanel) plot(s *lab.Store, set lab.Setting, title string, base route) (style.Plot, error) {
	out := style.Plot{
		Title: title, Aspect: .75,
		X: style.Axis{Label: "steps t", Log: true, Min: p.from, Max: p.to}, Y: style.Axis{Label: "δ", Log: true, Min: 1e-12, Max: 1},
		Items: []plot.Plotter{style.Rule{At: stepsBudget}, style.Rule{At: stepsShown, Vertical: true}},
	}
	for _, r := range []route{base, direct} {
		for _, k := range stepsGroups(set.Preset) {
			x, y, err := p.line(s, set, r, k)
			if err != nil {
				return out, err
			}
			dashes := full
			if r != direct {
				dashes = dashed
			}
			out.Items = append(out.Items, curve(slices.Index(adpGroups, k), dashes, x, exps(y)))
		}
	}
	return out, nil
}

// key names the groups of which some panel shows something, and the kinds of lines.
func (f stepsFigure) key(s *lab.Store, set lab.Setting, bases []route, kinds ...plot.Plotter) ([]plot.Plotter, error) {
	var out []plot.Plotter
	for _, k := range stepsGroups(set.Preset) {
		shown, err := f.shown(s, set, bases, k)
		if err != nil {
			return nil, err
		}
		if shown {
			out = append(out, key(fmt.Sprintf("K = %d", k), slices.Index(adpGroups, k)))
		}
	}
	return append(out, kinds...), nil
}

// shown reports whether any line of a group is above the floor.
func (f stepsFigure) shown(s *lab.Store, set lab.Setting, bases []route, group int) (bool, error) {
	for _, p := range f.panels {
		for _, r := range append([]route{direct}, bases...) {
			_, y, err := p.line(s, set, r, group)
			if err != nil {
				return false, err
			}
			if slices.ContainsFunc(y, func(v float64) bool { return !math.IsNaN(v) }) {
				return true, nil
			}
		}
	}
	return false, nil
}

// stepsFigure describes Figures 6 and 18 to 21.
type stepsFigure struct {
	name, title, shows string
	panels             []stepsPanel
	budget             []stepsPanel // where the allowed steps for K = 16 are asked
}

func stepsFigures() map[string]stepsFigure {
	all := func(kind string, scale float64) (out []stepsPanel) {
		for _, r := range []float64{.01, .001} {
			for _, eps := range []float64{.5, 1, 2} {
				out = append(out, stepsPanel{setting{kind, scale, r}, eps, 1, 1e5, 1})
			}
		}
		return out
	}
	const shows = "δ over the number of steps at fixed ε, groups of K. As published, the post-hoc baseline (dashed) is decades above the specific bound; corrected, it follows it closely for private " +
		"mechanisms and large numbers of steps, and parts from it for strong mechanisms and few steps. Thin lines: the paper's last step and δ = 1e-6."
	example := func(noise, from, to float64) stepsPanel {
		return stepsPanel{setting{"gaussian", noise, .001}, 2, from, to, 2}
	}
	list := []stepsFigure{
		{"fig6", "Steps that a budget allows: the post-hoc baseline as published and corrected",
			"Gaussian mechanism, σ = 5, r = 0.001, ε = 2. The published baseline (a) makes group privacy look hopeless: some 65 steps for K = 16 at δ = 1e-6. Corrected (b), it allows nearly as many as the tight bound.",
			[]stepsPanel{example(5, 10, 1e6)}, []stepsPanel{example(5, 10, 1e6)}},
		{"fig18", "Composition: Gaussian, σ = 1", shows, all("gaussian", 1), []stepsPanel{{setting{"gaussian", 1, .001}, 2, 1, 1e5, 1}}},
		{"fig19", "Composition: Gaussian, σ = 5", shows, all("gaussian", 5), []stepsPanel{{setting{"gaussian", 5, .001}, 2, 1, 1e5, 1}}},
		{"fig20", "Composition: Laplace, λ = 1", shows, all("laplace", 1), nil},
		{"fig21", "Composition: Laplace, λ = 5", shows, all("laplace", 5), nil},
	}
	out := map[string]stepsFigure{}
	for _, f := range list {
		out[f.name] = f
	}
	return out
}

// asked returns the panels whose allowed steps are asked: at the smallest size those of Figure 6 only, since one takes
// some seconds.
func (f stepsFigure) asked(set lab.Setting) []stepsPanel {
	if set.Preset == lab.Smoke && f.name != "fig6" {
		return nil
	}
	return f.budget
}

func (f stepsFigure) figure() lab.Figure {
	out := lab.Figure{
		Name: "amplification/" + f.name, Title: f.title, Shows: f.shows,
		Sizes: stepsSizes(), Decoders: []lab.Decoder{composedOf.Decoder(), allowedOf.Decoder()},
		Jobs: func(set lab.Setting) ([]lab.Job, error) {
			var jobs []lab.Job
			for _, p := range f.asked(set) {
				for _, r := range []route{direct, corrected, asPublished} {
					jobs = append(jobs, allowedOf.Jobs(set.Seed, r.allowed(p.setting, 16, p.eps))...)
				}
			}
			for _, p := range f.panels {
				jobs = append(jobs, composedOf.Jobs(set.Seed, p.cells(set.Preset)...)...)
			}
			return jobs, nil
		},
		Draw:   f.draw,
		Claims: f.claims,
	}
	if f.name == "fig6" {
		out.Draw = f.drawBoth
	}
	return out
}

// drawBoth is Figure 6: both baselines beside each other, with the steps that the budget allows.
func (f stepsFigure) drawBoth(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
	panels := style.Panels{Letters: true, ShareY: true}
	at := f.panels[0]
	for i, base := range []route{asPublished, corrected} {
		p, err := at.plot(s, set, string(base), base)
		if err != nil {
			return lab.Exhibit{}, err
		}
		marks := style.Points{Color: style.Black, Radius: 2.5}
		for _, r := range []route{direct, base} {
			got, err := lab.Recall(s, allowedOf, set.Seed, r.allowed(at.setting, 16, at.eps))
			if err != nil {
				return lab.Exhibit{}, err
			}
			marks.X, marks.Y = append(marks.X, float64(got.Value.Steps)), append(marks.Y, stepsBudget)
			note := style.Note{X: float64(got.Value.Steps), Y: stepsBudget, Text: "specific " + grouped(got.Value.Steps), DX: -3, DY: -8}
			switch r {
			case corrected:
				note.Text, note.DY = "post-hoc "+grouped(got.Value.Steps), 8
			case asPublished:
				note.Text, note.DX, note.DY = "post-hoc "+grouped(got.Value.Steps), 3, 8
			}
			p.Items = append(p.Items, note)
		}
		p.Items = append(p.Items, marks)
		if i == 0 {
			entries, err := f.key(s, set, []route{asPublished, corrected}, dashKey("specific (exact)", full), dashKey("post-hoc (upper bound)", dashed))
			if err != nil {
				return lab.Exhibit{}, err
			}
			p.Items = append(p.Items, entries...)
		}
		panels.Items = append(panels.Items, p)
	}
	table, err := f.table(s, set)
	return lab.Exhibit{
		Pictures: []lab.Picture{{
			Caption: "δ over the number of steps at ε = 2, Gaussian mechanism with σ = 5 and r = 0.001: (a) the post-hoc baseline as published, (b) corrected. Black dots with numbers: steps that δ = 1e-6 allows for K = 16, by the specific and by the post-hoc bound. " +
				"Thin lines: that δ, and t = 1000, where the paper's figure ends.",
			Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, stepsSizes()[set.Preset])},
		}},
		Tables: []lab.Table{table}, Notes: []string{stepsDefect, stepsCertify},
	}, err
}

// grouped writes an integer with commas.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// draw is Figures 18 to 21: one picture for each form of the baseline.
func (f stepsFigure) draw(s *lab.Store, set lab.Setting) (ex lab.Exhibit, err error) {
	for _, base := range []route{corrected, asPublished} {
		panels := style.Panels{Columns: 3, Letters: true, ShareX: true, ShareY: true}
		for i, at := range f.panels {
			p, err := at.plot(s, set, fmt.Sprintf("r = %g, ε = %g", at.setting.Rate, at.eps), base)
			if err != nil {
				return ex, err
			}
			if i == 0 {
				entries, err := f.key(s, set, []route{base}, dashKey("specific (exact)", full), dashKey(string(base)+" (upper bound)", dashed))
				if err != nil {
					return ex, err
				}
				p.Items = append(p.Items, entries...)
			}
			panels.Items = append(panels.Items, p)
		}
		name := map[route]string{corrected: "corrected", asPublished: "published"}[base]
		ex.Pictures = append(ex.Pictures, lab.Picture{
			Name:    name,
			Caption: fmt.Sprintf("%s. δ over the number of steps, specific (full lines) against %s (dashed). Thin lines: δ = 1e-6, and t = 1000, where the paper's panels end.", f.title, base),
			Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, stepsSizes()[set.Preset])},
		})
	}
	ex.Notes = []string{stepsDefect, stepsCertify}
	if len(f.asked(set)) == 0 {
		return ex, nil
	}
	table, err := f.table(s, set)
	ex.Tables = []lab.Table{table}
	return ex, err
}

// table lists the steps allowed.
func (f stepsFigure) table(s *lab.Store, set lab.Setting) (lab.Table, error) {
	t := lab.Table{Name: "allowed", Caption: "Steps that ε at δ = 1e-6 allows a group of 16, as certified.", Header: []string{"setting", "ε", "specific", "post-hoc, corrected", "post-hoc, as published"}}
	for _, p := range f.asked(set) {
		row := []string{p.setting.String(), fmt.Sprint(p.eps)}
		for _, r := range []route{direct, corrected, asPublished} {
			got, err := lab.Recall(s, allowedOf, set.Seed, r.allowed(p.setting, 16, p.eps))
			if err != nil {
				return t, err
			}
			row = append(row, grouped(got.Value.Steps))
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}
