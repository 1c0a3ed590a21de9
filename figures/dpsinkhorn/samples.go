package dpsinkhorn

import (
	"fmt"

	"coupling/dp"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
)

// Fig7 is Figure 7: images of the recipe's best setting.
func Fig7() lab.Study[Params, Out] {
	return lab.Study[Params, Out]{
		Name:       "dpsinkhorn/fig7",
		Title:      "Figure 7: images of the recipe at its best sound setting",
		Shows:      "Ten images of each class of MNIST and Fashion-MNIST, made by the whole-batch recipe at ε = 10 and δ = 1e-5 that hold, and by algorithm 1 as printed, whose ε of 10 is " + dpsinkhorn.NotJustified + "; the first ones that were drawn.",
		Sizes:      kit.Sizes("%v, %v", kit.Per{"MNIST, 1000 digits", "60,000 images", "60,000 images", "60,000 images"}, recipeSteps),
		Seconds:    map[lab.Preset]float64{lab.Smoke: 1, lab.Quick: 24, lab.Full: 90},
		Experiment: imagesOf,
		Grid:       samplesGrid,
		Draw:       drawSamples,
		Claims:     claimSamples,
	}
}

func samplesGrid(set lab.Setting) (out []Params) {
	for _, fashion := range lab.Pick(set.Preset, []bool{false}, []bool{false, true}, []bool{false, true}, []bool{false, true}) {
		c := baseRecipe(set)
		c.about(fashion)
		c.Method.Recipe = bestRecipe(set, 10)
		if fashion && set.Preset == lab.Paper {
			c.Method.Recipe.L1, c.Method.Recipe.Rate = 3, 1e-5
		}
		out = append(out, c)
		c.Method.Recipe = printedRecipe(set, fashion)
		out = append(out, c)
	}
	return out
}

func drawSamples(v view) (lab.Exhibit, error) {
	table := lab.Table{Name: "accuracy", Caption: "Accuracy in percent on real test images; in brackets the paper's, at an ε that is " + dpsinkhorn.NotJustified,
		Header: []string{"data", "steps", "σ", "ε", "signal over noise", "logistic", "MLP", "CNN"}}
	panels := style.Panels{Columns: 2}
	for _, c := range v.Cells {
		rows := kit.Matrix(c.Open, "images.npy")
		panels.Items = append(panels.Items, &style.ImageGrid{C: 1, H: 28, W: 28, Columns: 10, Title: samplesTitle(c), Invert: true, Images: style.Rows(rows)})
		j := c.Value.Judged
		row := []string{samplesTitle(c), fmt.Sprint(c.Params.Method.Recipe.Steps), fmt.Sprintf("%.3f", c.Value.Multiplier), c.Value.privacy(), c.Params.Method.Recipe.signal(c.Value.Multiplier)}
		for k, a := range j.accuracies() {
			row = append(row, besides(a, publishedAt(c.Params.Fashion, k)))
		}
		table.Rows = append(table.Rows, row)
	}
	notes := []string{signalNote}
	if v.Preset == lab.Full {
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
	title := setName(c.Params.Fashion) + ", ε ≤ " + dp.FormatUp(c.Value.Epsilon, 3)
	if rows := c.Params.Method.Recipe.Rows; rows > 0 {
		title += fmt.Sprintf(", as printed: rows at σ = %g", rows)
	}
	return title
}

func claimSamples(v view) ([]lab.Claim, error) {
	out := []lab.Claim{soundness(v.Cells)}
	for _, c := range v.Cells {
		what := samplesTitle(c) + ": logistic regression"
		out = append(out,
			lab.Claim{What: what, Source: "Table 1, at an ε that does not hold", Got: c.Value.Judged.Logistic, Relation: lab.AtLeast, Want: publishedAt(c.Params.Fashion, 0) / 100, AbsTol: .03,
				Why: "rows of Table 4 that differ in Δ alone differ by up to 3 points", SkipReason: tooShort(v.Preset), Null: guessing},
			lab.Claim{What: what + " knows classes apart", Source: "chance is 0.1", Got: c.Value.Judged.Logistic, Relation: lab.AtLeast, Want: .4, Why: "four times chance", SkipReason: untrained(v.Preset), Null: guessing})
	}
	return out, nil
}
