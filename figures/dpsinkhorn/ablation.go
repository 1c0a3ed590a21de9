package dpsinkhorn

import (
	"fmt"
	"math"
	"slices"

	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/plot"
)

// Ablation is Tables 2, 4 and 5: what the parts of the recipe are worth, at an ε that holds.
func Ablation() lab.Figure {
	return lab.Figure{
		Name:  "dpsinkhorn/ablation",
		Title: "Tables 2, 4 and 5: the parts of the recipe and its hyperparameters, at an ε that holds",
		Shows: "Accuracy on real test images of classifiers trained on synthetic ones: without each part of DP-Sinkhorn, and over its noise, clip, p and m. A row takes as many steps as the paper's accounting lets its σ take, or the same " +
			"share of fewer, and the whole-batch clip has the least noise that is sound at ε = 10 for them. Beside it stand the ε that the paper claims for the row, which is " + dpsinkhorn.NotJustified + ", and the one that its joint release has.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "MNIST, 1000 digits, 3 steps, 3 rows",
			lab.Quick: "60,000 images, 600 steps at σ = 1.5 of 10 images, width 4, 49 frequencies released, 1000 synthetic images",
			lab.Paper: "60,000 images, the steps of the paper's accounting of 50 images, width 64, 60,000 synthetic images",
		},
		Decoders: []lab.Decoder{recipeOf.Decoder(), accountingOf.Decoder()},
		Jobs:     ablationJobs,
		Draw:     drawAblation,
		Claims:   claimAblation,
	}
}

// ablationTable is rows of the paper with the cells that answer them.
type ablationTable struct {
	name, caption string
	fashion       bool
	labels        []string // of a row, short
	fid           []float64
	acc           [][3]float64
	cells         []RecipeParams
}

func ablationTables(set lab.Setting) ([]ablationTable, error) {
	base := baseRecipe(set)
	second := ablationTable{name: "table-2", caption: "Table 2, MNIST: parts of the recipe"}
	for _, r := range ablationRows {
		c := base
		r.change(&c.Recipe)
		if slices.ContainsFunc(second.cells, func(o RecipeParams) bool { return o == c }) {
			continue // ours at one preset is the base at the other
		}
		second.add(fmt.Sprintf("%s, %s, %s", r.gradient, r.loss, r.debiasing), r.fid, r.acc, c)
	}
	out := []ablationTable{second}
	for _, fashion := range []bool{false, true} {
		t := ablationTable{name: "table-4", caption: "Table 4, MNIST: hyperparameters", fashion: fashion}
		if fashion {
			t.name, t.caption = "table-5", "Table 5, Fashion-MNIST: hyperparameters"
		}
		for _, r := range searchRows[fashion] {
			c, err := r.cell(base, fashion, set.Preset)
			if err != nil {
				return nil, err
			}
			t.add(fmt.Sprintf("σ %g, Δ %g, p %g, m %g", r.sigma, r.clip, r.p, r.l1), r.fid, r.acc, c)
		}
		out = append(out, t)
	}
	if set.Preset == lab.Smoke {
		out = out[:1]
		out[0].labels, out[0].cells = out[0].labels[4:], out[0].cells[4:]
		out[0].fid, out[0].acc = out[0].fid[4:], out[0].acc[4:]
	}
	return out, nil
}

func (t *ablationTable) add(label string, fid float64, acc [3]float64, c RecipeParams) {
	t.labels, t.fid, t.acc, t.cells = append(t.labels, label), append(t.fid, fid), append(t.acc, acc), append(t.cells, c)
}

