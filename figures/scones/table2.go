package scones

import (
	"fmt"
	"math"

	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/plot"
)

// Gaussians is Table 2: SCONES between Gaussians.
func Gaussians() lab.Figure {
	return lab.Figure{
		Name:  "scones/gaussians",
		Title: "Table 2: sampling entropic plans between Gaussians",
		Shows: "How far the covariance of sampled pairs is from that of the optimal plan. With exact potentials and the paper's Langevin " +
			"settings the paper's row comes out, so it measures samplers that did not converge and finite samples, not networks; with longer " +
			"steps only the floor of finite samples is left. At the paper's λ = 2d the independent coupling is better than SCONES from d = 64 on; " +
			"at a tenth of that λ it is not, and potentials fitted from samples are what counts.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "d = 2 and 4, one pair, 500 samples, networks of 3 × 16",
			lab.Quick: "two pairs of Gaussians; 10,000 samples; Langevin dynamics run up to d = 64, beyond drawn from its law; potentials fitted, and networks of 3 × 96 trained, up to d = 16",
			lab.Paper: "ten pairs of Gaussians for d = 2 to 256, 10,000 samples, all run and fitted, networks of 3 × 4096",
		},
		Decoders: []lab.Decoder{gaussiansOf.Decoder(), networksOf.Decoder()},
		Jobs: func(set lab.Setting) ([]lab.Job, error) {
			return append(gaussiansOf.Jobs(set.Seed, gaussiansGrid(set.Preset)...), networksOf.Jobs(set.Seed, networksGrid(set)...)...), nil
		},
		Draw:   drawGaussians,
		Claims: claimGaussians,
	}
}

var perDims = []float64{2, .2}

func gaussiansDims(p lab.Preset) []int {
	return pick(p, []int{2, 4}, []int{2, 16, 64, 128, 256}, []int{2, 16, 64, 128, 256})
}

func gaussiansGrid(p lab.Preset) (out []gaussiansParams) {
	for _, per := range perDims {
		for _, d := range gaussiansDims(p) {
			for pair := range pick(p, 1, 2, 10) {
				fit := pick(p, 100, 2000, 2000)
				if p == lab.Quick && (d > 16 || pair > 0) {
					fit = 0
				}
				out = append(out, gaussiansParams{
					D: d, Pair: pair, PerDim: per, Samples: pick(p, 500, 10000, 10000),
					Run: p != lab.Quick || d < 64 || d == 64 && pair == 0, Fit: fit,
				})
			}
		}
	}
	return out
}

// gaussiansRow is one method: how it is called, and its number.
type gaussiansRow struct {
	name string
	of   func(gaussiansOut) float64
}

var gaussiansRows = []gaussiansRow{
	{"exact potentials, the paper's steps", func(o gaussiansOut) float64 { return first(o.Paper, o.Law) }},
	{"exact potentials, longer steps", func(o gaussiansOut) float64 { return o.Better }},
	{"samples of the exact plan", func(o gaussiansOut) float64 { return o.Floor }},
	{"independent coupling", func(o gaussiansOut) float64 { return o.Independent }},
	{"barycentric projection", func(o gaussiansOut) float64 { return o.Barycentric }},
	{"quadratic potentials, Algorithm 1", func(o gaussiansOut) float64 { return o.Ascent }},
	{"Gaussian potentials, LightSB", func(o gaussiansOut) float64 { return o.Light }},
}

func first(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	return a
}

// table2 holds the means over pairs.
type table2 struct {
	cells []lab.Result[gaussiansParams, gaussiansOut]
	nets  []lab.Result[networksParams, networksOut]
	dims  []int
}

func recallTable2(s *lab.Store, set lab.Setting) (table2, error) {
	cells, err := lab.RecallAll(s, gaussiansOf, set.Seed, gaussiansGrid(set.Preset))
	if err != nil {
		return table2{}, err
	}
	nets, err := lab.RecallAll(s, networksOf, set.Seed, networksGrid(set))
	return table2{cells, nets, gaussiansDims(set.Preset)}, err
}

// networksRows are what trained networks give at the paper's λ.
var networksRows = []struct {
	name string
	of   func(networksOut) float64
}{
	{"networks, Algorithm 1", func(o networksOut) float64 { return o.UVP }},
	{"barycentric projection by a network", func(o networksOut) float64 { return o.Projection }},
}

// networks is a mean over trained networks, NaN where none was trained.
func (t table2) networks(d int, of func(networksOut) float64) float64 {
	sum, n := 0., 0.
	for _, c := range t.nets {
		if c.Params.Problem.D == d {
			sum, n = sum+of(c.Value), n+1
		}
	}
	return sum / n
}

// projected is the mean, over pairs with networks, of the BW-UVP of a network's projection over that of the exact one; NaN where
// none was trained.
func (t table2) projected(d int) float64 {
	sum, n := 0., 0.
	for _, net := range t.nets {
		q := net.Params.Problem
		for _, c := range t.cells {
			if p := c.Params; q.D == d && p.D == d && p.Pair == q.Pair && p.PerDim == q.PerDim {
				sum, n = sum+net.Value.Projection/c.Value.Barycentric, n+1
			}
		}
	}
	return sum / n
}

