package dpsinkhorn

import (
	"coupling/dp"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
)

// Fig7 is Figure 7: images of the recipe.
func Fig7() lab.Study[Params, Out] {
	return lab.Study[Params, Out]{
		Name:  "dpsinkhorn/fig7",
		Title: "Figure 7: images of the recipe, with and without noise",
		Shows: "Five images of each class of MNIST and Fashion-MNIST, made by DP-Sinkhorn with the whole-batch clip " +
			"at ε = 10 and δ = 1e-5 that hold, by the same recipe without noise, and by algorithm 1 as printed, " +
			"whose ε of 10 is " + dpsinkhorn.NotJustified + "; the first ones that were drawn.",
		Sizes: kit.Sizes("%v, %v", kit.Per{"MNIST, 1000 digits", "60,000 images", "60,000 images",
			"60,000 images"}, recipeSteps),
		Seconds:    kit.ByPreset(1., 20, 300),
		Experiment: imagesOf,
		Grid:       samplesGrid,
		Draw:       drawSamples,
		Claims:     claimSamples,
	}
}

// samplesGrid has, for each data set, the recipe without noise, at ε = 10 and as printed, and real images.
func samplesGrid(set lab.Setting) (out []Params) {
	for _, fashion := range kit.Smoke(set.Preset, []bool{false}, []bool{false, true}) {
		beside := references(set, fashion)
		printed := recipeParams(set, fashion, 10)
		printed.Method.Recipe = printedRecipe(set, fashion)
		out = append(out, beside[0], recipeParams(set, fashion, 10), printed, beside[1])
	}
	return out
}

// shownRows is how many images of each class are drawn.
const shownRows = 5

func drawSamples(v view) (lab.Exhibit, error) {
	table := kit.Table("accuracy",
		"Accuracy in percent on real test images; in brackets the paper's, at an ε that is "+
			dpsinkhorn.NotJustified, "data | method | steps | σ | ε | signal over noise | logistic | MLP | CNN")
	panels := style.Panels{Columns: 2, Items: make([]style.Drawer, 6)}
	bySet(v, func(cells []cell, fashion bool) {
		for i, c := range cells {
			m, j := c.Params.Method, c.Value.Judged
			row := kit.Row("%s | %s | %v | %.3f | %s | %s", setName(fashion), m.kind(), m.Recipe.Steps,
				c.Value.Multiplier, c.Value.privacy(), m.Recipe.signal(c.Value.Multiplier))
			if m.isReal() {
				row[2], row[3], row[4] = "–", "–", "–"
			} else {
				at := 2 * i // MNIST on the left
				if fashion {
					at++
				}
				rows := kit.Matrix(c.Open, "images.npy")
				panels.Items[at] = &style.ImageGrid{
					C:       1,
					H:       28,
					W:       28,
					Columns: 10,
					Title:   samplesTitle(c),
					Invert:  true,
					Images:  style.Rows(rows)[:10*shownRows],
				}
			}
			for k, a := range j.accuracies() {
				row = append(row, besides(percent(a), publishedOf(fashion, m.published()).acc[k]))
			}
			table.Rows = append(table.Rows, row)
		}
	})
	notes := []string{signalNote}
	if v.Preset == lab.Full || v.Preset == lab.Quick {
		notes = append(notes, chosenNote)
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, recipeBadge(v),
			"A column for each class, in the data sets' order. No real image is shown."+nearChance(v.Cells)),
		Tables: []lab.Table{table},
		Notes:  notes,
	}, nil
}

// samplesTitle names a data set and what its images cost.
func samplesTitle(c cell) string {
	title := setName(c.Params.Fashion) + ", " + c.Params.Method.kind()
	if c.Value.Epsilon > 0 {
		title += ": ε ≤ " + dp.FormatUp(c.Value.Epsilon, 3)
	}
	return title
}

func claimSamples(v view) ([]lab.Claim, error) {
	return append(claimMethod(v), soundness(v.Cells)), nil
}
