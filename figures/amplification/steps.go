package amplification

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"coupling/dp"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/store"

	"gonum.org/v1/gonum/interp"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// stepsBudget is the δ of the paper's example; stepsShown the number of steps that its panels end at.
const (
	stepsBudget = 1e-6
	stepsShown  = 1000
)

// route is a way to δ for a group: from which group's composition, and at which ε. The weight multiplies δ.
type route string

const (
	direct      route = "specific"
	corrected   route = "post-hoc, corrected"
	asPublished route = "post-hoc, as published"
	stepsDefect       = "As published, the post-hoc baseline composes the profile of the group of K and then " +
		"applies group privacy for K once more. Corrected, it composes the profile of one record: δ_K(ε) = δ₁(ε/K) " +
		"Σ_{k<K} e^{kε/K}. The published line for K therefore lies near the specific one for K²."
	stepsCertify = "Specific lines are exact as drawn at the numbers of steps that are computed, with a monotone " +
		"cubic between them: certified enclosures of the worst split's δ, narrower than the line is wide (contour " +
		"integrals where they apply, else privacy-loss distributions; upper ends are drawn). Post-hoc lines are " +
		"upper bounds, from exact profiles. Nothing is drawn below 1e-12."
)

var routes = []route{direct, corrected, asPublished}

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

// AllowedParams asks how many steps a budget of ε at δ allows.
type AllowedParams struct {
	Setting  Mechanism `json:"setting"`
	Group    int       `json:"group" min:"1" doc:"records in which data sets differ"`
	Eps      float64   `json:"eps" min:">0" doc:"ε of the budget"`
	LogDelta float64   `json:"log_delta" max:"<0" doc:"log δ of the budget"`
}

// AllowedOut is the number of steps.
type AllowedOut struct {
	Steps int `json:"steps"`
}

var allowedOf = lab.Experiment[AllowedParams, AllowedOut]{
	Name: "amplification/allowed", Version: 1,
	Run: func(ctx context.Context, _ *lab.Cell, p AllowedParams) (AllowedOut, error) {
		b := dp.Budget{Epsilon: p.Eps, Delta: math.Exp(p.LogDelta), Relation: dp.Relation{Group: p.Group}}
		n, err := dp.MaxSteps(ctx, b,
			func(steps int) dp.Event { return dp.Repeat{Times: steps, Event: p.Setting.event()} })
		return AllowedOut{n}, err
	},
}

// allowed returns the cell for the steps that ε at δ allows a group by a route.
func (r route) allowed(s Mechanism, group int, eps, delta float64) AllowedParams {
	k, at, logW := r.at(group, eps)
	return AllowedParams{Setting: s, Group: k, Eps: at, LogDelta: math.Log(delta) - logW}
}

// stepsPanel is δ over steps at one setting and ε.
type stepsPanel struct {
	setting  Mechanism
	eps      float64
	from, to float64 // steps
	finer    int     // a factor on their number of a preset
}

const stepsSmoke, stepsQuick, stepsFull, stepsPaper = 3, 13, 16, 31

// cell returns the cell behind a line.
func (p stepsPanel) cell(r route, group int, preset lab.Preset) ComposedParams {
	k, at, _ := r.at(group, p.eps)
	steps := wholes(p.from, p.to, p.finer*lab.Pick(preset, stepsSmoke, stepsQuick, stepsFull, stepsPaper))
	return ComposedParams{Setting: p.setting, Group: k, Eps: at, Width: lab.Pick(preset, .1, .1, .1, .05), Steps: steps}
}

// stepsGroups are the groups of a preset.
func stepsGroups(p lab.Preset) []int {
	return lab.Pick(p, []int{1, 4}, []int{1, 4, 16}, adpGroups, adpGroups)
}

func stepsSizes() map[lab.Preset]string {
	return kit.Sizes("some %v numbers of steps, K = %v", kit.Per{stepsSmoke, stepsQuick, stepsFull, stepsPaper},
		kit.Per{"1, 4", "1, 4, 16", "1 to 16", "1 to 16"})
}

// cells lists all cells of a panel, each once: for one record all routes are the same cell.
func (p stepsPanel) cells(preset lab.Preset) (out []ComposedParams) {
	for _, r := range routes {
		for _, k := range stepsGroups(preset) {
			if k > 1 || r == direct {
				out = append(out, p.cell(r, k, preset))
			}
		}
	}
	return out
}

