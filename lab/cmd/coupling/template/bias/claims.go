package bias

import (
	"fmt"
	"math"

	"coupling/lab"
)

// claims compares the right end with a number that is known.
func claims(v lab.View[Params, float64]) ([]lab.Claim, error) {
	last := v.Cells[len(v.Cells)-1]
	return []lab.Claim{{
		What: "loss at the largest ε", Source: "E|x − y|² = 2d of independent points", Null: noLoss,
		Got: last.Value, Want: 4, AbsTol: .1 + 6*math.Sqrt(2/float64(last.Params.N)),
		Why: fmt.Sprintf("three standard errors of two means of %d |x|², of deviation 2; .1 for a plan that is not "+
			"quite independent", last.Params.N),
	}}, nil
}

// noLoss is the garbage result on which the claim must fail.
var noLoss = lab.Null{Name: "no loss", Spoil: []lab.Spoiler{lab.Spoil(Bias, func(cells []lab.Result[Params, float64]) {
	for i := range cells {
		cells[i].Value = 0
	}
})}}
