package dpsinkhorn

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"coupling/dp/synth/dpsinkhorn"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/plot"
)

// Tab2 is Table 2: what the parts of the recipe are worth, at an ε that holds.
func Tab2() lab.Study[Params, Out] {
	s := ablationStudy("dpsinkhorn/tab2", "Table 2: the parts of the recipe, at an ε that holds",
		"MNIST, without each part of DP-Sinkhorn", 10, 6, 5)
	s.Grid = partsGrid
	s.Draw = func(v view) (lab.Exhibit, error) { return drawAblation(v, partsRow, "cost, debiasing") }
	s.Claims = claimParts
	s.Seconds = kit.ByPreset(2., 55, 1900)
	return s
}

// Tab4 is Table 4: the hyperparameters on MNIST, at an ε that holds.
func Tab4() lab.Study[Params, Out] { return searchStudy(false) }

// Tab5 is Table 5: the hyperparameters on Fashion-MNIST, at an ε that holds.
func Tab5() lab.Study[Params, Out] { return searchStudy(true) }

// ablationStudy is what the three tables have in common: rows at quick and smoke, and trainings of a row.
func ablationStudy(name, title, what string, quick, smoke, times int) lab.Study[Params, Out] {
	return lab.Study[Params, Out]{
		Name:  name,
		Title: title,
		Shows: "Accuracy on real test images of classifiers trained on synthetic ones, and the Fréchet distance of " +
			"these: " + what + ". A row takes as many steps as the paper's accounting lets its σ take, or the same " +
			"share of fewer, and the whole-batch clip has the least noise that is sound at ε = 10 for them. The " +
			"paper's own numbers are at an ε that is " + dpsinkhorn.NotJustified + ".",
		Sizes: kit.ByPreset(fmt.Sprintf("1000 images, 3 steps, %d rows", smoke),
			fmt.Sprintf("60,000 images, %s, %d rows, one training each", smallSizes(lab.Quick), quick),
			fmt.Sprintf("60,000 images, %s, 1000 synthetic images, %d trainings a row", smallSizes(lab.Full), times),
			fmt.Sprintf("60,000 images, the steps of the paper's accounting of 50 images, width 64, 60,000 "+
				"synthetic images, %d trainings a row", times)),
		Experiment: imagesOf,
		Seeds:      lab.Replicates(1, 1, times, times),
	}
}

// searchStudy is a table of hyperparameters.
func searchStudy(fashion bool) lab.Study[Params, Out] {
	s := ablationStudy("dpsinkhorn/tab4", "Table 4: hyperparameters on MNIST, at an ε that holds",
		"MNIST, over the noise, the clip and p", 5, 3, 3)
	s.Seconds = kit.ByPreset(1., 18, 1300)
	if fashion {
		s = ablationStudy("dpsinkhorn/tab5", "Table 5: hyperparameters on Fashion-MNIST, at an ε that holds",
			"Fashion-MNIST, over the noise, the clip, p and m", 5, 3, 3)
		s.Seconds = kit.ByPreset(1., 18, 1350)
	}
	costs := lab.Part[AccountingParams, AccountingOut]{Experiment: accountingOf, Grid: publishedCosts}
	s.Also = []lab.Cells{costs}
	s.Grid = func(set lab.Setting) []Params { return searchGrid(set, fashion) }
	s.Draw = func(v view) (lab.Exhibit, error) {
		out := lab.Must(drawAblation(v, searchRowOf, "σ, Δ, p and m of the paper's row, from above"))
		out.Tables = append(out.Tables, costTable(costs.View(v.Source).Cells))
		return out, nil
	}
	s.Claims = func(v view) ([]lab.Claim, error) { return claimSearch(v, costs) }
	return s
}