// cell is a row at the base's sizes, with steps in proportion to those of its σ.
func (r searchRow) cell(c RecipeParams, fashion bool, p lab.Preset) (RecipeParams, error) {
	steps, err := publishedSteps(r.sigma)
	if err != nil {
		return c, err
	}
	of, err := publishedSteps(1.5)
	if err != nil {
		return c, err
	}
	c.Fashion, c.Recipe.P, c.Recipe.L1, c.Recipe.Clip = fashion, r.p, r.l1, r.clip
	c.Recipe.Steps = int(math.Round(float64(c.Recipe.Steps) * float64(steps) / float64(of)))
	if fashion && p == lab.Paper {
		c.Recipe.Rate = 1e-5
	}
	return c, nil
}

// publishedCosts are cells of the accounting figure's experiment for the noise scales of Tables 4 and 5.
func publishedCosts(set lab.Setting) (out []AccountingParams, err error) {
	for _, sigma := range pick(set.Preset, []float64{1.5}, []float64{1.1, 1.3, 1.5, 1.9}, []float64{1.1, 1.3, 1.5, 1.9}) {
		steps, err := publishedSteps(sigma)
		if err != nil {
			return nil, err
		}
		out = append(out, AccountingParams{Multiplier: sigma, Steps: steps, Exact: set.Preset == lab.Paper})
	}
	return out, nil
}

func ablationJobs(set lab.Setting) ([]lab.Job, error) {
	tables, err := ablationTables(set)
	if err != nil {
		return nil, err
	}
	costs, err := publishedCosts(set)
	if err != nil {
		return nil, err
	}
	var cells []RecipeParams
	for _, t := range tables {
		for _, c := range t.cells {
			if !slices.Contains(cells, c) {
				cells = append(cells, c)
			}
		}
	}
	return append(accountingOf.Jobs(set.Seed, costs...), recipeOf.Jobs(set.Seed, cells...)...), nil
}

func drawAblation(s *lab.Store, set lab.Setting) (out lab.Exhibit, err error) {
	tables, err := ablationTables(set)
	if err != nil {
		return out, err
	}
	chance := 0.
	for _, t := range tables {
		cells, err := lab.RecallAll(s, recipeOf, set.Seed, t.cells)
		if err != nil {
			return out, err
		}
		chance = max(chance, spread(cells))
		out.Tables = append(out.Tables, t.table(cells))
		out.Pictures = append(out.Pictures, lab.Picture{Name: t.name, Caption: t.caption + ". Accuracy on real test images; diamonds are the paper's, at its own ε.", Drawing: style.Figure{Body: t.bars(cells), Width: style.TwoColumns,
			Badge: badge(set, fmt.Sprintf("%d steps of %d images", t.cells[len(t.cells)-1].Recipe.Steps, t.cells[0].Recipe.Images), sample.Note(t.cells[0].Data, "mnist"))}})
	}
	costs, err := publishedCosts(set)
	if err != nil {
		return out, err
	}
	known, err := lab.RecallAll(s, accountingOf, set.Seed, costs)
	if err != nil {
		return out, err
	}
	out.Tables = append(out.Tables, costTable(known))
	out.Notes = append(out.Notes, signalNote,
		"δ is 1e-5. What ran is the whole-batch clip with the least noise whose ε is at most 10; the paper clips rows and composes them as if each had a batch of its own. Its printed accuracies are at that ε, which is "+dpsinkhorn.NotJustified+".",
		"Δ does not matter much to Adam: the gradient of a batch is many times as long as any Δ of the tables, so that Δ scales signal and noise alike, and what two rows of equal σ, p and m differ by is mostly the chance of one training.",
		"FD is the Fréchet distance in features of a LeNet trained here, never FID: comparable within a table only.")
	if chance > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("Rows that differ in Δ alone are up to %.1f points apart in logistic regression: each is one training, and a difference that is not larger, between any two rows, says nothing.", 100*chance))
	}
	if set.Preset == lab.Quick {
		out.Notes = append(out.Notes, "At this size the gradient is released in 49 low frequencies, which is ours, and the learning rate falls to 0: with every pixel released the same steps give what the row “every pixel” says.")
	}
	return out, nil
}

