package dpsinkhorn

import (
	"fmt"
	"math"

	"coupling/data/sample"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/plot"
)

// Robustness is Figure 4(a): optimisers and learning rates.
func Robustness() lab.Figure {
	return lab.Figure{
		Name:  "dpsinkhorn/robustness",
		Title: "Figure 4(a): optimisers and learning rates",
		Shows: "Error on real MNIST digits of a logistic regression that was trained on synthetic ones, over the learning rate, for Adam and for gradient descent with momentum .9: at ε = 10 by the whole-batch clip, and without noise, which " +
			"is no privacy. The paper's grid and numbers are lost; this grid is ours. GS-WGAN, its other method, is not trained here.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "1000 digits, 3 steps, one rate of each optimiser",
			lab.Quick: "60,000 digits, 600 steps of 10 images, width 4, 49 frequencies released, 5 rates of each optimiser",
			lab.Paper: "60,000 digits, 160,000 steps of 50 images, width 64, 7 rates of each optimiser",
		},
		Decoders: []lab.Decoder{recipeOf.Decoder()},
		Jobs:     func(set lab.Setting) ([]lab.Job, error) { return recipeOf.Jobs(set.Seed, robustnessGrid(set)...), nil },
		Draw:     drawRobustness,
		Claims:   claimRobustness,
	}
}

// robustnessGrid has, for each optimiser, the private cells and then those without noise. Gradient descent moves by the clipped
// gradient's length, Adam by its rate alone, so that they need different rates.
func robustnessGrid(set lab.Setting) (out []RecipeParams) {
	p := set.Preset
	for _, sgd := range []bool{false, true} {
		rates := pick(p, []float64{5e-4}, []float64{1e-4, 3e-4, 1e-3, 3e-3, 1e-2}, []float64{1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2})
		if sgd {
			rates = pick(p, []float64{1e-3}, []float64{1e-6, 1e-5, 1e-4, 3e-4, 1e-3}, []float64{1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1})
		}
		for _, eps := range []float64{10, 0} {
			for _, rate := range rates {
				c := baseRecipe(set)
				c.Judge.Quick, c.Judge.LeNet = p != lab.Paper, pick(p, 0, 0, c.Judge.LeNet)
				c.Recipe.Steps, c.Recipe.SGD, c.Recipe.Rate, c.Recipe.Epsilon = pick(p, 3, 600, 160_000), sgd, rate, eps
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
func privacyName(eps float64) string {
	if eps == 0 {
		return "without noise: no privacy"
	}
	return fmt.Sprintf("ε = %g", eps)
}

func drawRobustness(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
	cells, err := lab.RecallAll(s, recipeOf, set.Seed, robustnessGrid(set))
	if err != nil {
		return lab.Exhibit{}, err
	}
	table := lab.Table{Name: "errors", Caption: "Error in percent on real MNIST digits", Header: []string{"optimiser", "rate", "ε", "logistic regression"}}
	var panels style.Panels
	panels.ShareY = true
	for _, eps := range []float64{10, 0} {
		var items []plot.Plotter
		for k, sgd := range []bool{false, true} {
			l := style.Line{Name: optimiserName(sgd), Series: k, Marks: true}
			for _, c := range cells {
				r, j := c.Params.Recipe, c.Value.Judged
				if r.SGD != sgd || r.Epsilon != eps {
					continue
				}
				l.X, l.Y = append(l.X, r.Rate), append(l.Y, 100*(1-j.Logistic))
				table.Rows = append(table.Rows, []string{optimiserName(sgd), fmt.Sprint(r.Rate), c.Value.guarantee(), percent(1 - j.Logistic)})
			}
			items = append(items, l)
		}
		panels.Items = append(panels.Items, style.Plot{Title: privacyName(eps), X: style.Axis{Label: "learning rate", Log: true}, Y: style.Axis{Label: "error", Unit: "%", Min: 0, Max: 100}, Items: items})
	}
	return lab.Exhibit{
		Pictures: []lab.Picture{{
			Caption: "Error of logistic regression on real digits over the learning rate. Chance is 90 %. The two optimisers measure rates in units of their own.",
			Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, fmt.Sprintf("%d steps of %d images", cells[0].Params.Recipe.Steps, cells[0].Params.Recipe.Images), sample.Note(cells[0].Params.Data, "mnist"))},
		}},
		Tables: []lab.Table{table},
		Notes:  []string{"δ is 1e-5, the whole batch is clipped. The right panel has the same clip and no noise: it protects nobody and says what the optimiser alone does."},
	}, nil
}

// leastErrors are the errors of logistic regression at the best rate of Adam and of SGD.
func leastErrors(cells []lab.Result[RecipeParams, RecipeOut], eps float64) (best [2]float64) {
	best = [2]float64{1, 1}
	for _, c := range cells {
		if r := c.Params.Recipe; r.Epsilon == eps {
			k := 0
			if r.SGD {
				k = 1
			}
			best[k] = min(best[k], 1-c.Value.Judged.Logistic)
		}
	}
	return best
}

func claimRobustness(s *lab.Store, set lab.Setting) (out []lab.Claim, err error) {
	cells, err := lab.RecallAll(s, recipeOf, set.Seed, robustnessGrid(set))
	if err != nil {
		return nil, err
	}
	small, short := pick(set.Preset, "3 steps", "", ""), pick(set.Preset, "3 steps", "600 steps, of the 160,000 in which the paper's converge", "")
	out = []lab.Claim{soundness(cells)}
	for _, eps := range []float64{10, 0} {
		best := leastErrors(cells, eps)
		out = append(out,
			lab.Claim{What: privacyName(eps) + ": how far apart the least errors of SGD and Adam are", Source: "§5.2: not sensitive to the choice of optimiser", Got: math.Abs(best[1] - best[0]), Relation: lab.AtMost, Want: .1, Why: "the eye on a figure whose axis is an error rate", SkipReason: short},
			lab.Claim{What: privacyName(eps) + ": least error", Source: "classes are told apart", Got: min(best[0], best[1]), Relation: lab.AtMost, Want: .8, Why: "chance is 0.9", SkipReason: small})
	}
	return out, nil
}
