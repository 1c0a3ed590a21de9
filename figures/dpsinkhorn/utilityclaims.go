package dpsinkhorn

import (
	"fmt"
	"strings"

	"coupling/data/sample"
	"coupling/lab"
)

// fewer says why a preset's numbers are not asked for: too little was made, or the whole data set is not on this machine.
func fewer(v utilityView) string {
	return lab.Pick(v.Preset, "1500 digits and a few steps", "3000 synthetic digits and a small CNN", sample.Note(v.Cells[0].Params.Data, "mnist"), "")
}

// what names a cell in claims.
func (p UtilityParams) what() string {
	return fmt.Sprintf("%s, %s, ε = %g: ", setName(p.Fashion), p.Method.Name, p.Method.Epsilon)
}

// claimUtility asks what the semi-dual's digits are worth, and who wins at the same ε.
func claimUtility(v utilityView) (out []lab.Claim, err error) {
	for _, c := range v.Where(func(p UtilityParams) bool { return p.Method.Name == semiDual && !p.Fashion }) {
		out = append(out, claimWorth(v, c)...)
		out = append(out, againstOthers(v, c, func(what, other string, mine, their Judgement) []lab.Claim {
			return []lab.Claim{{What: what + "CNN, less that of " + other, Source: "who wins at the same ε", Got: mine.CNN - their.CNN, Relation: lab.AtLeast, Want: .006,
				Why: "more than half of the 95 % interval of an accuracy of 90 % on 10,000 digits", SkipReason: fewer(v), Null: worthless.Name}}
		})...)
	}
	return append(out, claimMERF(v)...), nil
}

// claimMERF compares DP-MERF's FID with the printed one.
func claimMERF(v utilityView) (out []lab.Claim) {
	for _, c := range v.Where(func(p UtilityParams) bool { return p.Method.Name == dpMERF && p.Method.Epsilon == 10 }) {
		printed := 116.3
		if c.Params.Fashion {
			printed = 132.6
		}
		out = append(out, claimFID(v.Preset, c.Params.Judge, c.Params.what()[:len(c.Params.what())-2], "Table 1", c.Value.Judged.FD, printed, worthless.Name))
	}
	return out
}

// worth is what classifiers should reach by digits of the semi-dual: logistic regression what plain images as atoms do.
var worth = map[float64][3]float64{10: {.873, .90, .90}, 1: {.851, .88, .90}, .3: {.805, .85, .85}}

func claimWorth(v utilityView, c utilityCell) (out []lab.Claim) {
	eps, what := c.Params.Method.Epsilon, c.Params.what()
	for k, a := range c.Value.Judged.accuracies() {
		if want := worth[eps][k]; want > 0 {
			out = append(out, lab.Claim{What: what + []string{"logistic regression", "MLP", "CNN"}[k], Source: "plain images as atoms, and what a private set should be worth", Got: a,
				Relation: lab.AtLeast, Want: want, Why: "a bound", SkipReason: fewer(v), Null: worthless.Name})
		}
	}
	if eps == 10 {
		tiny := lab.Pick(v.Preset, "1500 digits and a few steps", "", "", "")
		out = append(out,
			lab.Claim{What: what + "CNN against the paper's 83.2 % at an ε that does not hold", Source: "Table 1", Got: c.Value.Judged.CNN, Relation: lab.AtLeast, Want: .832, Why: "a comparison", SkipReason: tiny, Null: worthless.Name})
	}
	return out
}

// claimDiversity asks whose images are nearer to real ones and more diverse at the same ε.
func claimDiversity(v utilityView) (out []lab.Claim, err error) {
	for _, c := range v.Where(func(p UtilityParams) bool { return p.Method.Name == semiDual && !p.Fashion }) {
		out = append(out, againstOthers(v, c, func(what, other string, mine, their Judgement) []lab.Claim {
			return []lab.Claim{
				{What: what + "recall, less that of " + other, Source: "who is more diverse at the same ε", Got: mine.Recall - their.Recall, Relation: lab.AtLeast, Why: "a comparison", SkipReason: fewer(v), Null: worthless.Name},
				{What: what + c.Params.Judge.distance() + " over that of " + other, Source: "who is nearer at the same ε", Got: mine.FD / their.FD, Relation: lab.AtMost, Want: 1, Why: "a comparison", SkipReason: fewer(v), Null: worthless.Name},
			}
		})...)
	}
	return out, nil
}

// againstOthers compares a cell of the semi-dual with every other method at its ε.
func againstOthers(v utilityView, c utilityCell, claims func(what, other string, mine, their Judgement) []lab.Claim) (out []lab.Claim) {
	for _, other := range v.Where(func(p UtilityParams) bool {
		return p.Method.Epsilon == c.Params.Method.Epsilon && !strings.HasPrefix(p.Method.Name, semiDual) && p.Fashion == c.Params.Fashion
	}) {
		out = append(out, claims(c.Params.what(), other.Params.Method.Name, c.Value.Judged, other.Value.Judged)...)
	}
	return out
}

// claimOverEps asks that the semi-dual's digits are worth more the more ε is spent, and something at all.
func claimOverEps(v utilityView) (out []lab.Claim, err error) {
	cells := v.Where(func(p UtilityParams) bool { return p.Method.Name == semiDual && !p.Fashion }) // the largest ε first
	first, last := cells[0], cells[len(cells)-1]
	tiny := lab.Pick(v.Preset, "1500 digits and one ε", "", "", "")
	return []lab.Claim{
		{What: first.Params.what() + "logistic regression", Source: "Figure 4(b): 82.8 % at ε = 10", Got: first.Value.Judged.Logistic, Relation: lab.AtLeast, Want: lab.Pick(v.Preset, .6, .6, .75, .828),
			Why: "well above chance, and the paper's number at its sizes", SkipReason: tiny, Null: worthless.Name},
		{What: fmt.Sprintf("semi-dual: logistic regression at ε = %g, less that at ε = %g", first.Params.Method.Epsilon, last.Params.Method.Epsilon), Source: "Figure 4(b): utility rises with ε",
			Got: first.Value.Judged.Logistic - last.Value.Judged.Logistic, Relation: lab.AtLeast, Want: .01, Why: "more than the 95 % interval of the test set", SkipReason: tiny, Null: fallingWorth.Name},
	}, nil
}
