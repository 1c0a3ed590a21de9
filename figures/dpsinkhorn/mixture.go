package dpsinkhorn

import (
	"fmt"
	"math"

	"coupling/data/sample"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/plot"
)

// Mixture is Figure 5: what the share of fresh images does to the generator.
func Mixture() lab.Figure {
	return lab.Figure{
		Name:  "dpsinkhorn/mixture",
		Title: "Figure 5: quality and utility against p",
		Shows: "Fréchet distance in features of a LeNet trained here, and error on real test images of a logistic regression trained on synthetic ones, over the share p of fresh images in the debiasing batch, on MNIST and Fashion-MNIST: at ε = 10 by the " +
			"whole-batch clip, and without noise, which is no privacy. The paper's best is p = 0.4.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "1000 images, 3 steps, p = 0.4 and 1, MNIST",
			lab.Quick: "60,000 images, 600 steps of 10 images, width 4, 49 frequencies released, 3 values of p",
			lab.Paper: "60,000 images, 160,000 steps of 50 images, width 64, 6 values of p",
		},
		Decoders: []lab.Decoder{recipeOf.Decoder()},
		Jobs:     func(set lab.Setting) ([]lab.Job, error) { return recipeOf.Jobs(set.Seed, mixtureGrid(set)...), nil },
		Draw:     drawMixture,
		Claims:   claimMixture,
	}
}

// mixtureGrid has, for each data set, the private cells over p and then those without noise.
func mixtureGrid(set lab.Setting) (out []RecipeParams) {
	p := set.Preset
	for _, fashion := range pick(p, []bool{false}, []bool{false, true}, []bool{false, true}) {
		for _, eps := range []float64{10, 0} {
			for _, share := range pick(p, []float64{.4, 1}, []float64{0, .4, 1}, []float64{0, .2, .4, .6, .8, 1}) {
				c := baseRecipe(set)
				c.Judge.Quick = true
				c.Fashion, c.Recipe.P, c.Recipe.Epsilon = fashion, share, eps
				c.Recipe.Steps = pick(p, 3, 600, 160_000)
				if fashion {
					c.Recipe.L1 = 3
					c.Recipe.Rate = pick(p, c.Recipe.Rate, c.Recipe.Rate, 1e-5)
				}
				out = append(out, c)
			}
		}
	}
	return out
}

func drawMixture(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
	cells, err := lab.RecallAll(s, recipeOf, set.Seed, mixtureGrid(set))
	if err != nil {
		return lab.Exhibit{}, err
	}
	table := lab.Table{Name: "mixture", Caption: "FD-LeNet, and accuracy in percent on real test images", Header: []string{"data", "ε", "p", "FD-LeNet", "logistic regression", "recall", "coverage"}}
	panels := style.Panels{Columns: 2}
	lines := map[[2]bool]*[2]style.Line{} // by data set and whether private
	for _, c := range cells {
		r, j := c.Params.Recipe, c.Value.Judged
		key := [2]bool{c.Params.Fashion, r.Epsilon > 0}
		if lines[key] == nil {
			k := 0
			if r.Epsilon == 0 {
				k = 1
			}
			l := style.Line{Name: privacyName(r.Epsilon), Series: k, Marks: true}
			lines[key] = &[2]style.Line{l, l}
		}
		for i, y := range []float64{j.FD, 100 * (1 - j.Logistic)} {
			l := &lines[key][i]
			l.X, l.Y = append(l.X, r.P), append(l.Y, y)
		}
		table.Rows = append(table.Rows, []string{setName(c.Params.Fashion), c.Value.guarantee(), fmt.Sprint(r.P), fmt.Sprintf("%.1f", j.FD), percent(j.Logistic), fmt.Sprintf("%.2f", j.Recall), fmt.Sprintf("%.2f", j.Coverage)})
	}
	for i, y := range []style.Axis{{Label: "FD-LeNet", Include: []float64{0}}, {Label: "error", Unit: "%", Min: 0, Max: 100}} {
		for _, fashion := range []bool{false, true} {
			if lines[[2]bool{fashion, true}] == nil {
				continue
			}
			items := []plot.Plotter{lines[[2]bool{fashion, true}][i], lines[[2]bool{fashion, false}][i]}
			panels.Items = append(panels.Items, style.Plot{Title: setName(fashion), X: style.Axis{Label: "p"}, Y: y, Items: items})
		}
	}
	panels.Columns = len(panels.Items) / 2
	return lab.Exhibit{
		Pictures: []lab.Picture{{
			Caption: "Distance to real images, and error of what was learnt from synthetic ones, over p. FD-LeNet compares within a data set only, and is not the paper's FID.",
			Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, fmt.Sprintf("%d steps of %d images", cells[0].Params.Recipe.Steps, cells[0].Params.Recipe.Images), sample.Note(cells[0].Params.Data, "mnist"))},
		}},
		Tables: []lab.Table{table},
		Notes:  []string{"δ is 1e-5, the whole batch is clipped. Lines without noise protect nobody. A point is one training of one generator: what two p differ by may be chance."},
	}, nil
}

func claimMixture(s *lab.Store, set lab.Setting) (out []lab.Claim, err error) {
	cells, err := lab.RecallAll(s, recipeOf, set.Seed, mixtureGrid(set))
	if err != nil {
		return nil, err
	}
	out = []lab.Claim{soundness(cells)}
	for _, fashion := range pick(set.Preset, []bool{false}, []bool{false, true}, []bool{false, true}) {
		fd, wrong := map[float64]float64{}, map[float64]float64{}
		least := [2]float64{math.Inf(1), math.Inf(1)}
		noise := [2]float64{math.Inf(1), math.Inf(1)} // least error with noise and without
		for _, c := range cells {
			if c.Params.Fashion != fashion {
				continue
			}
			j, r := c.Value.Judged, c.Params.Recipe
			if r.Epsilon == 0 {
				noise[1] = min(noise[1], 1-j.Logistic)
				continue
			}
			fd[r.P], wrong[r.P] = j.FD, 1-j.Logistic
			least[0], least[1], noise[0] = min(least[0], j.FD), min(least[1], 1-j.Logistic), min(noise[0], 1-j.Logistic)
		}
		what := setName(fashion) + ": "
		if set.Preset != lab.Smoke {
			out = append(out,
				lab.Claim{What: what + "FD-LeNet at p = 0.4 over the least", Source: "appendix D.3: best overall", Got: fd[.4] / least[0], Relation: lab.AtMost, Want: 1.1, Why: "read off a figure", SkipReason: tooShort(set.Preset)},
				lab.Claim{What: what + "error at p = 0.4 over the least", Source: "appendix D.3: best overall", Got: wrong[.4] / least[1], Relation: lab.AtMost, Want: 1.1, Why: "read off a figure", SkipReason: tooShort(set.Preset)})
		}
		out = append(out, lab.Claim{What: what + "least error without noise, less that with it", Source: "noise only hurts", Got: noise[1] - noise[0], Relation: lab.AtMost, Why: "a comparison", SkipReason: pick(set.Preset, "3 steps", "", "")})
	}
	return out, nil
}