// A composedView is what the figures of many steps are drawn from.
type composedView = lab.View[ComposedParams, ComposedOut]

// find returns the cell of a panel behind a line; none where the grid lacks it.
func (p stepsPanel) find(v composedView, r route, group int) []composedCell {
	k, at, _ := r.at(group, p.eps)
	return v.Where(func(c ComposedParams) bool { return c.Setting == p.setting && c.Group == k && c.Eps == at })
}

// groups are those whose lines by all routes the cells hold.
func (p stepsPanel) groups(v composedView) []int {
	return slices.DeleteFunc(groupsOf(v), func(k int) bool {
		return slices.ContainsFunc(routes, func(r route) bool { return len(p.find(v, r, k)) == 0 })
	})
}

// groupsOf are the groups of all cells, increasing.
func groupsOf(v composedView) []int {
	all := kit.Each(v.Cells, func(c composedCell) int { return c.Params.Group })
	slices.Sort(all)
	return slices.Compact(all)
}

// stepsPanels are the settings and ε at which the cells hold a group of several records by all routes.
func stepsPanels(v composedView) (out []stepsPanel) {
	for _, c := range v.Cells {
		steps := c.Params.Steps
		p := stepsPanel{c.Params.Setting, c.Params.Eps, float64(steps[0]), float64(steps[len(steps)-1]), 1}
		if groups := p.groups(v); len(groups) > 0 && groups[len(groups)-1] > 1 && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		lab.Check(fmt.Errorf("no group of several records has all cells of its baselines: %w", store.ErrMissing))
	}
	return out
}

// badge names how many steps and which groups are drawn.
func (p stepsPanel) badge(v composedView) string {
	groups := kit.Each(p.groups(v), func(k int) string { return fmt.Sprint(k) })
	return kit.Badge(v.Source, "%d numbers of steps, K = %s",
		len(p.find(v, direct, p.groups(v)[0])[0].Params.Steps), strings.Join(groups, ", "))
}

// line returns the steps and log δ of a group by a route, at most 0; NaN below the floor.
func (p stepsPanel) line(v composedView, r route, group int) (x, logDelta []float64) {
	got := p.find(v, r, group)[0]
	_, _, logW := r.at(group, p.eps)
	for i, t := range got.Params.Steps {
		y := min(0, math.Log(got.Value.Upper[i])+logW)
		if got.Value.Upper[i] <= floor || y < math.Log(1e-12) {
			y = math.NaN()
		}
		x, logDelta = append(x, float64(t)), append(logDelta, y)
	}
	return x, logDelta
}

// smooth is a monotone cubic of log δ over log t through the points above the floor (Fritsch and Butland 1984).
func smooth(steps, logDelta []float64) (x, y []float64) {
	from := slices.IndexFunc(logDelta, func(v float64) bool { return !math.IsNaN(v) }) // δ rises with the steps
	if from < 0 || len(steps)-from < 3 {
		return steps, logDelta
	}
	var cubic interp.FritschButland
	if err := cubic.Fit(kit.Each(steps[from:], math.Log), logDelta[from:]); err != nil { // steps increase
		panic(err)
	}
	x = logSpace(steps[from], steps[len(steps)-1], 200)
	return x, kit.Each(x, func(t float64) float64 { return cubic.Predict(math.Log(t)) })
}

// plot draws the specific bound against a post-hoc one.
func (p stepsPanel) plot(v composedView, title string, base route) style.Plot {
	out := style.Plot{
		Title: title, Aspect: .75,
		X: style.Axis{
			Label: "steps t",
			Log:   true,
			Min:   p.from,
			Max:   p.to,
		}, Y: style.Axis{Label: "δ", Log: true, Min: 1e-12, Max: 1},
		Items: []plot.Plotter{style.Rule{At: stepsBudget}, style.Rule{At: stepsShown, Vertical: true}},
	}
	for _, r := range []route{base, direct} {
		for _, k := range p.groups(v) {
			x, y := smooth(p.line(v, r, k))
			out.Items = append(out.Items, curve(slices.Index(groupsOf(v), k),
				map[bool]int{true: full, false: dashed}[r == direct], x, exps(y)))
		}
	}
	return out
}