// partsGrid is Table 2, the best row with rows clipped as printed, the rows with and without debiasing without noise,
// and real images.
func partsGrid(set lab.Setting) (out []Params) {
	add := func(c Params, change func(*Recipe)) {
		if change(&c.Method.Recipe); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	for _, r := range ablationRows[kit.Smoke(set.Preset, 4, 0):] {
		add(recipeParams(set, false, 10), r.change)
	}
	add(recipeParams(set, false, 10), func(r *Recipe) { *r = printedRecipe(set, false) })
	beside := references(set, false)
	for _, share := range []float64{.4, 0} {
		add(beside[0], func(r *Recipe) { r.P = share })
	}
	return append(out, beside[1])
}

// searchGrid is Table 4 or 5, with steps in proportion to those of a row's σ, and its references. At quick, rows that
// differ in Δ alone
// stand once.
func searchGrid(set lab.Setting, fashion bool) (out []Params) {
	rows := searchRows[fashion]
	if set.Preset == lab.Quick || set.Preset == lab.Smoke {
		few := []int{0, 7, 8}
		rows = nil
		for _, i := range few[kit.Smoke(set.Preset, len(few)-1, 0):] {
			rows = append(rows, searchRows[fashion][i])
		}
	}
	for _, r := range rows {
		c := recipeParams(set, fashion, 10)
		c.Method.Recipe.P, c.Method.Recipe.L1, c.Method.Recipe.Clip = r.p, r.l1, r.clip
		c.Method.Recipe.Steps = stepsAt(recipeFor(set, false, 10).Steps, r.sigma)
		out = append(out, c)
	}
	return append(out, references(set, fashion)...)
}

// stepsAt is the share of the steps at σ = 1.5 that the paper's accounting lets another σ take.
func stepsAt(steps int, sigma float64) int {
	return int(math.Round(float64(steps) * float64(publishedSteps[sigma]) / float64(publishedSteps[1.5])))
}

// publishedCosts are cells of the accounting figure's experiment for the noise scales of Tables 4 and 5.
func publishedCosts(set lab.Setting) (out []AccountingParams) {
	for _, sigma := range kit.Smoke(set.Preset, []float64{1.5}, []float64{1.1, 1.3, 1.5, 1.9}) {
		out = append(out, AccountingParams{Multiplier: sigma, Steps: publishedSteps[sigma],
			Exact: set.Preset == lab.Paper})
	}
	return out
}

// swapped is the null in which rows are accounted jointly where the paper counts them alone, and
// alone where they are joint.
var swapped = kit.Null("rows alone and joint rows swapped", accountingOf,
	func(_ AccountingParams, v *AccountingOut) { v.Published, v.Joint = v.Joint, v.Published })

// A printedRow names a cell's row of a table, with the paper's FID and accuracies, 0 where it gives none.
type printedRow struct {
	name string
	fid  float64
	acc  [3]float64
}

// partsRow is the row of Table 2, or of Table 1 without noise. What was not asked to meet an ε is in neither.
func partsRow(_ view, m Method) (out printedRow) {
	r := m.Recipe
	switch {
	case m.isReal(), m.free() && r.P == .4:
		p := publishedOf(false, m.published())
		out = printedRow{m.kind(), p.fid, p.acc}
		out.acc[0] = 0 // Table 2 has none
		if m.free() {
			out.name = "free, semi"
		}
		return out
	case m.free():
		return printedRow{name: "free, none"}
	case r.Rows > 0:
		return printedRow{name: fmt.Sprintf("rows, σ = %g", r.Rows)}
	}
	for _, row := range ablationRows {
		c := r
		if row.change(&c); c != r {
			continue
		}
		if out = (printedRow{row.loss + ", " + row.debiasing, row.fid, row.acc}); r.Parameters {
			out.name = "parameters"
		}
		break
	}
	return out
}

// searchRowOf is the row of Table 4 or 5 whose σ is allowed the steps of the cell.
func searchRowOf(v view, m Method) printedRow {
	r, fashion := m.Recipe, v.Cells[0].Params.Fashion
	if m.isReal() || m.free() {
		p := publishedOf(fashion, m.published())
		return printedRow{m.kind(), p.fid, p.acc}
	}
	for _, row := range searchRows[fashion] {
		if row.clip == r.Clip && row.p == r.P && row.l1 == r.L1 &&
			r.Steps == stepsAt(recipeFor(v.Setting, false, 10).Steps, row.sigma) {
			return printedRow{fmt.Sprintf("%g · %g · %g · %g", row.sigma, r.Clip, r.P, r.L1), row.fid, row.acc}
		}
	}
	return printedRow{name: fmt.Sprintf("%d steps · %g · %g · %g", r.Steps, r.Clip, r.P, r.L1)}
}

// A rowOf finds the row of a cell.
type rowOf func(view, Method) printedRow

func drawAblation(v view, of rowOf, rows string) (out lab.Exhibit, err error) {
	runs := repeats(v.Cells)
	printed := kit.Each(runs, func(run []cell) printedRow { return of(v, run[0].Params.Method) })
	out.Tables = []lab.Table{ablationTable(runs, printed)}
	x := style.Axis{Label: rows,
		Names: kit.Each(printed, func(p printedRow) string { return strings.ReplaceAll(p.name, " · ", "\n") })}
	out.Pictures = kit.Wide(accuracyPoints(x, runs, printed), recipeBadge(v),
		fmt.Sprintf(
			"Accuracy on real test images: means of %d trainings with their standard errors; beside them, in squares, "+
				"the paper's, at its own ε.", len(runs[0]))+nearChance(v.Cells))
	out.Notes = []string{signalNote, distanceNote,
		"δ is 1e-5. What ran is the whole-batch clip with the least noise whose ε is at most 10; the paper clips " +
			"rows and composes them as if each had a batch of its own. Its printed accuracies are at that ε, which " +
			"is " + dpsinkhorn.NotJustified + ".",
		"Δ does not matter much to Adam: the gradient of a batch is many times as long as any Δ of the tables, so " +
			"that Δ scales signal and noise alike, and what two rows of equal σ, p and m differ by is mostly the " +
			"chance of trainings."}
	if size := smallSizes(v.Preset); size != "" {
		out.Notes = append(out.Notes, chosenNote,
			"What ran here is "+size+" and enlarged afterwards, which is ours; classes come in turn and the "+
				"learning rate falls to 0. “Rows” is algorithm 1 as printed, each row clipped and noised alone; its "+
				"ε in the table is the one that holds. “Free” is without noise.")
	}
	return out, nil
}

// costTable says what the paper's rows cost.
func costTable(known []accountingCell) lab.Table {
	return kit.Table("epsilon",
		"What the rows of the paper cost at δ = 1e-5: 50 rows of a step, Poisson batches of 50 of 60,000",
		"σ | steps | ε as published ("+dpsinkhorn.NotJustified+") | ε of its joint release | ε of the "+
			"whole-batch clip at that σ | both are",
		kit.Each(known, accountingRow)...)
}

// besides prints an accuracy and, where the paper gives one, its.
func besides(accuracy string, published float64) string {
	if published > 0 {
		accuracy += fmt.Sprintf(" (%g)", published)
	}
	return accuracy
}

func ablationTable(runs [][]cell, rows []printedRow) lab.Table {
	out := kit.Table("rows", "Accuracy in percent; in brackets the paper's, with its FID, at an ε that is "+
		dpsinkhorn.NotJustified+". A dash is not measured at this size.",
		"row | steps | σ that ran | ε of what ran | signal over noise | logistic | MLP | CNN | "+
			runs[0][0].Params.Judge.distance()+" | the paper's FID")
	for i, run := range runs {
		c, r := run[0], run[0].Params.Method.Recipe
		row := []string{rows[i].name, "–", "–", c.Value.privacy(), "–"}
		if r.Steps > 0 {
			row[1], row[2], row[4] = fmt.Sprint(r.Steps), fmt.Sprintf("%.3f", c.Value.Multiplier),
				r.signal(c.Value.Multiplier)
		}
		mean, off := meanDeviation(run)
		accuracies, deviations := mean.accuracies(), off.accuracies()
		for k := range accuracies {
			row = append(row, besides(plusMinus(accuracies[k], deviations[k]), rows[i].acc[k]))
		}
		out.Rows = append(out.Rows, append(row, printed("%.1f", mean.FD), given(rows[i].fid)))
	}
	return out
}

// A triple is a number for each of classifiers.
type triple = [3]float64

var classifiers = [3]string{"logistic regression", "MLP", "CNN"}

// whisker is the standard error of a score, as a bar at x; nothing where it is NaN.
func whisker(series int, x float64, s score) style.Line {
	return style.Line{Series: series, Solid: true, X: []float64{x, x}, Y: []float64{s.mean - s.err, s.mean + s.err}}
}

// percentOf is a score in percent.
func percentOf(s score) score { return score{100 * s.mean, 100 * s.err} }

// accuracyPoints draws the accuracies of a table's rows with their errors, and the paper's beside them. What was not
// measured has no point.
func accuracyPoints(x style.Axis, runs [][]cell, rows []printedRow) style.Plot {
	items := []plot.Plotter{style.Rule{At: 10, Label: "chance"}}
	var theirs style.Points
	for k, name := range classifiers {
		ours := style.Points{Name: name, Series: k, Radius: 2.4}
		for i, run := range runs {
			x, s := float64(i)+.22*float64(k-1), percentOf(scoreOf(run, accuracy(k)))
			ours.X, ours.Y, items = append(ours.X, x), append(ours.Y, s.mean), append(items, whisker(k, x, s))
			if a := rows[i].acc[k]; a > 0 {
				theirs.X, theirs.Y = append(theirs.X, x+.08), append(theirs.Y, a)
			}
		}
		if !math.IsNaN(ours.Y[0]) {
			items = append(items, ours)
		}
	}
	if len(theirs.X) > 0 {
		theirs.Name, theirs.Series, theirs.Color = "the paper's, at an ε that does not hold", 3, color.Gray{Y: 90}
		items = append(items, theirs)
	}
	return style.Plot{X: x, Y: style.Axis{Label: "accuracy", Unit: "%", Max: 100}, Items: items, Aspect: .4}
}

// claimsPrinted are that all classifiers are as good as the paper's, and that the distance is no larger.
func claimsPrinted(v view, row printedRow, of Judge, j Judgement) (out []lab.Claim) {
	const source = "the paper's row, at an ε that does not hold"
	for k, a := range row.acc {
		if a > 0 {
			out = append(out, lab.Claim{
				What: row.name + ": " + classifiers[k], Source: source, Got: j.accuracies()[k], Relation: lab.AtLeast,
				Want: a / 100, AbsTol: .03,
				Why: deltaWhy, SkipReason: tooShort(v.Preset), Null: guessing,
			})
		}
	}
	for _, fid := range claimFID(v.Preset, of, row.name, source, j.FD, row.fid, guessing) {
		fid.Relation = lab.AtMost
		out = append(out, fid)
	}
	return out
}

// deltaWhy is the reason of a tolerance of 3 points.
const deltaWhy = "rows of Table 4 that differ in Δ alone differ by up to 3 points"

// claimParts asks what the method is worth, whether debiasing helps, and at the paper's size for the paper's margins
// between its rows.
func claimParts(v view) ([]lab.Claim, error) {
	out := append([]lab.Claim{soundness(v.Cells)}, claimMethod(v)...)
	runs := repeats(v.Cells)
	private, free := withShare(runs, false, 10), withShare(runs, false, 0)
	out = append(out, claimDebiasing(v, private, true)...)
	out = append(out, claimDebiasing(v, free, true)...)
	out = append(out, claimGoals(v, private[.4], free[.4])...)
	out = append(out, claimFreshImages(v, free)...)
	best := partsRow(v, private[.4][0].Params.Method)
	of, _ := meanDeviation(private[.4])
	out = append(out, claimsPrinted(v, best, v.Cells[0].Params.Judge, of)...)
	for _, run := range runs {
		m := run[0].Params.Method
		row := partsRow(v, m)
		if !m.private() || row.fid == 0 || row == best {
			continue
		}
		j, _ := meanDeviation(run)
		if gap := (best.acc[2] - row.acc[2]) / 100; gap > .06 {
			out = append(out, lab.Claim{
				What:     row.name + ": what a CNN loses on the best row",
				Source:   "Table 2",
				Got:      of.CNN - j.CNN,
				Relation: lab.AtLeast,
				Want:     gap,
				AbsTol:   .06,
				Why: "two trainings, each within the 3 points by which rows of Table 4 that differ in Δ " +
					"alone differ",
				SkipReason: tooShort(v.Preset),
				Null:       alike,
			})
		}
	}
	return out, nil
}

// withShare are the trainings at each share of fresh images that differ from the recipe in nothing else, at an ε or
// (0) without noise.
func withShare(runs [][]cell, fashion bool, eps float64) map[float64][]cell {
	out := map[float64][]cell{}
	for _, run := range runs {
		p := run[0].Params
		m := p.Method
		if plain := !m.Recipe.Parameters && !m.Recipe.NoSquare && m.Recipe.L1 > 0; p.Fashion == fashion && plain &&
			m.Recipe.Epsilon == eps && (m.private() || m.free()) {
			out[m.Recipe.P] = run
		}
	}
	return out
}

// claimDebiasing is that the paper's share of fresh images is worth more than none: in logistic
// regression without noise, and in the distance to real images. With noise, five trainings told the
// two apart by their distance alone, at 7 × 7 pixels; what they teach differed by 2 points, some 2
// standard errors.
func claimDebiasing(v view, shares map[float64][]cell, far bool) []lab.Claim {
	with, without := shares[.4], shares[0]
	if with == nil || without == nil {
		return nil
	}
	c := with[0]
	what, got := classifiers[0]+" at p = 0.4, less that at p = 0",
		scoreOf(with, accuracy(0)).above(scoreOf(without, accuracy(0)))
	if far {
		distance := func(j Judgement) float64 { return j.FD }
		what = c.Params.Judge.distance() + " at p = 0, less that at p = 0.4"
		got = spreadOf(without, distance).above(spreadOf(with, distance))
	}
	few := unasked(v, c.Params)
	if len(with) == 1 {
		few = "one training each, of few steps"
	}
	return []lab.Claim{kit.AtLeastUnless(lab.Pick(v.Preset, "3 steps", few, few, ""),
		setLabel(c)+", "+epsilonLabel(c.Params)+": "+what+", in standard errors",
		"Table 2, L1 + L2: FID 89.1 and 48.4", got, 3, errorsWhy, alike)}
}

// claimFreshImages is what debiasing is worth without noise, where one training a row tells: other seeds spread by a
// point at quick, where the rows differ by 6 to 8, and by a third of one at full, where they differ by 3.
func claimFreshImages(v view, shares map[float64][]cell) []lab.Claim {
	with, without := shares[.4], shares[0]
	if with == nil || without == nil {
		return nil
	}
	return []lab.Claim{kit.AtLeastUnless(unasked(v, with[0].Params),
		setLabel(with[0])+", without noise: "+classifiers[0]+" at p = 0.4, less that at p = 0",
		"Table 2, L1 + L2: debiasing helps",
		scoreOf(with, accuracy(0)).mean-scoreOf(without, accuracy(0)).mean, .015,
		"a point and a half: more than trainings of other seeds without noise spread by", alike)}
}

// claimGoals is what the recipe is worth on two cores: the paper has 89 % without privacy and 82.8 % at an ε of 10
// that does not hold.
func claimGoals(v view, private, free []cell) (out []lab.Claim) {
	for _, g := range []struct {
		run  []cell
		want float64
	}{{private, .75}, {free, .85}} {
		c := g.run[0]
		out = append(out, kit.AtLeastUnless(lab.Pick(v.Preset, "3 steps", "few steps", unasked(v, c.Params), ""),
			setLabel(c)+", "+epsilonLabel(c.Params)+": logistic regression at p = 0.4",
			"what two cores should reach", scoreOf(g.run, accuracy(0)).mean, g.want, "a goal", guessing))
	}
	return out
}

// claimSearch compares rows of Table 4 or 5 with what the paper prints, and what it claims of their
// privacy with what holds.
func claimSearch(v view, costs lab.Part[AccountingParams, AccountingOut]) ([]lab.Claim, error) {
	out := append([]lab.Claim{soundness(v.Cells)}, claimMethod(v)...)
	for _, c := range means(v.Cells) {
		if c.Params.Method.private() {
			out = append(out, claimsPrinted(v, searchRowOf(v, c.Params.Method), c.Params.Judge, c.Value.Judged)...)
		}
	}
	for _, c := range costs.View(v.Source).Cells {
		at := fmt.Sprintf(" at σ = %g, %d steps", c.Params.Multiplier, c.Params.Steps)
		out = append(out,
			kit.Near("ε as published"+at+": "+dpsinkhorn.NotJustified, "Table 4: ε = 10", c.Value.Published, 10,
				1, "a sharper conversion from Rényi divergences than the paper's, 8 % less", swapped),
			kit.AtLeast("joint ε of the same release ("+c.Value.Kind+")"+at, "sensitivity 2Δ√n",
				c.Value.Joint, 100, "ten times the claim", swapped))
	}
	return out, nil
}

// publishedSteps is how many steps of 50 rows the paper's own accounting lets a noise scale take to
// ε = 10 at δ = 1e-5: each row as if it had a Poisson sample of its own, by Rényi divergences and
// the classical conversion. It is not justified, and stands here because the steps of the paper's
// experiments follow from it. A test computes the numbers.
var publishedSteps = map[float64]int{1.1: 69_301, 1.3: 110_482, 1.5: 159_420, 1.9: 279_641}

// ablationRow is a row of the paper's Table 2: what differs from the best model of MNIST, and percent of accuracy.
type ablationRow struct {
	gradient, loss, debiasing string
	fid                       float64
	acc                       [3]float64 // logistic regression, MLP, CNN; 0: not given
	change                    func(*Recipe)
}

// ablationRows are Table 2, in its order.
var ablationRows = []ablationRow{
	{"parameters", "L2", "none", 218.6, triple{0, 79.9, 80.7},
		func(r *Recipe) { r.Parameters, r.L1, r.P = true, 0, 0 }},
	{"images", "L2", "none", 124.3, triple{0, 82.0, 80.8}, func(r *Recipe) { r.L1, r.P = 0, 0 }},
	{"images", "L1", "none", 73.9, triple{0, 68.4, 65.7}, func(r *Recipe) { r.NoSquare, r.P = true, 0 }},
	{"images", "L1 + L2", "none", 89.1, triple{0, 80.8, 77.6}, func(r *Recipe) { r.P = 0 }},
	{"images", "L1 + L2", "full", 86.0, triple{0, 68.7, 66.7}, func(r *Recipe) { r.P = 1 }},
	{"images", "L1 + L2", "semi", 48.4, triple{0, 82.7, 83.2}, func(*Recipe) {}},
}

// searchRow is a row of the paper's Tables 4 and 5: noise scale, clip, p, m, FID and percent of accuracy.
type searchRow struct {
	sigma, clip, p, l1, fid float64
	acc                     [3]float64
}

var searchRows = map[bool][]searchRow{
	false: {
		{1.1, 1.0, .2, 1, 75, triple{81.2, 82.6, 79.5}},
		{1.3, 1.0, .2, 1, 80, triple{81.9, 82.4, 80.1}},
		{1.3, 0.3, .2, 1, 68.8, triple{79.8, 81.2, 76.9}},
		{1.3, 0.7, .2, 1, 72.0, triple{79.6, 81.1, 77.0}},
		{1.5, 0.5, .2, 1, 74.5, triple{82.3, 82.6, 82.1}},
		{1.5, 0.7, .2, 1, 69.2, triple{80.5, 82.2, 80.8}},
		{1.9, 0.5, .2, 1, 76.4, triple{80.2, 80.5, 79.2}},
		{1.9, 0.7, .2, 1, 70.3, triple{82.2, 83.4, 80.5}},
		{1.5, 0.5, .4, 1, 48.4, triple{82.8, 82.7, 83.2}},
	},
	true: {
		{1.1, 1.0, .2, 1, 140.0, triple{74.0, 74.0, 68.0}},
		{1.3, 0.3, .2, 1, 156.6, triple{74.1, 74.5, 65.8}},
		{1.3, 0.7, .2, 1, 157.9, triple{74.0, 74.2, 65.8}},
		{1.5, 0.5, .2, 1, 163.4, triple{73.7, 74.4, 67.5}},
		{1.5, 0.7, .2, 1, 161.5, triple{73.9, 74.2, 69.3}},
		{1.9, 0.5, .2, 1, 153.8, triple{73.5, 73.9, 69.4}},
		{1.9, 0.7, .2, 1, 154.7, triple{73.9, 73.9, 68.4}},
		{1.9, 0.5, .4, 1, 133.0, triple{73.2, 73.2, 69.6}},
		{1.9, 0.5, .4, 3, 128.3, triple{75.1, 74.6, 71.1}},
	},
}
