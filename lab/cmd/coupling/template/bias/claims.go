package bias

import "coupling/lab"

// claims compares the right end with a number that is known.
func claims(v lab.View[Params, float64]) ([]lab.Claim, error) {
	last := v.Cells[len(v.Cells)-1].Value
	return []lab.Claim{{
		What: "loss at the largest ε", Source: "E|x − y|² = 2d of independent points", Null: noLoss,
		Got: last, Want: 4, AbsTol: 2, Why: "three standard errors of two means of 20",
	}}, nil
}

// noLoss is the garbage result on which the claim must fail.
var noLoss = lab.Null{Name: "no loss", Spoil: []lab.Spoiler{lab.Spoil(Bias, func(cells []lab.Result[Params, float64]) {
	for i := range cells {
		cells[i].Value = 0
	}
})}}