// stepsKey names the groups of which some line is above the floor, and the kinds of lines.
func stepsKey(v composedView, bases []route, kinds ...plot.Plotter) (out []plot.Plotter) {
	for i, k := range groupsOf(v) {
		if slices.ContainsFunc(stepsPanels(v),
			func(p stepsPanel) bool { return p.shows(v, k, append(bases, direct)) }) {
			out = append(out, key(fmt.Sprintf("K = %d", k), i))
		}
	}
	return append(out, kinds...)
}

// shows reports whether any line of a group is above the floor.
func (p stepsPanel) shows(v composedView, group int, by []route) bool {
	return slices.Contains(p.groups(v), group) && slices.ContainsFunc(by, func(r route) bool {
		_, y := p.line(v, r, group)
		return slices.ContainsFunc(y, func(v float64) bool { return !math.IsNaN(v) })
	})
}

// stepsFigure describes Figures 6 and 18 to 21.
type stepsFigure struct {
	name, title, shows string
	panels             []stepsPanel
	budget             []stepsPanel // where the allowed steps for K = 16 are asked
}

// sixPanels are those of Figures 18 to 21, at two rates and three ε.
func sixPanels(kind string, scale float64) (out []stepsPanel) {
	for _, r := range []float64{.01, .001} {
		for _, eps := range []float64{.5, 1, 2} {
			out = append(out, stepsPanel{Mechanism{kind, scale, r}, eps, 1, 1e5, 1})
		}
	}
	return out
}

const sixShow = "δ over the number of steps at fixed ε, groups of K. As published, the post-hoc baseline (dashed) " +
	"is decades above the specific bound; corrected, it follows it closely for private mechanisms and large numbers " +
	"of steps, and parts from it for strong mechanisms and few steps. Thin lines: the paper's last step and δ = " +
	"1e-6."

// asked returns the panels whose allowed steps are asked: at the smallest size those of Figure 6 only, since one takes
// some seconds.
func (f stepsFigure) asked(set lab.Setting) []stepsPanel {
	if set.Preset == lab.Smoke && f.name != "fig6" {
		return nil
	}
	return f.budget
}

// allowed are the cells of the steps that the budget allows.
func (f stepsFigure) allowed() lab.Part[AllowedParams, AllowedOut] {
	return lab.Part[AllowedParams, AllowedOut]{Experiment: allowedOf,
		Grid: func(set lab.Setting) (out []AllowedParams) {
			for _, p := range f.asked(set) {
				for _, r := range routes {
					out = append(out, r.allowed(p.setting, 16, p.eps, stepsBudget))
				}
			}
			return out
		}}
}

// Fig6 is the steps that a budget allows, by both forms of the baseline.
func Fig6() lab.Study[ComposedParams, ComposedOut] {
	panel := []stepsPanel{{Mechanism{"gaussian", 5, .001}, 2, 10, 1e6, 2}}
	f := stepsFigure{"fig6", "Steps that a budget allows: the post-hoc baseline as published and corrected",
		"Gaussian mechanism, σ = 5, r = 0.001, ε = 2. The published baseline (a) makes group privacy look hopeless: " +
			"some 65 steps for K = 16 at δ = 1e-6. Corrected (b), it allows nearly as many as the tight bound.",
		panel, panel}
	s := f.study(seconds(5, 6, 15))
	s.Draw = f.drawBoth
	return s
}

// Fig18 is δ of many steps, Gaussian with σ = 1.
func Fig18() lab.Study[ComposedParams, ComposedOut] {
	all := sixPanels("gaussian", 1)
	return stepsFigure{"fig18", "Composition: Gaussian", sixShow, all, all[5:]}.study(seconds(2, 28, 60))
}

// Fig19 is δ of many steps, Gaussian with σ = 5.
func Fig19() lab.Study[ComposedParams, ComposedOut] {
	all := sixPanels("gaussian", 5)
	return stepsFigure{"fig19", "Composition: Gaussian, more noise", sixShow, all, all[5:]}.study(seconds(1, 13, 40))
}

// Fig20 is δ of many steps, Laplace with λ = 1.
func Fig20() lab.Study[ComposedParams, ComposedOut] {
	return stepsFigure{"fig20", "Composition: Laplace", sixShow, sixPanels("laplace", 1), nil}.study(seconds(2, 24, 60))
}

// Fig21 is δ of many steps, Laplace with λ = 5.
func Fig21() lab.Study[ComposedParams, ComposedOut] {
	return stepsFigure{"fig21", "Composition: Laplace, more noise", sixShow, sixPanels("laplace", 5),
		nil}.study(seconds(2, 25, 60))
}

