package amplification

import (
	"math"
	"testing"

	"coupling/lab"
)

// A recipe's row is over its seeds, whose cells do not lie beside each other.
func TestRecipeRows(t *testing.T) {
	var v recipeView
	for seed, accuracy := range []float64{.9, .92} {
		for _, features := range []string{"scattering", "pixels"} {
			v.Cells = append(v.Cells, lab.Result[RecipeParams, RecipeOut]{
				Seed:   uint64(seed),
				Params: RecipeParams{Features: features},
				Value:  RecipeOut{Accuracy: accuracy},
			})
		}
	}
	rows := recipeRows(v)
	if len(rows) != 2 || rows[1].seeds != 2 || math.Abs(rows[1].mean-91) > 1e-9 || rows[1].deviation < 1 {
		t.Errorf("%+v: want a row of two seeds for each recipe", rows)
	}
}
