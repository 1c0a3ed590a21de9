package dpsinkhorn

import (
	"fmt"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
)

// Fig4a is Figure 4(a): optimisers and learning rates.
func Fig4a() lab.Study[Params, Out] {
	return lab.Study[Params, Out]{
		Name:  "dpsinkhorn/fig4a",
		Title: "Figure 4(a): optimisers and learning rates",
		Shows: "Error on real MNIST digits of a logistic regression that was trained on synthetic ones, over the " +
			"learning rate, for Adam and for gradient descent with momentum .9: at ε = 10 by the whole-batch clip, " +
			"and without noise, which is no privacy. The paper's grid and numbers are lost; this grid is ours. " +
			"GS-WGAN, its other method, is not trained here.",
		Sizes: kit.Sizes("%v digits, %v, %v, %v", kit.Per{1000, "60,000", "60,000", "60,000"}, recipeSteps,
			kit.Per{"one rate of each optimiser", "2 rates of Adam and 3 of SGD", "3 rates of each optimiser",
				"7 rates of each optimiser"},
			kit.Per{"one training each", "one training each", "three trainings each", "three trainings each"}),
		Seconds:    kit.ByPreset(2., 40, 1250),
		Experiment: imagesOf,
		Grid:       robustnessGrid,
		Seeds:      lab.Replicates(1, 1, 3, 3),
		Draw:       drawRobustness,
		Claims:     claimRobustness,
	}
}

// robustnessGrid has, for each optimiser, the private cells and then those without noise, and real digits. Gradient
// descent moves by the
// clipped gradient's length, Adam by its rate alone, so that they need different rates.
func robustnessGrid(set lab.Setting) (out []Params) {
	p := set.Preset
	for _, sgd := range []bool{false, true} {
		rates := lab.Pick(p, []float64{3e-3}, []float64{3e-3, 1e-2}, []float64{3e-4, 1.7e-3, 1e-2},
			[]float64{1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2})
		if sgd {
			rates = lab.Pick(p, []float64{1e-2}, []float64{3e-5, 3e-4, 3e-3}, []float64{3e-5, 3e-4, 3e-3},
				[]float64{1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1})
		}
		for _, eps := range []float64{10, 0} {
			c := recipeParams(set, false, eps)
			for _, rate := range rates {
				c.Method.Recipe.SGD, c.Method.Recipe.Rate = sgd, rate
				out = append(out, c)
			}
		}
	}
	return append(out, references(set, false)[1])
}

// optimiserName names what steps.
func optimiserName(sgd bool) string {
	if sgd {
		return "SGD"
	}
	return "Adam"
}

// privacyName says whether there is any.
func privacyName(eps float64) string {
	if eps == 0 {
		return "without noise: no privacy"
	}
	return fmt.Sprintf("ε = %g", eps)
}

func drawRobustness(v view) (lab.Exhibit, error) {
	table := kit.Table("errors", "Error in percent on real MNIST digits",
		"optimiser | rate | ε | logistic regression")
	panels := style.Panels{ShareY: true}
	for _, kind := range []func(Method) bool{Method.private, Method.free} {
		items := overRecipe(v.Cells, "method.recipe.rate", func(o Out) float64 { return 100 * (1 - o.Judged.Logistic) },
			lineOf{optimiserName(false), func(m Method) bool { return kind(m) && !m.Recipe.SGD }},
			lineOf{optimiserName(true), func(m Method) bool { return kind(m) && m.Recipe.SGD }})
		title := epsilonLabel(v.Where(func(p Params) bool { return kind(p.Method) })[0].Params)
		panels.Items = append(panels.Items, style.Plot{
			Title: title,
			X:     style.Axis{Label: "learning rate", Log: true},
			Y:     style.Axis{Label: "error", Unit: "%", Max: 100},
			Items: items,
		})
	}
	for _, run := range repeats(v.Cells) {
		r, o := run[0].Params.Method, run[0].Value
		name, rate := optimiserName(r.Recipe.SGD), fmt.Sprint(r.Recipe.Rate)
		if r.isReal() {
			name, rate = r.Name, "–"
		}
		j, off := meanDeviation(run)
		table.Rows = append(table.Rows, []string{name, rate, o.privacy(), plusMinus(1-j.Logistic, off.Logistic)})
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, recipeBadge(v),
			"Error of logistic regression on real digits over the learning rate: means over trainings, which are "+
				"the faint points, and a band of one standard error. Chance is 90 %. The two optimisers measure "+
				"rates in units of their own."+nearChance(v.Cells)),
		Tables: []lab.Table{table},
		Notes: []string{"δ is 1e-5, the whole batch is clipped. The right panel has the same clip and no noise: it " +
			"protects nobody.", chosenNote},
	}, nil
}

func claimRobustness(v view) ([]lab.Claim, error) {
	out := append([]lab.Claim{soundness(v.Cells)}, claimMethod(v)...)
	runs := repeats(v.Cells)
	for _, kind := range []func(Method) bool{Method.private, Method.free} {
		adam := best(runs, func(m Method) bool { return kind(m) && !m.Recipe.SGD })
		sgd := best(runs, func(m Method) bool { return kind(m) && m.Recipe.SGD })
		a, b := scoreOf(adam, accuracy(0)).mean, scoreOf(sgd, accuracy(0)).mean
		out = append(out, kit.AtLeastUnless(tooShort(v.Preset),
			epsilonLabel(adam[0].Params)+": what the worse optimiser gains on chance, over what the better does",
			"§5.2: not sensitive to the choice of optimiser", max(min(a, b)-.1, 0)/(max(a, b)-.1), .86,
			"a tenth in error, of the .73 by which Table 1's logistic regression is better than chance",
			guessing))
	}
	return out, nil
}