func (f stepsFigure) study(cost map[lab.Preset]float64) lab.Study[ComposedParams, ComposedOut] {
	s := lab.Study[ComposedParams, ComposedOut]{
		Name: "amplification/" + f.name, Title: f.title, Shows: f.shows,
		Sizes: stepsSizes(), Seconds: cost,
		Experiment: composedOf,
		Grid: func(set lab.Setting) (out []ComposedParams) {
			for _, p := range f.panels {
				out = append(out, p.cells(set.Preset)...)
			}
			for _, p := range f.asked(set) { // the line on which the allowed steps lie
				if c := p.cell(direct, 16, set.Preset); set.Preset == lab.Smoke {
					out = append(out, c)
				}
			}
			return out
		},
		Draw:   f.draw,
		Claims: f.claims,
	}
	if f.budget != nil {
		s.Also = []lab.Cells{f.allowed()}
	}
	return s
}

// trivialBound is the null of a specific bound of 1, of which nothing is known from below.
var trivialBound = kit.Null("δ = 1 for every group", composedOf, func(p ComposedParams, v *ComposedOut) {
	if n := len(v.Upper); p.Group > 1 {
		v.Upper, v.Lower = slices.Repeat([]float64{1}, n), slices.Repeat([]float64{1e-3}, n)
	}
})

// nothingDrawn is the null of curves that all lie below the floor.
var nothingDrawn = kit.Null("curves below the floor", composedOf,
	func(_ ComposedParams, v *ComposedOut) { v.Upper = slices.Repeat([]float64{floor}, len(v.Upper)) })

// anyBudget is the null in which every accountant allows 500 steps.
var anyBudget = kit.Null("500 steps by every accountant", allowedOf,
	func(_ AllowedParams, v *AllowedOut) { v.Steps = 500 })

// cheapCorrection is the null in which the corrected baseline, which composes one record, allows
// far more steps than the tight bound.
var cheapCorrection = kit.Null("the corrected baseline allows a hundred times the steps", allowedOf,
	func(p AllowedParams, v *AllowedOut) {
		if p.Group == 1 {
			v.Steps *= 100
		}
	})

// drawBoth is Figure 6: both baselines beside each other, with the steps that the budget allows.
func (f stepsFigure) drawBoth(v composedView) (lab.Exhibit, error) {
	allowed := f.allowed().View(v.Source)
	panels := style.Panels{Letters: true, ShareY: true}
	at, marked := stepsPanels(v)[0], ""
	for i, base := range []route{asPublished, corrected} {
		p := at.plot(v, string(base), base)
		marks := style.Points{Color: style.Black, Radius: 2.5}
		for _, r := range []route{direct, base} {
			if at.setting != f.panels[0].setting || at.eps != f.panels[0].eps {
				break // the budget's cells are not of this panel
			}
			marked =
				"Black dots with numbers: steps that δ = 1e-6 allows for K = 16, by the specific and by the " +
					"post-hoc bound. "
			got := allowed.At(r.allowed(at.setting, 16, at.eps, stepsBudget))
			marks.X, marks.Y = append(marks.X, float64(got.Value.Steps)), append(marks.Y, stepsBudget)
			note := style.Note{
				X:    float64(got.Value.Steps),
				Y:    stepsBudget,
				Text: "specific " + grouped(got.Value.Steps),
				DX:   -3,
				DY:   -8,
			}
			if r != direct {
				note.Text, note.DX, note.DY = "post-hoc "+grouped(got.Value.Steps),
					map[route]vg.Length{corrected: -3, asPublished: 3}[r], 8
			}
			p.Items = append(p.Items, note)
		}
		p.Items = append(p.Items, marks)
		if i == 0 {
			p.Items = append(p.Items, stepsKey(v, []route{asPublished, corrected}, dashKey("specific (exact)", full),
				dashKey("post-hoc (upper bound)", dashed))...)
		}
		panels.Items = append(panels.Items, p)
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, at.badge(v),
			fmt.Sprintf(
				"δ over the number of steps at ε = %g, %s mechanism with %v: (a) the post-hoc baseline as "+
					"published, (b) corrected. %sThin lines: δ = 1e-6, and t = 1000, where the paper's figure ends.",
				at.eps, at.setting.name(),
				at.setting, marked)),
		Tables: []lab.Table{f.table(allowed)}, Notes: []string{stepsDefect, stepsCertify},
	}, nil
}

