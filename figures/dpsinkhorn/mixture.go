package dpsinkhorn

import (
	"fmt"
	"slices"

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
		Sizes: kit.Sizes("%v images, %v, %v, %v", kit.Per{1000, "60,000", "60,000", "60,000"}, recipeSteps,
			kit.Per{"p = 0.4 and 1, MNIST", "3 values of p, MNIST", "3 values of p", "6 values of p"}, kit.Per{"one training each", "one training each", "three trainings each", "three trainings each"}),
		Seconds:    map[lab.Preset]float64{lab.Smoke: 2, lab.Quick: 30, lab.Full: 400},
		Experiment: imagesOf,
		Grid:       mixtureGrid,
		Seeds:      trainings,
		Draw:       drawMixture,
		Claims:     claimMixture,
	}
}

// mixtureGrid has, for each data set, the private cells over p, those without noise, and real images.
func mixtureGrid(set lab.Setting) (out []Params) {
	p, three := set.Preset, []float64{0, .4, 1}
	for _, fashion := range lab.Pick(p, []bool{false}, []bool{false}, []bool{false, true}, []bool{false, true}) {
		for _, eps := range []float64{10, 0} {
			c := recipeParams(set, fashion, eps)
			for _, c.Method.Recipe.P = range lab.Pick(p, []float64{.4, 1}, three, three, []float64{0, .2, .4, .6, .8, 1}) {
				out = append(out, c)
			}
		}
		out = append(out, references(set, fashion)[1])
	}
	return out
}

func drawMixture(v view) (lab.Exhibit, error) {
	distance := v.Cells[0].Params.Judge.distance()
	table := lab.Table{Name: "mixture", Caption: distance + ", and accuracy in percent on real test images", Header: []string{"data", "ε", "p", distance, "logistic regression", "MLP", "CNN", "recall", "coverage"}}
	var panels style.Panels
	for _, run := range repeats(v.Cells) {
		m, o := run[0].Params.Method, run[0].Value
		j, off := meanDeviation(run)
		share := fmt.Sprint(m.Recipe.P)
		if m.isReal() {
			share = m.Name
		}
		table.Rows = append(table.Rows, []string{setLabel(run[0]), o.privacy(), share, plusMinus(j.FD/100, off.FD/100), plusMinus(j.Logistic, off.Logistic), plusMinus(j.MLP, off.MLP), plusMinus(j.CNN, off.CNN), printed("%.2f", j.Recall), printed("%.2f", j.Coverage)})
	}
	for _, y := range []struct {
		axis style.Axis
		of   func(Out) float64
	}{
		{style.Axis{Label: distance, Include: []float64{0}}, func(o Out) float64 { return o.Judged.FD }},
		{style.Axis{Label: "error", Unit: "%", Min: 0, Max: 100}, func(o Out) float64 { return 100 * (1 - o.Judged.Logistic) }},
	} {
		bySet(v, func(cells []cell, fashion bool) {
			panels.Items = append(panels.Items, style.Plot{Title: setName(fashion), X: style.Axis{Label: "p"}, Y: y.axis, Items: overRecipe(cells, "method.recipe.p", y.of, Method.private, Method.free)})
		})
	}
	panels.Columns = max(2, len(panels.Items)/2)
	return lab.Exhibit{
		Pictures: kit.Wide(panels, recipeBadge(v),
			"Distance to real images, and error of what was learnt from synthetic ones, over p: means over trainings, which are the faint points, and a band of one standard error."+nearChance(v.Cells)),
		Tables: []lab.Table{table},
		Notes:  []string{distanceNote, "δ is 1e-5, the whole batch is clipped. Lines without noise protect nobody.", chosenNote},
	}, nil
}

// overRecipe draws a number over a parameter of the recipe: a group of lines for each kind of method, named by its ε.
func overRecipe(cells []cell, param string, of func(Out) float64, kinds ...func(Method) bool) (out []plot.Plotter) {
	for k, is := range kinds {
		same := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return !is(c.Params.Method) })
		for i, item := range style.Over(same, param, of) {
			switch l := item.(type) {
			case style.Line:
				if l.Series = k; i == 0 {
					l.Name = epsilonLabel(same[0].Params)
				}
				item = l
			case style.Points:
				l.Series = k
				item = l
			}
			out = append(out, item)
		}
	}
	return out
}

func claimMixture(v view) ([]lab.Claim, error) {
	out := append([]lab.Claim{soundness(v.Cells)}, claimMethod(v)...)
	runs := repeats(v.Cells)
	private := withShare(runs, false, 10)
	out = append(out, claimDebiasing(v, withShare(runs, false, 0), 0)...)
	mean := map[float64]Judgement{}
	for share, run := range private {
		mean[share], _ = meanDeviation(run)
	}
	ends := mean[1].FD
	if j, ok := mean[0]; ok {
		ends = min(ends, j.FD)
	}
	return append(out,
		lab.Claim{
			What: "MNIST: " + v.Cells[0].Params.Judge.distance() + " at p = 0.4 over the lesser of those at p = 0 and 1", Source: "Table 2: FID 48.4 of 86.0",
			Got: mean[.4].FD / ends, Relation: lab.AtMost, Want: .78, Why: "half of the paper's fall, in FID", SkipReason: tooShort(v.Preset), Null: alike,
		},
		lab.Claim{
			What: "MNIST: error at p = 0.4 over that at p = 1", Source: "Table 2: 17.3 and 31.3 % by an MLP",
			Got: (1 - mean[.4].Logistic) / (1 - mean[1].Logistic), Relation: lab.AtMost, Want: .78,
			Why: "half of the paper's fall, for this is logistic regression", SkipReason: tooShort(v.Preset), Null: alike,
		}), nil
}
