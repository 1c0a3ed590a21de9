package amplification

import (
	"fmt"
	"math"

	"coupling/lab"
)

// recomputed are numbers of steps for K = 16 at ε = 2, δ = 1e-6 found by others than this module.
var recomputed = map[Mechanism]struct {
	specific, corrected, published int // 0 for none
	room                           [3]float64
	why                            string
}{
	{"gaussian", 5, .001}: {19072, 18048, 65, [3]float64{.01, .05, .02},
		"found with a pessimistic privacy-loss distribution on a fixed grid, in multiples of 64; a certified enclosure allows a little more, the most where ε is small against the grid"},
	{"gaussian", 1, .001}: {157, 21, 0, [3]float64{.015, .05, 0}, "a step or two, by the width of the enclosure"},
}

func (f stepsFigure) claims(v composedView) ([]lab.Claim, error) {
	out := f.laws(v)
	asked := f.asked(v.Setting)
	if len(asked) == 0 {
		return out, nil
	}
	allowed, err := f.allowed().View(v.Source)
	if err != nil {
		return nil, err
	}
	for _, p := range asked {
		var steps [3]float64
		for i, r := range []route{direct, corrected, asPublished} {
			steps[i] = float64(allowed.At(r.allowed(p.setting, 16, p.eps)).Value.Steps)
		}
		if p.setting == (Mechanism{"gaussian", 5, .001}) {
			out = append(out,
				lab.Claim{What: "steps for K = 16 at δ = 1e-6, post-hoc as published", Source: "SSKG, section 4: “less than 100 iterations”", Got: steps[2], Relation: lab.AtMost, Want: 99, Why: "an integer below 100", Null: anyBudget.Name},
				lab.Claim{What: "steps for K = 16 at δ = 1e-6, specific", Source: "SSKG, section 4: “over 1000 iterations”", Got: steps[0], Relation: lab.AtLeast, Want: 1001, Why: "an integer above 1000", Null: anyBudget.Name},
				lab.Claim{What: "steps for K = 16 at δ = 1e-6, post-hoc corrected", Source: "the recomputed baseline allows over 1000 iterations too", Got: steps[1], Relation: lab.AtLeast, Want: 1001, Why: "an integer above 1000", Null: anyBudget.Name})
		}
		out = append(out, lab.Claim{What: fmt.Sprintf("%v: steps allowed, post-hoc corrected over specific", p.setting), Source: "the specific bound is tight", Got: steps[1] / steps[0], Relation: lab.AtMost, Want: 1, AbsTol: 1e-3,
			Why: "the width of the enclosures", Null: cheapCorrection.Name})
		want, known := recomputed[p.setting]
		if !known {
			continue
		}
		for i, n := range []int{want.specific, want.corrected, want.published} {
			if n > 0 {
				out = append(out, lab.Claim{What: fmt.Sprintf("%v: steps allowed, %s", p.setting, []route{direct, corrected, asPublished}[i]), Source: "recomputed from the authors' settings with Google's dp_accounting",
					Got: steps[i], Want: float64(n), RelTol: want.room[i], Why: want.why, Null: anyBudget.Name})
			}
		}
	}
	return out, nil
}

// laws compares the curves.
func (f stepsFigure) laws(v composedView) []lab.Claim {
	above, defect, width := math.Inf(-1), 0.0, 0.0
	for _, p := range f.panels {
		for _, k := range p.groups(v) {
			_, specific := p.line(v, direct, k)
			_, post := p.line(v, corrected, k)
			_, published := p.line(v, asPublished, k)
			for i := range specific { // comparisons with NaN are false
				if d := specific[i] - post[i]; d > above {
					above = d
				}
				if d := published[i] - post[i]; d > defect {
					defect = d
				}
			}
			got, _ := p.find(v, direct, k)
			for i, u := range got.Value.Upper {
				if u > 1e-12 {
					width = max(width, math.Log(u/got.Value.Lower[i]))
				}
			}
		}
	}
	return []lab.Claim{
		{What: "log of specific over corrected post-hoc δ, the largest", Source: "the specific bound is tight", Got: above, Relation: lab.AtMost, Want: 0, AbsTol: 0.1, Why: "the upper ends of enclosures at most 10% wide", Null: trivialBound.Name},
		{What: "published over corrected post-hoc δ, the largest in decades, at least", Source: "group privacy paid for twice", Got: defect / math.Ln10, Relation: lab.AtLeast, Want: 1, Why: "a decade can be seen", Null: nothingDrawn.Name},
		{What: "width of the enclosures behind specific lines, the largest log ratio", Source: "“exact as drawn”", Got: width, Relation: lab.AtMost, Want: 0.12, Why: "a line of 1.2 points is a tenth of a decade wide, 0.23", Null: trivialBound.Name},
	}
}