// grouped writes an integer with commas.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// draw is Figures 18 to 21: one picture for each form of the baseline.
func (f stepsFigure) draw(v composedView) (ex lab.Exhibit, err error) {
	for _, base := range []route{corrected, asPublished} {
		panels := style.Panels{Columns: 3, Letters: true, ShareX: true, ShareY: true}
		for i, at := range stepsPanels(v) {
			p := at.plot(v, fmt.Sprintf("r = %g, ε = %g", at.setting.Rate, at.eps), base)
			if i == 0 {
				p.Items = append(p.Items, stepsKey(v, []route{base}, dashKey("specific (exact)", full),
					dashKey("post-hoc (upper bound)", dashed))...)
			}
			panels.Items = append(panels.Items, p)
		}
		name := map[route]string{corrected: "corrected", asPublished: "published"}[base]
		ex.Pictures = append(ex.Pictures, kit.Picture(name, panels, stepsPanels(v)[0].badge(v), fmt.Sprintf(
			"Composition: %s. δ over the number of steps, specific (full lines) against %s (dashed). Thin lines: δ "+
				"= 1e-6, and t = 1000, where the paper's panels end.", stepsMechanism(v), base)))
	}
	ex.Notes = []string{stepsDefect, stepsCertify}
	if len(f.asked(v.Setting)) > 0 {
		ex.Tables = []lab.Table{f.table(f.allowed().View(v.Source))}
	}
	return ex, nil
}

// stepsMechanism names the mechanism of the cells, and its noise where all have the same.
func stepsMechanism(v composedView) string {
	first := v.Cells[0].Params.Setting
	if slices.ContainsFunc(v.Cells,
		func(c composedCell) bool { return c.Params.Setting.Scale != first.Scale }) {
		return first.name()
	}
	noise, _, _ := strings.Cut(first.String(), ",")
	return first.name() + ", " + noise
}

// table lists the steps allowed.
func (f stepsFigure) table(allowed lab.View[AllowedParams, AllowedOut]) lab.Table {
	t := kit.Table("allowed", "Steps that ε at δ = 1e-6 allows a group of 16, as certified.",
		"setting | ε | specific | post-hoc, corrected | post-hoc, as published")
	for cells := range slices.Chunk(allowed.Cells, len(routes)) {
		steps := kit.Each(cells, func(c lab.Result[AllowedParams, AllowedOut]) string { return grouped(c.Value.Steps) })
		t.Rows = append(t.Rows,
			append(kit.Row("%s | %v", cells[0].Params.Setting, cells[0].Params.Eps), steps...))
	}
	return t
}

// recomputed are numbers of steps for K = 16 at ε = 2, δ = 1e-6 found by others than this module.
var recomputed = map[Mechanism]struct {
	steps [3]int // by the routes; 0 for none
	room  [3]float64
	why   string
}{
	{"gaussian", 5, .001}: {[3]int{19072, 18048, 65}, [3]float64{.01, .05, .02},
		"found with a pessimistic privacy-loss distribution on a fixed grid, in multiples of 64; a certified " +
			"enclosure allows a little more, the most where ε is small against the grid"},
	{"gaussian", 1, .001}: {[3]int{157, 21, 0}, [3]float64{.015, .05, 0},
		"a step or two, by the width of the enclosure"},
}

// fewerSteps is the null of lines that stand at half of their steps.
var fewerSteps = kit.Null("δ of half of the steps", composedOf, func(p ComposedParams, v *ComposedOut) {
	x, y := smooth(kit.Each(p.Steps, func(t int) float64 { return float64(t) }), kit.Each(v.Upper, math.Log))
	for i, t := range p.Steps {
		v.Upper[i] = math.Exp(interpolated(x, y, float64(t)/2))
	}
})

// interpolated is y at x0, between the two x about it; x increases.
func interpolated(x, y []float64, x0 float64) float64 {
	i := min(max(sort.SearchFloat64s(x, x0), 1), len(x)-1)
	return y[i-1] + (y[i]-y[i-1])*(math.Log(x0/x[i-1])/math.Log(x[i]/x[i-1]))
}