// mean is over the pairs that have the number, NaN if none has.
func (t table2) mean(per float64, d int, of func(gaussiansOut) float64) float64 {
	sum, n := 0., 0.
	for _, c := range t.cells {
		if v := of(c.Value); c.Params.PerDim == per && c.Params.D == d && !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

// printed are the rows of the paper's Table 2.
var printed = struct {
	d          []int
	scones, bp []float64
}{[]int{2, 16, 64, 128, 256}, []float64{.025, .52, 1.2, 1.4, 2.0}, []float64{7.1, 35, 42, 41, 41}}

func drawGaussians(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
	t, err := recallTable2(s, set)
	if err != nil {
		return lab.Exhibit{}, err
	}
	panels := style.Panels{ShareY: true}
	var tables []lab.Table
	for _, per := range perDims {
		var items []plot.Plotter
		header := []string{"BW-UVP, %"}
		for _, d := range t.dims {
			header = append(header, fmt.Sprintf("d = %d", d))
		}
		table := lab.Table{Name: fmt.Sprintf("lambda-%gd", per), Caption: fmt.Sprintf("λ = %g d, means over pairs", per), Header: header}
		for k, row := range gaussiansRows {
			line := style.Line{Name: row.name, Series: k, Marks: true}
			text := []string{row.name}
			for _, d := range t.dims {
				v := t.mean(per, d, row.of)
				line.X, line.Y = append(line.X, float64(d)), append(line.Y, v)
				text = append(text, number(v))
			}
			items = append(items, line)
			table.Rows = append(table.Rows, text)
		}
		if per == perDims[0] {
			for k, net := range networksRows {
				line, row := style.Line{Name: net.name, Series: len(gaussiansRows) + k, Marks: true}, []string{net.name}
				for _, d := range t.dims {
					v := t.networks(d, net.of)
					line.X, line.Y = append(line.X, float64(d)), append(line.Y, v)
					row = append(row, number(v))
				}
				items = append(items, line)
				table.Rows = append(table.Rows, row)
			}
			x := make([]float64, len(printed.d))
			for i, d := range printed.d {
				x[i] = float64(d)
			}
			items = append(items, style.Points{Name: "printed in the paper: SCONES, projection", X: append(x, x...), Y: append(printed.scones, printed.bp...), Color: style.Black, Radius: 2.5})
			printedRow := func(name string, ys []float64) []string {
				row := []string{name}
				for _, d := range t.dims {
					v := math.NaN()
					for i, at := range printed.d {
						if at == d {
							v = ys[i]
						}
					}
					row = append(row, number(v))
				}
				return row
			}
			table.Rows = append(table.Rows, printedRow("printed: SCONES", printed.scones), printedRow("printed: barycentric projection", printed.bp))
		}
		for _, row := range []struct {
			name string
			of   func(d int) float64
		}{
			{"samples a second: the paper's steps", func(d int) float64 { return t.mean(per, d, func(o gaussiansOut) float64 { return o.PaperTime }) }},
			{"longer steps", func(d int) float64 { return t.mean(per, d, func(o gaussiansOut) float64 { return o.BetterTime }) }},
			{"LightSB", func(d int) float64 { return t.mean(per, d, func(o gaussiansOut) float64 { return o.LightTime }) }},
			{"networks, longer steps", func(d int) float64 { return t.networks(d, func(o networksOut) float64 { return o.Sample }) }},
		} {
			text := []string{row.name}
			for _, d := range t.dims {
				text = append(text, perSecond(row.of(d)))
			}
			if per == perDims[0] || row.name != "networks, longer steps" {
				table.Rows = append(table.Rows, text)
			}
		}
		tables = append(tables, table)
		panels.Items = append(panels.Items, style.Plot{
			Title: fmt.Sprintf("λ = %g d", per), X: style.Axis{Label: "dimension d", Log: true}, Y: style.Axis{Label: "BW-UVP", Unit: "%", Log: true}, Items: items,
		})
	}
	fig := style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, fmt.Sprintf("%d pairs", pick(set.Preset, 1, 2, 10)))}
	return lab.Exhibit{
		Pictures: []lab.Picture{{Caption: "Bures–Wasserstein unexplained variance of the covariance of (x, y) against that of the optimal plan; lower is better. " +
			"All methods share their sources. Fitted rows know samples only, and the exact score of the target.", Drawing: fig}},
		Tables: tables,
		Notes:  []string{"The paper's text says d = 54 where its table and code say 64. Its stored pairs of covariances are not used: pairs are drawn anew by the same rule."},
	}, nil
}

// number writes a percentage for the table.
func number(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf("%.2g", v)
}

