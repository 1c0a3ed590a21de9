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
		Shows: "Fréchet distance in features of a LeNet trained here, and error on real test images of a logistic " +
			"regression trained on synthetic ones, over the share p of fresh images in the debiasing batch, on " +
			"MNIST and Fashion-MNIST: at ε = 10 by the whole-batch clip, and without noise, which is no privacy. " +
			"The paper's best is p = 0.4.",
		Sizes: kit.Sizes("%v images, %v, %v, %v", kit.Per{1000, "60,000", "60,000", "60,000"}, recipeSteps,
			kit.Per{"p = 0.4 and 1, MNIST", "3 values of p, MNIST", "3 values of p", "6 values of p"},
			kit.Per{"one training each", "three trainings each", "three trainings each", "three trainings each"}),
		Seconds:    kit.ByPreset(2., 45, 1600),
		Experiment: imagesOf,
		Grid:       mixtureGrid,
		Seeds:      lab.Replicates(1, 3, 3, 3),
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
			for _, c.Method.Recipe.P = range lab.Pick(p, []float64{.4, 1}, three, three,
				[]float64{0, .2, .4, .6, .8, 1}) {
				out = append(out, c)
			}
		}
		out = append(out, references(set, fashion)[1])
	}
	return out
}

func drawMixture(v view) (lab.Exhibit, error) {
	distance := v.Cells[0].Params.Judge.distance()
	table := kit.Table("mixture", distance+", and accuracy in percent on real test images",
		"data | ε | p | "+distance+" | logistic regression | MLP | CNN | recall | coverage")
	var panels style.Panels
	for _, run := range repeats(v.Cells) {
		m, o := run[0].Params.Method, run[0].Value
		j, off := meanDeviation(run)
		share := fmt.Sprint(m.Recipe.P)
		if m.isReal() {
			share = m.Name
		}
		table.Rows = append(table.Rows, []string{setLabel(run[0]), o.privacy(), share, plusMinus(j.FD/100, off.FD/100),
			plusMinus(j.Logistic, off.Logistic), plusMinus(j.MLP, off.MLP), plusMinus(j.CNN, off.CNN),
			printed("%.2f", j.Recall), printed("%.2f", j.Coverage)})
	}
	for _, y := range []struct {
		axis style.Axis
		of   func(Out) float64
	}{
		{style.Axis{Label: distance, Include: []float64{0}}, func(o Out) float64 { return o.Judged.FD }},
		{style.Axis{
			Label: "error",
			Unit:  "%",
			Max:   100,
		}, func(o Out) float64 { return 100 * (1 - o.Judged.Logistic) }},
	} {
		bySet(v, func(cells []cell, fashion bool) {
			panels.Items = append(panels.Items, style.Plot{
				Title: setName(fashion),
				X:     style.Axis{Label: "p"},
				Y:     y.axis,
				Items: overRecipe(cells, "method.recipe.p", y.of, lineOf{"with noise", Method.private},
					lineOf{"without: no privacy", Method.free}),
			})
		})
	}
	panels.Columns = max(2, len(panels.Items)/2)
	return lab.Exhibit{
		Pictures: kit.Wide(panels, recipeBadge(v),
			"Distance to real images, and error of what was learnt from synthetic ones, over p: means over "+
				"trainings, which are the faint points, and a band of one standard error."+nearChance(v.Cells)),
		Tables: []lab.Table{table},
		Notes: []string{distanceNote, "δ is 1e-5, the whole batch is clipped. Lines without noise protect nobody.",
			chosenNote},
	}, nil
}

// A lineOf is a kind of method that a figure draws as one line.
type lineOf struct {
	name string
	is   func(Method) bool
}

// overRecipe draws a number over a parameter of the recipe: means, their errors and the trainings of each kind of
// method.
func overRecipe(cells []cell, param string, of func(Out) float64, kinds ...lineOf) (out []plot.Plotter) {
	for k, kind := range kinds {
		same := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return !kind.is(c.Params.Method) })
		for _, item := range style.Over(same, param, of) {
			switch l := item.(type) {
			case style.Line:
				l.Series, l.Name = k, kind.name
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
	out = append(out, claimDebiasing(v, withShare(runs, false, 0), false)...)
	mean := map[float64]Judgement{}
	for share, run := range withShare(runs, false, 10) {
		mean[share], _ = meanDeviation(run)
	}
	return append(out,
		kit.AtMostUnless(tooShort(v.Preset), "MNIST: error at p = 0.4 over that at p = 1",
			"Table 2: 17.3 and 31.3 % by an MLP", (1-mean[.4].Logistic)/(1-mean[1].Logistic), .78,
			"half of the paper's fall, for this is logistic regression", alike)), nil
}
