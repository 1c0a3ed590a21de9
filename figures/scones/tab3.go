package scones

import (
	"context"
	"fmt"
	"math"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot/fdiv"
)

// Tab3 is Table 3: f-divergences, their conjugates and compatibility functions.
func Tab3() lab.Study[DivergenceParams, DivergenceOut] {
	return lab.Study[DivergenceParams, DivergenceOut]{
		Name:  "scones/tab3",
		Title: "Table 3: f-divergences and their conjugates, checked",
		Shows: "Each conjugate is compared with the supremum that defines it, found numerically, and each " +
			"compatibility function with where that supremum is. The rows as the paper prints them are compared " +
			"too: Jensen–Shannon has the derivative in the column of the conjugate, and Pearson's χ² lacks v ≥ 0.",
		Sizes:      kit.Sizes("%v arguments of each conjugate", kit.Per{20, 200, 200, 200}),
		Seconds:    kit.ByPreset(.1, .1, .1, .1),
		Experiment: divergenceOf,
		Grid:       divergenceGrid,
		Draw:       drawTab3,
		Claims:     claimTab3,
	}
}

// DivergenceParams are one divergence and how many arguments of its conjugate are looked at.
type DivergenceParams struct {
	F fdiv.Divergence `json:"f" enum:"kl,reverse-kl,pearson,chi2,hellinger,js,gan" doc:"divergence"`
	N int             `json:"n" min:"1" doc:"arguments of its conjugate that are looked at"`
}

// DivergenceOut are largest deviations, relative to 1 + |value|. Printed is NaN where the paper has no such row.
type DivergenceOut struct {
	Conjugate         float64 `json:"conjugate"`
	Compatibility     float64 `json:"compatibility"`
	PrintedConjugate  float64 `json:"printed_conjugate"`
	PrintedDerivative float64 `json:"printed_derivative"`
	Convex            bool    `json:"convex"` // f″ is bounded away from zero for v ≥ 0: Proposition 2.4 applies
}

var divergenceOf = lab.Experiment[DivergenceParams, DivergenceOut]{
	Name: "scones/divergence", Version: 1,
	Run: func(_ context.Context, _ *lab.Cell, p DivergenceParams) (DivergenceOut, error) {
		// The second derivative of f far out, by the inverse of that of its conjugate.
		out := DivergenceOut{PrintedConjugate: math.NaN(), PrintedDerivative: math.NaN(),
			Convex: 1/p.F.Curvature(p.F.Slope(1e6)) > 1e-3}
		out.Conjugate, out.Compatibility = p.deviations(tableRow{p.F.Conjugate, p.F.Compatibility})
		if row, ok := table3[p.F]; ok {
			out.PrintedConjugate, out.PrintedDerivative = p.deviations(row)
		}
		return out, nil
	},
}

// tableRow is a conjugate and its derivative.
type tableRow struct{ conjugate, derivative func(v float64) float64 }

// deviations returns how far a row is at most from the supremum that defines the conjugate of p.F,
// and from where that is.
func (p DivergenceParams) deviations(row tableRow) (conjugate, derivative float64) {
	top := min(2, p.F.Bound())
	off := func(got, want float64) float64 { return math.Abs(got-want) / (1 + math.Abs(want)) }
	for k := range p.N {
		u := top - 6*(float64(k)+.5)/float64(p.N)
		value, at := supremum(p.F, u)
		conjugate, derivative = max(conjugate, off(row.conjugate(u), value)),
			max(derivative, off(row.derivative(u), at))
	}
	return conjugate, derivative
}

// swapRows gives each divergence the conjugate of the next.
func swapRows(cells []lab.Result[DivergenceParams, DivergenceOut]) {
	for i := range cells {
		next := cells[(i+1)%len(cells)].Params.F
		conjugate, derivative := cells[i].Params.deviations(tableRow{next.Conjugate, next.Compatibility})
		cells[i].Value = DivergenceOut{
			Conjugate:         conjugate,
			Compatibility:     derivative,
			PrintedConjugate:  conjugate,
			PrintedDerivative: derivative,
		}
	}
}

// table3 is the paper's Table 3, as printed.
var table3 = map[fdiv.Divergence]tableRow{
	fdiv.KL: {func(v float64) float64 { return math.Exp(v - 1) },
		func(v float64) float64 { return math.Exp(v - 1) }},
	fdiv.ReverseKL: {func(v float64) float64 { return math.Log(-1/v) - 1 }, func(v float64) float64 { return -1 / v }},
	fdiv.Pearson:   {func(v float64) float64 { return v*v/4 + v }, func(v float64) float64 { return v/2 + 1 }},
	fdiv.Hellinger: {func(v float64) float64 { return v / (1 - v) },
		func(v float64) float64 { return 1 / ((1 - v) * (1 - v)) }},
	fdiv.JensenShannon: {
		func(v float64) float64 { return math.Exp(v) / (2 - math.Exp(v)) },
		func(v float64) float64 { return 2*v/(math.Exp(v)-2) + v - math.Log(2-math.Exp(v)) },
	},
	fdiv.GAN: {func(v float64) float64 { return -v - math.Log(math.Exp(-v)-1) },
		func(v float64) float64 { return 1 / (math.Exp(-v) - 1) }},
}

