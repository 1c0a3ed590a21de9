package amplification

import (
	"fmt"
	"math"

	"coupling/lab"
)

// recomputed are numbers of steps for K = 16 at ε = 2, δ = 1e-6 found by others than this module.
var recomputed = map[setting]struct {
	specific, corrected, published int // 0 for none
	room                           [3]float64
	why                            string
}{
	{"gaussian", 5, .001}: {19072, 18048, 65, [3]float64{.01, .05, .02},
		"found with a pessimistic privacy-loss distribution on a fixed grid, in multiples of 64; a certified enclosure allows a little more, the most where ε is small against the grid"},
	{"gaussian", 1, .001}: {157, 21, 0, [3]float64{.015, .05, 0}, "a step or two, by the width of the enclosure"},
}

func (f stepsFigure) claims(s *lab.Store, set lab.Setting) ([]lab.Claim, error) {
	out, err := f.laws(s, set)
	if err != nil {
		return nil, err
	}
	for _, p := range f.asked(set) {
		var steps [3]float64
		for i, r := range []route{direct, corrected, asPublished} {
			got, err := lab.Recall(s, allowedOf, set.Seed, r.allowed(p.setting, 16, p.eps))
			if err != nil {
				return nil, err
			}
			steps[i] = float64(got.Value.Steps)
		}
		if p.setting == (setting{"gaussian", 5, .001}) {
			out = append(out,
				lab.Claim{What: "steps for K = 16 at δ = 1e-6, post-hoc as published", Source: "SSKG, section 4: “less than 100 iterations”", Got: steps[2], Relation: lab.AtMost, Want: 99, Why: "an integer below 100"},
				lab.Claim{What: "steps for K = 16 at δ = 1e-6, specific", Source: "SSKG, section 4: “over 1000 iterations”", Got: steps[0], Relation: lab.AtLeast, Want: 1001, Why: "an integer above 1000"},
				lab.Claim{What: "steps for K = 16 at δ = 1e-6, post-hoc corrected", Source: "the recomputed baseline allows over 1000 iterations too", Got: steps[1], Relation: lab.AtLeast, Want: 1001, Why: "an integer above 1000"})
		}
		out = append(out, lab.Claim{What: fmt.Sprintf("%v: steps allowed, post-hoc corrected over specific", p.setting), Source: "the specific bound is tight", Got: steps[1] / steps[0], Relation: lab.AtMost, Want: 1, AbsTol: 1e-3,
			Why: "the width of the enclosures"})
		want, known := recomputed[p.setting]
		if !known {
			continue
		}
		for i, n := range []int{want.specific, want.corrected, want.published} {
			if n > 0 {
				out = append(out, lab.Claim{What: fmt.Sprintf("%v: steps allowed, %s", p.setting, []route{direct, corrected, asPublished}[i]), Source: "recomputed from the authors' settings with Google's dp_accounting",
					Got: steps[i], Want: float64(n), RelTol: want.room[i], Why: want.why})
			}
		}
	}
	return out, nil
}

// laws compares the curves.
func (f stepsFigure) laws(s *lab.Store, set lab.Setting) ([]lab.Claim, error) {
	above, defect, width := math.Inf(-1), 0.0, 0.0
	for _, p := range f.panels {
		for _, k := range stepsGroups(set.Preset) {
			_, specific, err := p.line(s, set, direct, k)
			if err != nil {
				return nil, err
			}
			_, post, err := p.line(s, set, corrected, k)
			if err != nil {
				return nil, err
			}
			_, published, err := p.line(s, set, asPublished, k)
			if err != nil {
				return nil, err
			}
			for i := range specific { // comparisons with NaN are false
				if d := specific[i] - post[i]; d > above {
					above = d
				}
				if d := published[i] - post[i]; d > defect {
					defect = d
				}
			}
			got, err := lab.Recall(s, composedOf, set.Seed, p.cell(direct, k, set.Preset))
			if err != nil {
				return nil, err
			}
			for i, u := range got.Value.Upper {
				if u > 1e-12 {
					width = max(width, math.Log(u/got.Value.Lower[i]))
				}
			}
		}
	}
	return []lab.Claim{
		{What: "log of specific over corrected post-hoc δ, the largest", Source: "the specific bound is tight", Got: above, Relation: lab.AtMost, Want: 0, AbsTol: 0.1, Why: "the upper ends of enclosures at most 10% wide"},
		{What: "published over corrected post-hoc δ, the largest in decades, at least", Source: "group privacy paid for twice", Got: defect / math.Ln10, Relation: lab.AtLeast, Want: 1, Why: "a decade can be seen"},
		{What: "width of the enclosures behind specific lines, the largest log ratio", Source: "“exact as drawn”", Got: width, Relation: lab.AtMost, Want: 0.12, Why: "a line of 1.2 points is a tenth of a decade wide, 0.23"},
	}, nil
}
