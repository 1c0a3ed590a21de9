package dpsinkhorn

import (
	"fmt"

	"coupling/lab"
)

func claimUtility(s *lab.Store, set lab.Setting) (out []lab.Claim, err error) {
	cells, err := lab.RecallAll(s, utilityOf, set.Seed, utilityGrid(set))
	if err != nil {
		return nil, err
	}
	small := pick(set.Preset, "1500 digits and a few steps", "", "")
	for _, c := range cells {
		m := c.Params.Method
		what := fmt.Sprintf("%s, %s, ε = %g: ", setName(c.Params.Fashion), m.Name, m.Epsilon)
		out = append(out, lab.Claim{What: what + "ε of what ran", Source: "its accounting", Got: c.Value.Epsilon, Relation: lab.AtMost, Want: m.Epsilon, Why: "the budget"})
		if m.Name == semiDual && !c.Params.Fashion {
			out = append(out, claimWorth(c, what, small)...)
			out = append(out, claimBest(c, cells, what, small)...)
		}
	}
	return out, nil
}

// worth is what classifiers should reach by digits of the semi-dual: logistic regression what plain images as atoms do.
var worth = map[float64][3]float64{10: {.873, .90, .90}, 1: {.851, .88, .90}, .3: {.805, .85, .85}}

func claimWorth(c utilityCell, what, small string) (out []lab.Claim) {
	eps := c.Params.Method.Epsilon
	for k, a := range c.Value.Judged.accuracies() {
		if want := worth[eps][k]; want > 0 {
			out = append(out, lab.Claim{What: what + []string{"logistic regression", "MLP", "CNN"}[k], Source: "plain images as atoms, and what a private set should be worth", Got: a,
				Relation: lab.AtLeast, Want: want, Why: "a bound", SkipReason: small})
		}
	}
	if eps == 10 {
		out = append(out, lab.Claim{What: what + "CNN against the paper's 83.2 % at an ε that does not hold", Source: "Table 1", Got: c.Value.Judged.CNN, Relation: lab.AtLeast, Want: .832, Why: "a comparison", SkipReason: small})
	}
	return out
}

// claimBest compares the semi-dual with every other method at its ε.
func claimBest(c utilityCell, cells []utilityCell, what, small string) (out []lab.Claim) {
	mine := c.Value.Judged
	for _, other := range cells {
		o, their := other.Params, other.Value.Judged
		if o.Method.Epsilon != c.Params.Method.Epsilon || o.Method.Name == semiDual || o.Fashion != c.Params.Fashion {
			continue
		}
		out = append(out,
			lab.Claim{What: what + "CNN, less that of " + o.Method.Name, Source: "who wins at the same ε", Got: mine.CNN - their.CNN, Relation: lab.AtLeast, Why: "a comparison", SkipReason: small},
			lab.Claim{What: what + "recall, less that of " + o.Method.Name, Source: "who is more diverse at the same ε", Got: mine.Recall - their.Recall, Relation: lab.AtLeast, Why: "a comparison", SkipReason: small},
			lab.Claim{What: what + "FD-LeNet over that of " + o.Method.Name, Source: "who is nearer at the same ε", Got: mine.FD / their.FD, Relation: lab.AtMost, Want: 1, Why: "a comparison", SkipReason: small})
	}
	return out
}