func (f stepsFigure) claims(v composedView) ([]lab.Claim, error) {
	out := f.laws(v)
	for _, p := range f.asked(v.Setting) {
		allowed := f.allowed().View(v.Source)
		var steps [3]float64
		for i, r := range routes {
			steps[i] = float64(allowed.At(r.allowed(p.setting, 16, p.eps, stepsBudget)).Value.Steps)
		}
		if p.setting == (Mechanism{"gaussian", 5, .001}) {
			out = append(out,
				kit.AtMost("steps for K = 16 at δ = 1e-6, post-hoc as published",
					"SSKG, section 4: “less than 100 iterations”", steps[2], 99, "an integer below 100", anyBudget),
				kit.AtLeast("steps for K = 16 at δ = 1e-6, specific", "SSKG, section 4: “over 1000 iterations”",
					steps[0], 1001, "an integer above 1000", anyBudget),
				kit.AtLeast("steps for K = 16 at δ = 1e-6, post-hoc corrected",
					"the recomputed baseline allows over 1000 iterations too", steps[1], 1001,
					"an integer above 1000", anyBudget))
		}
		if len(p.find(v, direct, 16)) > 0 {
			x, y := smooth(p.line(v, direct, 16))
			out = append(out, kit.Near(fmt.Sprintf("%v: log δ drawn at the steps that δ = 1e-6 allows, K = 16",
				p.setting),
				"the steps allowed are found without the lines", interpolated(x, y, steps[0]), math.Log(stepsBudget),
				kit.Smoke(v.Preset, 3.5, .5),
				"a cubic through points that are a decade or less apart; half of the steps is 1.1 to 10 away",
				fewerSteps))
		}
		out = append(out, kit.AtMostWithin(fmt.Sprintf("%v: steps allowed, post-hoc corrected over specific",
			p.setting),
			"the specific bound is tight", steps[1]/steps[0], 1, 1e-3, "the width of the enclosures",
			cheapCorrection))
		want := recomputed[p.setting]
		for i, n := range want.steps {
			if n > 0 {
				out = append(out, kit.Near(fmt.Sprintf("%v: steps allowed, %s", p.setting, routes[i]),
					"recomputed from the authors' settings with Google's dp_accounting", steps[i], float64(n),
					want.room[i]*float64(n), want.why, anyBudget))
			}
		}
	}
	return out, nil
}

// laws compares the curves.
func (f stepsFigure) laws(v composedView) []lab.Claim {
	above, defect, width, more := math.Inf(-1), 0.0, 0.0, math.Inf(1)
	for _, p := range stepsPanels(v) {
		var smaller []float64 // of the next smaller group
		for _, k := range p.groups(v) {
			_, specific := p.line(v, direct, k)
			_, post := p.line(v, corrected, k)
			_, published := p.line(v, asPublished, k)
			for i := range specific { // comparisons with NaN are false
				if d := specific[i] - post[i]; d > above {
					above = d
				}
				if d := published[i] - post[i]; d > defect {
					defect = d
				}
			}
			for i := range smaller {
				if d := specific[i] - smaller[i]; smaller[i] < math.Log(.1) && d < more {
					more = d
				}
			}
			smaller = specific
			got := p.find(v, direct, k)[0]
			for i, u := range got.Value.Upper {
				if u > 1e-12 {
					width = max(width, math.Abs(math.Log(u/got.Value.Lower[i])))
				}
			}
		}
	}
	return []lab.Claim{
		kit.Law(kit.AtMostWithin("log of specific over corrected post-hoc δ, the largest",
			"the specific bound is tight", above, 0, 0.1, "the upper ends of enclosures at most 10% wide",
			trivialBound)),
		kit.AtLeast("published over corrected post-hoc δ, the largest in decades, at least",
			"group privacy paid for twice", defect/math.Ln10, 1, "a decade can be seen", nothingDrawn),
		kit.AtLeastUnless(kit.Smoke(v.Preset, "three numbers of steps", ""),
			"δ of a group over that of the next smaller one, the least where that is below 0.1",
			"a batch that holds several moves farther", math.Exp(more), 1.5,
			"twice as many records at least, of which batches hold twice as many", nothingDrawn),
		kit.AtMost("width of the enclosures behind specific lines, the largest log ratio",
			"“exact as drawn”", width, 0.12, "a line of 1.2 points is a tenth of a decade wide, 0.23",
			trivialBound),
	}
}

// composedCell is a finished cell.
type composedCell = lab.Result[ComposedParams, ComposedOut]
