package dpsinkhorn

import (
	"fmt"
	"slices"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/plot"
)

// Fig4a is Figure 4(a): optimisers and learning rates.
func Fig4a() lab.Study[Params, Out] {
	return lab.Study[Params, Out]{
		Name:  "dpsinkhorn/fig4a",
		Title: "Figure 4(a): optimisers and learning rates",
		Shows: "Error on real MNIST digits of a logistic regression that was trained on synthetic ones, over the learning rate, for Adam and for gradient descent with momentum .9: at ε = 10 by the whole-batch clip, and without noise, which " +
			"is no privacy. The paper's grid and numbers are lost; this grid is ours. GS-WGAN, its other method, is not trained here.",
		Sizes: kit.Sizes("%v digits, %v, %v", kit.Per{1000, "60,000", "60,000", "60,000"}, recipeSteps,
			kit.Per{"one rate of each optimiser", "2 rates of Adam and 3 of SGD", "5 rates of each optimiser", "7 rates of each optimiser"}),
		Seconds:    map[lab.Preset]float64{lab.Smoke: 2, lab.Quick: 45, lab.Full: 200},
		Experiment: imagesOf,
		Grid:       robustnessGrid,
		Draw:       drawRobustness,
		Claims:     claimRobustness,
	}
}

// robustnessGrid has, for each optimiser, the private cells and then those without noise. Gradient descent moves by the clipped
// gradient's length, Adam by its rate alone, so that they need different rates.
func robustnessGrid(set lab.Setting) (out []Params) {
	p := set.Preset
	for _, sgd := range []bool{false, true} {
		rates := lab.Pick(p, []float64{3e-3}, []float64{3e-3, 1e-2}, []float64{1e-4, 3e-4, 1e-3, 3e-3, 1e-2}, []float64{1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2})
		if sgd {
			rates = lab.Pick(p, []float64{1e-2}, []float64{3e-4, 3e-3, 3e-2}, []float64{1e-4, 1e-3, 3e-3, 1e-2, 1e-1}, []float64{1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1})
		}
		for _, eps := range []float64{10, 0} {
			for _, rate := range rates {
				c := baseRecipe(set)
				c.Judge.Quick, c.Judge.LeNet = p != lab.Paper, lab.Pick(p, c.Judge.LeNet, c.Judge.LeNet, 0, c.Judge.LeNet)
				c.Method.Recipe.SGD, c.Method.Recipe.Rate, c.Method.Recipe.Epsilon = sgd, rate, eps
				out = append(out, c)
			}
		}
	}
	return out
}

// optimiserName names what steps.
func optimiserName(sgd bool) string {
	if sgd {
		return "SGD"
	}
	return "Adam"
}

// privacyName says whether there is any.
// epsilons are those of the recipes of cells, in their order.
func epsilons(cells []cell) (out []float64) {
	for _, c := range cells {
		if eps := c.Params.Method.Recipe.Epsilon; !slices.Contains(out, eps) {
			out = append(out, eps)
		}
	}
	return out
}

func privacyName(eps float64) string {
	if eps == 0 {
		return "without noise: no privacy"
	}
	return fmt.Sprintf("ε = %g", eps)
}

func drawRobustness(v view) (lab.Exhibit, error) {
	table := lab.Table{Name: "errors", Caption: "Error in percent on real MNIST digits", Header: []string{"optimiser", "rate", "ε", "logistic regression"}}
	var panels style.Panels
	panels.ShareY = true
	for _, eps := range epsilons(v.Cells) {
		var items []plot.Plotter
		for k, sgd := range []bool{false, true} {
			l := style.Line{Name: optimiserName(sgd), Series: k, Marks: true}
			for _, c := range v.Cells {
				r, j := c.Params.Method.Recipe, c.Value.Judged
				if r.SGD != sgd || r.Epsilon != eps {
					continue
				}
				l.X, l.Y = append(l.X, r.Rate), append(l.Y, 100*(1-j.Logistic))
				table.Rows = append(table.Rows, []string{optimiserName(sgd), fmt.Sprint(r.Rate), c.Value.privacy(), percent(1 - j.Logistic)})
			}
			items = append(items, l)
		}
		panels.Items = append(panels.Items, style.Plot{Title: privacyName(eps), X: style.Axis{Label: "learning rate", Log: true}, Y: style.Axis{Label: "error", Unit: "%", Min: 0, Max: 100}, Items: items})
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, recipeBadge(v),
			"Error of logistic regression on real digits over the learning rate. Chance is 90 %. The two optimisers measure rates in units of their own."+nearChance(v.Cells)),
		Tables: []lab.Table{table},
		Notes:  []string{"δ is 1e-5, the whole batch is clipped. The right panel has the same clip and no noise: it protects nobody and says what the optimiser alone does."},
	}, nil
}

// leastErrors are the errors of logistic regression at the best rate of Adam and of SGD.
func leastErrors(cells []cell, eps float64) (adam, sgd float64) {
	adam, sgd = 1, 1
	for _, c := range cells {
		switch r, wrong := c.Params.Method.Recipe, 1-c.Value.Judged.Logistic; {
		case r.Epsilon != eps:
		case r.SGD:
			sgd = min(sgd, wrong)
		default:
			adam = min(adam, wrong)
		}
	}
	return adam, sgd
}

func claimRobustness(v view) ([]lab.Claim, error) {
	out := []lab.Claim{soundness(v.Cells)}
	for _, eps := range epsilons(v.Cells) {
		adam, sgd := leastErrors(v.Cells, eps)
		asked := untrained(v.Preset)
		if eps == 0 {
			asked = lab.Pick(v.Preset, "3 steps", "", "", "")
		}
		out = append(out,
			lab.Claim{What: privacyName(eps) + ": what the worse optimiser gains on chance, over what the better does", Source: "§5.2: not sensitive to the choice of optimiser", Got: max(.9-max(adam, sgd), 0) / (.9 - min(adam, sgd)),
				Relation: lab.AtLeast, Want: .86, Why: "a tenth in error, of the .73 by which Table 1's logistic regression is better than chance", SkipReason: tooShort(v.Preset), Null: guessing},
			lab.Claim{What: privacyName(eps) + ": least error", Source: "classes are told apart", Got: min(adam, sgd), Relation: lab.AtMost, Want: .8, Why: "chance is 0.9; of 1000 and more test images it has a standard deviation of less than 0.01", SkipReason: asked, Null: guessing})
	}
	return out, nil
}