// spread is the largest difference in logistic regression between cells that differ in Δ alone.
func spread(cells []lab.Result[RecipeParams, RecipeOut]) (most float64) {
	for i, a := range cells {
		for _, b := range cells[:i] {
			p, q := a.Params, b.Params
			p.Recipe.Clip, q.Recipe.Clip = 0, 0
			if p == q {
				most = max(most, math.Abs(a.Value.Judged.Logistic-b.Value.Judged.Logistic))
			}
		}
	}
	return most
}

// costTable says what the paper's rows cost.
func costTable(known []lab.Result[AccountingParams, AccountingOut]) lab.Table {
	t := lab.Table{Name: "epsilon", Caption: "What the rows of the paper cost at δ = 1e-5: 50 rows of a step, Poisson batches of 50 of 60,000",
		Header: []string{"σ", "steps", "ε as published (" + dpsinkhorn.NotJustified + ")", "ε of its joint release", "ε of the whole-batch clip at that σ", "both are"}}
	for _, c := range known {
		t.Rows = append(t.Rows, []string{fmt.Sprint(c.Params.Multiplier), fmt.Sprint(c.Params.Steps), dp.FormatUp(c.Value.Published, 4), dp.FormatUp(c.Value.Joint, 4), dp.FormatUp(c.Value.Whole, 4), c.Value.Kind})
	}
	return t
}

func (t ablationTable) table(cells []lab.Result[RecipeParams, RecipeOut]) lab.Table {
	out := lab.Table{Name: t.name, Caption: t.caption + ". Accuracy in percent; in brackets the paper's, with its FID, at an ε that is " + dpsinkhorn.NotJustified,
		Header: []string{"row", "steps", "σ that ran", "ε of what ran", "signal over noise", "logistic", "MLP", "CNN", "FD-LeNet", "the paper's FID"}}
	for i, c := range cells {
		j := c.Value.Judged
		row := []string{t.labels[i], fmt.Sprint(c.Params.Recipe.Steps), fmt.Sprintf("%.3f", c.Value.Multiplier), c.Value.guarantee(), c.Params.Recipe.signal(c.Value.Multiplier)}
		for k, a := range []float64{j.Logistic, j.MLP, j.CNN} {
			cell := percent(a)
			if t.acc[i][k] > 0 {
				cell += fmt.Sprintf(" (%g)", t.acc[i][k])
			}
			row = append(row, cell)
		}
		fid := ""
		if t.fid[i] > 0 {
			fid = fmt.Sprint(t.fid[i])
		}
		out.Rows = append(out.Rows, append(row, fmt.Sprintf("%.1f", j.FD), fid))
	}
	return out
}

// bars draws the accuracies of a table's rows, with the paper's as points.
func (t ablationTable) bars(cells []lab.Result[RecipeParams, RecipeOut]) style.Plot {
	var items []plot.Plotter
	for k, name := range []string{"logistic regression", "MLP", "CNN"} {
		b := style.Bars{Name: name, Series: k, At: k, Of: 3}
		for _, c := range cells {
			b.Y = append(b.Y, 100*[]float64{c.Value.Judged.Logistic, c.Value.Judged.MLP, c.Value.Judged.CNN}[k])
		}
		items = append(items, b)
	}
	points := style.Points{Name: "the paper's, at an ε that does not hold", Series: 3}
	for i, a := range t.acc {
		for k, v := range a {
			if v > 0 {
				points.X, points.Y = append(points.X, float64(i)+(float64(k)-1)*.8/3), append(points.Y, v)
			}
		}
	}
	if len(points.X) > 0 {
		items = append(items, points)
	}
	return style.Plot{X: style.Axis{Label: "row of the table", Names: t.short()}, Y: style.Axis{Label: "accuracy", Unit: "%"}, Items: items, Aspect: .4, Legend: style.Below}
}

