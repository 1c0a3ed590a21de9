package dpsinkhorn

import (
	"fmt"
	"strings"

	"coupling/data/sample"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/figures/internal/kit"
	"coupling/lab"
)

// fewer says why a preset's numbers are not asked for: too little was made, or the whole data set
// is not on this machine.
func fewer(v view) string {
	return lab.Pick(v.Preset, "1500 digits and a few steps", "3000 synthetic digits and a small CNN",
		sample.Note(v.Cells[0].Params.Data, "mnist"), "")
}

// what names a cell in claims.
func (p Params) what() string {
	return fmt.Sprintf("%s, %s, ε = %g: ", setName(p.Fashion), p.Method.Name, p.Method.Epsilon)
}

// claimTable asks what the paper's method is worth, and compares its rows with what the paper prints.
func claimTable(v view) ([]lab.Claim, error) {
	out := claimMethod(v)
	v.Cells = means(v.Cells)
	return append(out, claimPrinted(v)...), nil
}

// claimMechanisms asks what the semi-dual's digits are worth, and who wins at the same ε.
func claimMechanisms(v view) (out []lab.Claim, err error) {
	digits := v.Where(func(p Params) bool { return !p.Fashion })
	runs := repeats(digits)
	// a linear classifier learns nearly as much from the semi-dual's images as from real ones
	own := claimNoCopies(v, best(runs, func(m Method) bool { return m.Name == semiDual }), best(runs, Method.isReal),
		"of the CNN", 2)
	own.SkipReason = fewer(v)
	v.Cells = digits
	out = append(claimMethod(v), own)
	v.Cells = means(digits)
	cells := v.Where(func(p Params) bool { return p.Method.Name == semiDual }) // the largest ε first
	for _, c := range cells {
		out = append(out, claimWorth(v, c)...)
		out = append(out, againstOthers(v, c)...)
		same := func(name string) []cell {
			return v.Where(func(p Params) bool {
				return p.Method.Name == name && p.Method.Epsilon == c.Params.Method.Epsilon
			})
		}
		for i, r := range same(refinedHand) {
			out = append(out, kit.AtMostUnless(fewer(v),
				r.Params.what()+c.Params.Judge.distance()+" over that before refining",
				"half of it is the goal, at the same ε",
				r.Value.Judged.FD/same(handwritten)[i].Value.Judged.FD, .5, "a comparison", worthless))
		}
	}
	first, last := cells[0], cells[len(cells)-1]
	return append(out, kit.AtLeastUnless(kit.Smoke(v.Preset, "1500 digits and one ε", ""),
		fmt.Sprintf("semi-dual: logistic regression at ε = %g, less that at ε = %g", first.Params.Method.Epsilon,
			last.Params.Method.Epsilon),
		"utility rises with ε", first.Value.Judged.Logistic-last.Value.Judged.Logistic, .01,
		"more than the 95 % interval of the test set; five trainings have a deviation of .002",
		fallingWorth)), nil
}

// claimPrinted compares rows of the paper's mechanisms with what it prints, at its sizes:
// accuracies by its protocol, distances of images as its code measures them.
func claimPrinted(v view) (out []lab.Claim) {
	short := "fewer steps and images than the paper's"
	for _, c := range v.Cells {
		m, j := c.Params.Method, c.Value.Judged
		row := publishedOf(c.Params.Fashion, m)
		if row.fid == 0 {
			continue
		}
		what, source := setName(c.Params.Fashion)+", "+m.Name, "Table 1"
		if m.Name == asPrinted {
			source += ", at an ε that is " + dpsinkhorn.NotJustified
		}
		out = append(out, claimFID(v.Preset, c.Params.Judge, what, source, j.Dark, row.fid, guessing)...)
		for k, a := range row.acc {
			out = append(out, kit.NearUnless(lab.Pick(v.Preset, short, short, short, ""),
				what+": "+classifiers[k]+" by the paper's protocol", source, j.By[0][k], a/100, .03, deltaWhy,
				guessing))
		}
		if m.Name == asPrinted {
			out = append(out, kit.AtLeast(what+": ε that holds ("+c.Value.Kind+") over the one as published",
				"sensitivity 2Δ√n", c.Value.Epsilon/c.Value.Published, 2, "noise that is √n times shorter than the "+
					"published accounting takes it for, n = 10 and more; less than √n is asked, since the two are "+
					"bounded in different ways", asClaimed))
		}
	}
	return out
}

// worth is what classifiers should reach by digits of the semi-dual: logistic regression what plain images as atoms do.
var worth = map[float64]triple{10: {.873, .90, .90}, 1: {.851, .88, .90}, .3: {.805, .85, .85}}

func claimWorth(v view, c cell) (out []lab.Claim) {
	eps, what := c.Params.Method.Epsilon, c.Params.what()
	for k, a := range c.Value.Judged.accuracies() {
		if want := worth[eps][k]; want > 0 {
			out = append(out, kit.AtLeastUnless(fewer(v), what+[]string{"logistic regression", "MLP", "CNN"}[k],
				"plain images as atoms, and what a private set should be worth", a, want, "a bound", worthless))
		}
	}
	return out
}

// againstOthers compares a cell of the semi-dual with every other method at its ε.
func againstOthers(v view, c cell) (out []lab.Claim) {
	mine := c.Value.Judged
	for _, other := range v.Where(func(p Params) bool {
		return p.Method.Epsilon == c.Params.Method.Epsilon && !strings.HasPrefix(p.Method.Name, semiDual)
	}) {
		what, name, their := c.Params.what(), other.Params.Method.Name, other.Value.Judged
		out = append(out,
			kit.AtLeastUnless(fewer(v), what+"CNN, less that of "+name, "who wins at the same ε",
				mine.CNN-their.CNN, .006, "more than half of the 95 % interval of an accuracy of 90 % on 10,000 "+
					"digits", worthless))
	}
	return out
}

// claimOverEps asks that DP-Sinkhorn's digits are worth more the more ε is spent, and what every item asks of it.
func claimOverEps(v view) ([]lab.Claim, error) {
	out := claimMethod(v)
	// the largest ε first
	runs := repeats(v.Where(func(p Params) bool { return p.Method.Name == wholeBatch && !p.Fashion }))
	first, last := runs[0], runs[len(runs)-1]
	one := "one ε"
	out = append(out, kit.AtLeastUnless(lab.Pick(v.Preset, one, one, unasked(v, first[0].Params), ""),
		fmt.Sprintf("logistic regression at ε = %g, less that at ε = %g, in standard errors",
			first[0].Params.Method.Epsilon, last[0].Params.Method.Epsilon),
		"Figure 4(b): utility rises with ε",
		scoreOf(first, accuracy(0)).above(scoreOf(last, accuracy(0))), 3, errorsWhy, guessing))
	return out, nil
}