func claimGaussians(s *lab.Store, set lab.Setting) ([]lab.Claim, error) {
	t, err := recallTable2(s, set)
	if err != nil {
		return nil, err
	}
	const spread = "pairs of random Gaussians differ by some 10 %; at d = 2 the number is that of three random variances"
	predicted := map[int][4]float64{ // the paper's steps, floor, projection, independent: from the closed form of the sampler's law
		2: {.0073, .0085, 8.6, 21.5}, 16: {.58, .068, 40.2, 2.71}, 64: {1.19, .285, 49.6, .50}, 128: {1.37, .575, 48.8, .62}, 256: {2.04, 1.13, 51.3, 1.15},
	}
	var out []lab.Claim
	small := ""
	if set.Preset == lab.Smoke {
		small = "the floor is that of 500 samples"
	}
	for _, d := range t.dims {
		at := func(of func(gaussiansOut) float64) float64 { return t.mean(2, d, of) }
		paper, floor := at(gaussiansRows[0].of), at(gaussiansRows[2].of)
		if want, ok := predicted[d]; ok {
			low := lowD(d)
			out = append(out,
				lab.Claim{What: fmt.Sprintf("exact potentials, the paper's steps, d = %d", d), Source: "law of the sampler", Got: paper, Want: want[0], AbsTol: low, RelTol: .15, Why: spread},
				lab.Claim{What: fmt.Sprintf("sample floor, d = %d", d), Source: "samples of the exact plan", Got: floor, Want: want[1], AbsTol: low, RelTol: .15, Why: spread},
				lab.Claim{What: fmt.Sprintf("exact barycentric projection, d = %d", d), Source: "closed form", Got: at(gaussiansRows[4].of), Want: want[2], AbsTol: 1, RelTol: pickD(d, .5, .15, .06), Why: spread},
				lab.Claim{What: fmt.Sprintf("independent coupling, d = %d", d), Source: "samples", Got: at(gaussiansRows[3].of), Want: want[3], AbsTol: low, RelTol: pickD(d, .6, .25, .15), Why: spread},
			)
			if d >= 16 {
				i := map[int]int{16: 1, 64: 2, 128: 3, 256: 4}[d]
				out = append(out, lab.Claim{What: fmt.Sprintf("SCONES, d = %d", d), Source: "Table 2", Got: paper, Want: printed.scones[i], RelTol: .2, Why: "two digits are printed, for other pairs"})
			}
			if d >= 64 {
				out = append(out, lab.Claim{What: fmt.Sprintf("independent coupling over SCONES, d = %d", d), Source: "λ = 2d is nearly independent", Got: at(gaussiansRows[3].of) / paper, Relation: lab.AtMost, Want: 1, Why: "a comparison"})
			}
		}
		if better := at(gaussiansRows[1].of); !math.IsNaN(better) {
			out = append(out, lab.Claim{What: fmt.Sprintf("longer steps against the floor, d = %d", d), Source: "sample floor", Got: better, Relation: lab.AtMost, Want: floor, AbsTol: lowD(d), RelTol: pickD(d, .1, .2, .1),
				Why: "both are random, by some 30 % at d = 2 and 5 % at d = 16, and a step of 0.1 lengthens the shortest variances by 2.5 %"})
		}
		if ascent := at(func(o gaussiansOut) float64 { return o.AscentPlan }); !math.IsNaN(ascent) {
			out = append(out, lab.Claim{What: fmt.Sprintf("plan of quadratic potentials by Algorithm 1, d = %d", d), Source: "Table 2, SCONES", Got: ascent, Relation: lab.AtMost,
				Want: map[int]float64{2: .025, 16: .52, 64: 1.2, 128: 1.4, 256: 2}[d], Why: "what the paper's networks reach, sampling included"})
		}
	}
	for _, d := range t.dims {
		if got := t.networks(d, networksRows[0].of); d <= 16 && !math.IsNaN(got) {
			out = append(out, lab.Claim{What: fmt.Sprintf("networks, d = %d", d), Source: "Table 2, SCONES", Got: got, Relation: lab.AtMost, Want: map[int]float64{2: .025, 16: .52}[d], RelTol: .5, Why: "within 1.5 times of the paper"})
		}
		if got := t.projected(d); !math.IsNaN(got) {
			out = append(out, lab.Claim{What: fmt.Sprintf("barycentric projection by a network over the exact one, d = %d", d), Source: "closed form", Got: got, Want: 1, RelTol: .25,
				Why: "a network that was trained for minutes, of potentials that were"})
		}
	}
	for i := range out {
		out[i].SkipReason = small
	}
	return out, nil
}

// lowD is an absolute tolerance of numbers that have few variances behind them: less than what tells 0.0073 from the paper's
// 0.025 at d = 2, and beyond it none.
func lowD(d int) float64 {
	if d <= 2 {
		return .006
	}
	return 0
}

// pickD returns a tolerance by dimension: small dimensions differ more from pair to pair.
func pickD(d int, two, sixteen, more float64) float64 {
	switch {
	case d <= 2:
		return two
	case d <= 16:
		return sixteen
	}
	return more
}
