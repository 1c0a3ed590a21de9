package dpsinkhorn

import (
	"fmt"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/plot"
)

// Fig5 is Figure 5: what the share of fresh images does to the generator.
func Fig5() lab.Study[Params, Out] {
	return lab.Study[Params, Out]{
		Name:  "dpsinkhorn/fig5",
		Title: "Figure 5: quality and utility against p",
		Shows: "Fréchet distance in features of a LeNet trained here, and error on real test images of a logistic regression trained on synthetic ones, over the share p of fresh images in the debiasing batch, on MNIST and Fashion-MNIST: at ε = 10 by the " +
			"whole-batch clip, and without noise, which is no privacy. The paper's best is p = 0.4.",
		Sizes:      kit.Sizes("%v images, %v, %v", kit.Per{1000, "60,000", "60,000", "60,000"}, recipeSteps, kit.Per{"p = 0.4 and 1, MNIST", "3 values of p, MNIST", "3 values of p", "6 values of p"}),
		Seconds:    map[lab.Preset]float64{lab.Smoke: 2, lab.Quick: 30, lab.Full: 120},
		Experiment: imagesOf,
		Grid:       mixtureGrid,
		Draw:       drawMixture,
		Claims:     claimMixture,
	}
}

// mixtureGrid has, for each data set, the private cells over p and then those without noise.
func mixtureGrid(set lab.Setting) []Params {
	p, base, three := set.Preset, baseRecipe(set), []float64{0, .4, 1}
	base.Judge.Quick = true
	return lab.Grid(base,
		lab.Vary(func(c *Params, fashion bool) {
			if c.about(fashion); fashion {
				c.Method.Recipe.L1 = 3
				if p == lab.Paper {
					c.Method.Recipe.Rate = 1e-5
				}
			}
		}, lab.Pick(p, []bool{false}, []bool{false}, []bool{false, true}, []bool{false, true})...),
		lab.Vary(func(c *Params, eps float64) { c.Method.Recipe.Epsilon = eps }, 10, 0),
		lab.Vary(func(c *Params, share float64) { c.Method.Recipe.P = share }, lab.Pick(p, []float64{.4, 1}, three, three, []float64{0, .2, .4, .6, .8, 1})...))
}

func drawMixture(v view) (lab.Exhibit, error) {
	distance := v.Cells[0].Params.Judge.distance()
	table := lab.Table{Name: "mixture", Caption: distance + ", and accuracy in percent on real test images", Header: []string{"data", "ε", "p", distance, "logistic regression", "recall", "coverage"}}
	var panels style.Panels
	for _, c := range v.Cells {
		r, j := c.Params.Method.Recipe, c.Value.Judged
		table.Rows = append(table.Rows, []string{setName(c.Params.Fashion), c.Value.privacy(), fmt.Sprint(r.P), fmt.Sprintf("%.1f", j.FD), percent(j.Logistic), fmt.Sprintf("%.2f", j.Recall), fmt.Sprintf("%.2f", j.Coverage)})
	}
	for _, y := range []struct {
		axis style.Axis
		of   func(Judgement) float64
	}{
		{style.Axis{Label: distance, Include: []float64{0}}, func(j Judgement) float64 { return j.FD }},
		{style.Axis{Label: "error", Unit: "%", Min: 0, Max: 100}, func(j Judgement) float64 { return 100 * (1 - j.Logistic) }},
	} {
		bySet(v, func(cells []cell, fashion bool) {
			var items []plot.Plotter
			for k, same := range kit.Runs(cells, func(c cell) float64 { return c.Params.Method.Recipe.Epsilon }) { // the private ones first
				l := style.Line{Name: privacyName(same[0].Params.Method.Recipe.Epsilon), Series: k, Marks: true}
				items = append(items, kit.Line(l, same, func(c cell) (float64, float64) { return c.Params.Method.Recipe.P, y.of(c.Value.Judged) }))
			}
			panels.Items = append(panels.Items, style.Plot{Title: setName(fashion), X: style.Axis{Label: "p"}, Y: y.axis, Items: items})
		})
	}
	panels.Columns = max(2, len(panels.Items)/2)
	return lab.Exhibit{
		Pictures: kit.Wide(panels, recipeBadge(v),
			"Distance to real images, and error of what was learnt from synthetic ones, over p."+nearChance(v.Cells)),
		Tables: []lab.Table{table},
		Notes:  []string{distanceNote, "δ is 1e-5, the whole batch is clipped. Lines without noise protect nobody. A point is one training of one generator: what two p differ by may be chance."},
	}, nil
}

func claimMixture(v view) ([]lab.Claim, error) {
	out := []lab.Claim{soundness(v.Cells)}
	digits, wrong := map[float64]Judgement{}, map[bool]float64{} // private ones by p; the least error without noise by data set
	for _, c := range v.Cells {
		r, j := c.Params.Method.Recipe, c.Value.Judged
		switch least, ok := wrong[c.Params.Fashion]; {
		case r.Epsilon == 0 && (!ok || 1-j.Logistic < least):
			wrong[c.Params.Fashion] = 1 - j.Logistic
		case r.Epsilon > 0 && !c.Params.Fashion:
			digits[r.P] = j
		}
	}
	for _, fashion := range []bool{false, true} {
		if least, ok := wrong[fashion]; ok {
			out = append(out, lab.Claim{What: setName(fashion) + ": least error without noise", Source: "classes are told apart", Got: least, Relation: lab.AtMost, Want: .8,
				Why: "chance is 0.9; of 1000 and more test images it has a standard deviation of less than 0.01", SkipReason: lab.Pick(v.Preset, "3 steps", "", "", ""), Null: guessing})
		}
	}
	ends := digits[1].FD
	if j, ok := digits[0]; ok {
		ends = min(ends, j.FD)
	}
	return append(out,
		lab.Claim{What: "MNIST: " + v.Cells[0].Params.Judge.distance() + " at p = 0.4 over the lesser of those at p = 0 and 1", Source: "Table 2: FID 48.4 of 86.0", Got: digits[.4].FD / ends, Relation: lab.AtMost, Want: .78,
			Why: "half of the paper's fall, in FID", SkipReason: tooShort(v.Preset), Null: alike},
		lab.Claim{What: "MNIST: error at p = 0.4 over that at p = 1", Source: "Table 2: 17.3 and 31.3 % by an MLP", Got: (1 - digits[.4].Logistic) / (1 - digits[1].Logistic), Relation: lab.AtMost, Want: .78,
			Why: "half of the paper's fall, for this is logistic regression", SkipReason: tooShort(v.Preset), Null: alike}), nil
}
