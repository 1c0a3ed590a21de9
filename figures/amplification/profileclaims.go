package amplification

import (
	"fmt"
	"math"
	"slices"

	"coupling/lab"
)

// reference is a value of ../shared/refs/dp/figures_adp.json, computed there with 40 digits.
type reference struct {
	setting           Mechanism
	group             int
	eps               float64
	specific          float64
	agnostic, postHoc float64
}

var references = []reference{
	{Mechanism{"gaussian", 2, .2}, 4, 1, 0.010877428654254189359, 0.018464914975865419399, 0.014227803187337822377},
	{Mechanism{"gaussian", 2, .2}, 16, 2, 0.21299170740212847672, 0.22620889984677225992, 0.48631066806627953311},
	{Mechanism{"gaussian", 1, .1}, 4, 2, 0.0071484207990939811591, 0.011708881255470384450, 0.020017830451570112244},
	{Mechanism{"laplace", 1, .2}, 4, 1, 0.018303195684538075517, 0.057337052429846394013, 0.068283433475678899291},
	{Mechanism{"laplace", 1, .2}, 16, 2, 0.34348512176436601137, 0.38576367257669140207, 1},
	{Mechanism{"laplace", 2, .1}, 16, 1, 0.0002907266026244693479, 0.050674555072947528037, 0.0030531914747553718114},
	{Mechanism{"response", .8, .2}, 4, 1, 0.010583634308190952928, 0.010583634308190952928, 0.38231323878825626886},
	{Mechanism{"response", .9, .1}, 16, .5, 0.58688625782183990532, 0.58688625782183990532, 1},
}

func (f profileFigure) claims(v lab.View[ProfileParams, ProfileOut]) ([]lab.Claim, error) {
	above, single, equal := math.Inf(-1), 0.0, 0.0
	gain := 1.0
	var out []lab.Claim
	for _, c := range v.Cells {
		for i, specific := range c.Value.Specific {
			base := c.Value.baseline(f.against)[i]
			excess := specific - base
			switch {
			case math.IsInf(specific, -1):
				continue // 0 is below everything
			case c.Params.Group == 1:
				single = max(single, math.Abs(excess))
			case specific > math.Log(1e-3):
				gain = max(gain, math.Exp(-excess))
			}
			above, equal = max(above, excess), max(equal, math.Abs(excess))
		}
		out = append(out, f.referenceClaims(c)...)
	}
	theorem := "SSKG, section 3.2 and appendix N.3: the agnostic bound is the specific one with joint convexity applied"
	if f.against == postHoc {
		theorem = "SSKG, section 4: the specific bound is tight, the post-hoc one valid"
	}
	laws := []lab.Claim{
		{What: "log of specific over " + string(f.against) + " δ, the largest over all curves", Source: theorem, Got: above, Relation: lab.AtMost, Want: 0, AbsTol: 1e-11, Why: exactly, Null: slightlyOff.Name},
		{What: "K = 1: the largest difference of log δ between the two bounds", Source: "SSKG, section 3.2: identical for K = 1", Got: single, Want: 0, AbsTol: 1e-11, Why: exactly, Null: slightlyOff.Name},
	}
	if f.against == agnostic && f.settings[0].Kind == "response" {
		return slices.Concat(laws, []lab.Claim{
			{What: "all K: the largest difference of log δ between the two bounds", Source: "../shared/refs/dp/figures_adp.json; the batch matters only through whether it holds a group record",
				Got: equal, Want: 0, AbsTol: 1e-11, Why: exactly, Null: slightlyOff.Name},
		}, out), nil
	}
	laws = append(laws, lab.Claim{What: "K ≥ 2: the largest " + string(f.against) + " δ over specific δ where that is above 1e-3, at least", Source: "SSKG, section 4: “stronger privacy guarantees” for K ≥ 2",
		Got: gain, Relation: lab.AtLeast, Want: 1.05, Why: "a gap that can be seen in the figure; the paper gives no number", Null: allTheSame.Name})
	return slices.Concat(laws, out), nil
}

// referenceClaims compares a cell with the references that it holds.
func (f profileFigure) referenceClaims(c lab.Result[ProfileParams, ProfileOut]) (out []lab.Claim) {
	const source, why = "../shared/refs/dp/figures_adp.json", "the reference states 1e-14, package dp 1e-12"
	for _, r := range references {
		i := slices.Index(c.Params.Eps, r.eps)
		if r.setting != c.Params.Setting || r.group != c.Params.Group || i < 0 {
			continue
		}
		what := fmt.Sprintf("δ at %v, K = %d, ε = %g", r.setting, r.group, r.eps)
		want := r.agnostic
		if f.against == postHoc {
			want = r.postHoc
		}
		out = append(out,
			lab.Claim{What: "specific " + what, Source: source, Got: math.Exp(c.Value.Specific[i]), Want: r.specific, RelTol: 1e-12, Why: why, Null: slightlyOff.Name},
			lab.Claim{What: string(f.against) + " " + what, Source: source, Got: math.Exp(c.Value.baseline(f.against)[i]), Want: want, RelTol: 1e-12, Why: why, Null: slightlyOff.Name})
	}
	return out
}