// short numbers the rows: their settings stand in the table.
func (t ablationTable) short() (out []string) {
	for i := range t.labels {
		out = append(out, fmt.Sprintf("%d", i+1))
	}
	return out
}

func claimAblation(s *lab.Store, set lab.Setting) (out []lab.Claim, err error) {
	tables, err := ablationTables(set)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		cells, err := lab.RecallAll(s, recipeOf, set.Seed, t.cells)
		if err != nil {
			return nil, err
		}
		c := soundness(cells)
		c.What = t.name + ": " + c.What
		out = append(out, c)
		out = append(out, t.printed(cells, set.Preset)...)
	}
	costs, err := publishedCosts(set)
	if err != nil {
		return nil, err
	}
	known, err := lab.RecallAll(s, accountingOf, set.Seed, costs)
	if err != nil {
		return nil, err
	}
	for _, c := range known {
		if want := map[float64]float64{1.5: 160_000, 1.9: 280_000}[c.Params.Multiplier]; want > 0 {
			out = append(out, lab.Claim{What: fmt.Sprintf("steps of 50 rows to ε = 10 at σ = %g, as published: %s", c.Params.Multiplier, dpsinkhorn.NotJustified), Source: "appendix D.4, about", Got: float64(c.Params.Steps), Want: want, RelTol: .01, Why: "printed as about"})
		}
		out = append(out, lab.Claim{What: fmt.Sprintf("joint ε of the published release at σ = %g (%s)", c.Params.Multiplier, c.Value.Kind), Source: "sensitivity 2Δ√n", Got: c.Value.Joint, Relation: lab.AtLeast, Want: 100, Why: "ten times the claim"})
	}
	more, err := ablationLaws(s, set)
	return append(out, more...), err
}

// printed compares with the accuracies of the paper.
func (t ablationTable) printed(cells []lab.Result[RecipeParams, RecipeOut], p lab.Preset) (out []lab.Claim) {
	for i, c := range cells {
		j := c.Value.Judged
		for k, a := range []float64{j.Logistic, j.MLP, j.CNN} {
			if t.acc[i][k] > 0 {
				out = append(out, lab.Claim{What: fmt.Sprintf("%s, %s: %s", t.name, t.labels[i], []string{"logistic regression", "MLP", "CNN"}[k]), Source: "the paper's row, at an ε that does not hold", Got: a,
					Relation: lab.AtLeast, Want: t.acc[i][k] / 100, AbsTol: .03, Why: "rows of Table 4 that differ in Δ alone differ by up to 3 points", SkipReason: tooShort(p)})
			}
		}
	}
	return out
}

// ablationLaws are orders that hold at any size that learns.
func ablationLaws(s *lab.Store, set lab.Setting) ([]lab.Claim, error) {
	acc := map[string]float64{}
	for name, change := range map[string]func(*Recipe){
		"low": func(r *Recipe) { r.Low = 49 }, "pixels": func(r *Recipe) { r.Low = 0 },
		"full": func(r *Recipe) { r.P = 1 }, "semi": func(*Recipe) {},
	} {
		c := baseRecipe(set)
		change(&c.Recipe)
		got, err := lab.Recall(s, recipeOf, set.Seed, c)
		if err != nil {
			return nil, err
		}
		acc[name] = got.Value.Judged.Logistic
	}
	small := pick(set.Preset, "3 steps", "", "")
	return []lab.Claim{
		{What: "logistic regression with 49 frequencies released, less that with every pixel", Source: "ours: less noise for what images say", Got: acc["low"] - acc["pixels"], Relation: lab.AtLeast, Why: "a comparison", SkipReason: small},
		{What: "logistic regression, semi-debiased less fully debiased", Source: "Table 2: full debiasing is detrimental", Got: acc["semi"] - acc["full"], Relation: lab.AtLeast, Why: "a comparison",
			SkipReason: pick(set.Preset, "3 steps", "where noise rules, the variance of debiasing is not what matters", "")},
	}, nil
}