// supremum maximises u·v − f(v) over v ≥ 0 by golden sections in log v, and looks at v = 0 too. The place has half the
// digits of the value.
func supremum(f fdiv.Divergence, u float64) (value, at float64) {
	g := func(t float64) float64 { v := math.Exp(t); return u*v - f.F(v) }
	lo, hi := -30., 30.
	const phi = 0.6180339887498949
	a, b := hi-phi*(hi-lo), lo+phi*(hi-lo)
	for fa, fb := g(a), g(b); hi-lo > 1e-10; {
		if fa >= fb {
			hi, b, fb = b, a, fa
			a = hi - phi*(hi-lo)
			fa = g(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + phi*(hi-lo)
			fb = g(b)
		}
	}
	t := (lo + hi) / 2
	if zero := -f.F(0); zero >= g(t) {
		return zero, 0
	}
	return g(t), math.Exp(t)
}

func divergenceGrid(set lab.Setting) (out []DivergenceParams) {
	for _, f := range fdiv.All() {
		out = append(out, DivergenceParams{F: f, N: kit.Smoke(set.Preset, 20, 200)})
	}
	return out
}

func drawTab3(v lab.View[DivergenceParams, DivergenceOut]) (lab.Exhibit, error) {
	formulas := map[fdiv.Divergence][4]string{
		fdiv.KL:            {"Kullback–Leibler", "v log v", "e^{u−1}", "e^{u−1}"},
		fdiv.ReverseKL:     {"reverse KL", "−log v", "−1 − log(−u)", "−1/u"},
		fdiv.Pearson:       {"Pearson χ^{2}", "(v−1)^{2}", "u^{2}/4 + u, −1 below −2", "(u/2 + 1)_{+}"},
		fdiv.ChiSquare:     {"χ^{2} of the code", "v^{2} − 1", "(u_{+})^{2}/4 + 1", "u_{+}/2"},
		fdiv.Hellinger:     {"squared Hellinger", "(√v − 1)^{2}", "u/(1−u)", "(1−u)^{−2}"},
		fdiv.JensenShannon: {"Jensen–Shannon", "v log v − (v+1) log((v+1)/2)", "−log(2−e^{u})", "e^{u}/(2−e^{u})"},
		fdiv.GAN:           {"GAN", "v log v − (v+1) log(v+1)", "−log(1−e^{u})", "1/(e^{−u}−1)"},
	}
	table := style.Table{
		Header: []string{"f-divergence", "f(v), v ≥ 0", "f*(u)", "f*′(u) = M", "bound of u", "strongly convex",
			"error of f*, M", "as printed: f*, M"},
		Left: []int{0, 1, 2, 3},
	}
	for _, c := range v.Cells {
		f, o := c.Params.F, c.Value
		bound := "none"
		if b := f.Bound(); !math.IsInf(b, 1) {
			bound = fmt.Sprintf("%.3g", b)
		}
		convex := "no"
		if o.Convex {
			convex = "yes"
		} else if f == fdiv.KL {
			convex = "in L^{1}"
		}
		shown := "–"
		if !math.IsNaN(o.PrintedConjugate) {
			shown = fmt.Sprintf("%.0e, %.0e", o.PrintedConjugate, o.PrintedDerivative)
		}
		t := formulas[f]
		table.Rows = append(table.Rows, []string{t[0], t[1], t[2], t[3], bound, convex,
			fmt.Sprintf("%.0e, %.0e", o.Conjugate, o.Compatibility), shown})
	}
	return lab.Exhibit{
		Pictures: []lab.Picture{{
			Caption: "f-divergences with corrected conjugates. Errors are the largest deviations, over arguments " +
				"from the bound down by 6, from the supremum sup_{v≥0} uv − f(v) found numerically; the place of " +
				"the supremum, which M is, is found to half the digits. The text and code of the paper use v² − 1, " +
				"which Table 3 has not.",
			Drawing: style.Figure{Body: table, Width: style.TwoColumns * 1.35, Badge: ""},
		}},
	}, nil
}

func claimTab3(v lab.View[DivergenceParams, DivergenceOut]) (out []lab.Claim, err error) {
	swapped := kit.NullOf("the row of another divergence", divergenceOf, swapRows)
	flawless := kit.Null("a table without errata", divergenceOf,
		func(_ DivergenceParams, v *DivergenceOut) { v.PrintedConjugate, v.PrintedDerivative = 0, 0 })
	for _, c := range v.Cells {
		f, o := c.Params.F, c.Value
		out = append(out,
			kit.AtMostWithin(f.String()+": conjugate", "definition", o.Conjugate, 0, 1e-9,
				"golden sections to 1e-10 of log v, squared; cancellation", swapped),
			kit.AtMostWithin(f.String()+": compatibility", "definition", o.Compatibility, 0, 1e-5,
				"the place of a maximum is known to the root of the rounding of its value", swapped))
		switch f {
		case fdiv.JensenShannon:
			out = append(out, kit.AtLeast("js: the conjugate as printed is off by", "Table 3", o.PrintedConjugate, .1,
				"an erratum: the column holds the derivative", flawless))
		case fdiv.Pearson:
			out = append(out, kit.AtLeast("pearson: the derivative as printed is off by", "Table 3",
				o.PrintedDerivative, .1,
				"an erratum: it is negative below −2", flawless))
		case fdiv.KL, fdiv.ReverseKL, fdiv.Hellinger, fdiv.GAN:
			out = append(out, kit.AtMostWithin(f.String()+": the row as printed", "Table 3",
				max(o.PrintedConjugate, o.PrintedDerivative), 0, 1e-5, "as above", swapped))
		}
	}
	return out, nil
}
