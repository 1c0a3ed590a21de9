package style_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/figures/style"
	"coupling/figures/style/hue"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
)

// gallery shows every helper once; the golden pictures in testdata are its output.
func gallery() map[string]style.Figure {
	return map[string]style.Figure{
		"band":     {Body: errorCurves(), Badge: `quick: \i{n} = 500; smaller than the paper’s`},
		"panels":   {Body: threePanels(), Width: style.TwoColumns},
		"shared":   {Body: sharedPanels(), Width: style.TwoColumns},
		"plan":     {Body: classPlan(150, "MNIST class", "USPS class")},
		"sparse":   style.Plan(permutation(40)),
		"field":    {Body: field()},
		"pairs":    {Body: digitPairs()},
		"rgb":      {Body: colours()},
		"bars":     {Body: accuracies()},
		"coupling": {Body: clouds()},
		"table":    {Body: scores()},
		"extreme":  {Body: extremes(), Width: style.TwoColumns},
		"series":   {Body: everySeries(), Width: style.Screen},
		"broken":   {Body: broken()},
	}
}

func errorCurves() style.Plot {
	items := []plot.Plotter{style.Rule{At: 1e-6, Label: "tolerance", Start: true}}
	for k, name := range []string{"Sinkhorn", "L-BFGS", "Newton", `\i{ε}-scaling`} {
		l := style.Line{Name: name, Series: k, Marks: true}
		for i := range 25 {
			t := float64(i)
			v := math.Exp(-t * (0.15 + 0.2*float64(k)))
			l.X, l.Y = append(l.X, t), append(l.Y, v)
			l.Lo, l.Hi = append(l.Lo, v*math.Exp(-0.3-0.02*t)), append(l.Hi, v*math.Exp(0.3+0.02*t))
		}
		items = append(items, l)
	}
	return style.Plot{
		X:     style.Axis{Label: "iteration"},
		Y:     style.Axis{Label: "marginal error", Unit: "L^{1}", Log: true, Min: 1e-9, Max: math.NaN()},
		Items: items,
	}
}

// blockPlan is a noisy plan whose mass keeps to its class.
func blockPlan(n, classes int) *mat.Dense {
	r := rand.New(rand.NewPCG(1, 2))
	m := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			d := math.Abs(float64(i*classes/n - j*classes/n))
			m.Set(i, j, math.Exp(1.3*r.NormFloat64()-2.5*d)/float64(n*n))
		}
	}
	return m
}

func classes(n, k int) (b []style.Block) {
	for i := range k {
		b = append(b, style.Block{Label: fmt.Sprint(i), N: (i+1)*n/k - i*n/k})
	}
	return b
}

func classPlan(n int, rows, cols string) style.HeatMap {
	return style.HeatMap{
		M: blockPlan(n, 10), Rows: classes(n, 10), Cols: classes(n, 10), RowLabel: rows, ColLabel: cols, Bar: "mass",
		Scale: style.Scale{Map: hue.Ink, Log: true},
	}
}

func permutation(n int) *mat.Dense {
	m := mat.NewDense(n, n, nil)
	for i := range n {
		m.Set(i, (7*i+3)%n, 1/float64(n))
	}
	return m
}

func threePanels() style.Panels {
	curves := errorCurves()
	bias := style.Plot{
		Title: "Bias",
		X:     style.Axis{Label: `\i{ε}`, Log: true},
		Y:     style.Axis{Label: `\i{W}_{2}^{2}`, Include: []float64{0}},
		Items: []plot.Plotter{
			style.Rule{At: 1, Label: "unregularised"},
			style.Points{
				Name:   "estimate",
				Series: 5,
				X:      []float64{.01, .03, .1, .3, 1, 3, 10},
				Y:      []float64{1.02, 1.05, 1.2, 1.6, 2.2, 3.4, 4.1},
			},
			style.Note{X: .3, Y: 1.6, Text: "knee", DX: -18, DY: 16},
		},
	}
	return style.Panels{Items: []style.Drawer{curves, bias, classPlan(30, "source", "target")}, Letters: true}
}

func sharedPanels() style.Panels {
	p := style.Panels{Columns: 3, Letters: true, ShareX: true, ShareY: true}
	for k := range 6 {
		q := style.Plot{X: style.Axis{Label: "time", Unit: "s"}, Y: style.Axis{Label: "energy", Unit: "J"}, Aspect: 0.6}
		if k < 3 {
			q.Title = fmt.Sprintf(`\i{d} = %d`, 1<<k)
		}
		for s, name := range []string{"free", "bound"} {
			l := style.Line{Name: name, Series: s, Solid: true}
			for i := range 100 {
				t := float64(i) / 10
				l.X, l.Y = append(l.X, t), append(l.Y,
					100*float64(k+1)*math.Exp(-t/float64(2+s))*math.Cos(t*float64(k+1)))
			}
			q.Items = append(q.Items, l)
		}
		p.Items = append(p.Items, q)
	}
	return p
}

func field() style.Plot {
	z := mat.NewDense(80, 120, nil)
	for i := range 80 {
		for j := range 120 {
			x, y := -3+6*(float64(j)+.5)/120, -2+4*(float64(i)+.5)/80
			z.Set(i, j, math.Exp(-(x-1)*(x-1)-y*y)+.6*math.Exp(-2*(x+1.2)*(x+1.2)-2*(y-.6)*(y-.6)))
		}
	}
	h := style.Heat{M: z, X0: -3, X1: 3, Y0: -2, Y1: 2}
	return style.Plot{
		X: style.Axis{Label: `\i{x}_{1}`}, Y: style.Axis{Label: `\i{x}_{2}`}, NoGrid: true,
		Items: []plot.Plotter{h}, Bar: h.Bar("density"),
	}
}

// digit is a 16×16 ring or bar, with a slant.
func digit(k int) []float32 {
	im := make([]float32, 256)
	for i := range im {
		x, y := float64(i%16)-7.5, float64(i/16)-7.5
		x += y * 0.12 * float64(k%4)
		d := math.Abs(math.Hypot(x*1.3, y) - 5)
		if k%3 == 1 {
			d = math.Hypot(x, max(0, math.Abs(y)-5))
		}
		im[i] = float32(math.Exp(-d * d / 1.5))
	}
	return im
}

func digitPairs() style.ImageGrid {
	g := style.ImageGrid{
		H: 16, W: 16, Columns: 12, Title: "Digits and what the plan matches them to",
		RowLabels: []string{`\i{ε} = 1`, "0.1", "0.01", "exact"},
	}
	for k := range 48 {
		g.Images = append(g.Images, digit(k/2+3*(k%2)))
	}
	for k := range 12 {
		g.ColLabels = append(g.ColLabels, fmt.Sprint(k+1))
	}
	return g
}

func colours() style.ImageGrid {
	g := style.ImageGrid{C: 3, H: 24, W: 24, Lo: -1, Hi: 1, Columns: 8, Gap: 2}
	for k := range 16 {
		im := make([]float32, 3*24*24)
		for i := range 24 * 24 {
			x, y := float64(i%24)/12-1, float64(i/24)/12-1
			r := math.Hypot(x, y) + 0.2*math.Cos(float64(k)+3*math.Atan2(y, x))
			im[i] = float32(math.Cos(3*r + float64(k)))
			im[576+i] = float32(math.Cos(2*r + 0.5*float64(k)))
			im[1152+i] = float32(x * y)
		}
		g.Images = append(g.Images, im)
	}
	g.Images[11] = nil
	return g
}

func accuracies() style.Plot {
	p := style.Plot{
		X: style.Axis{Names: []string{"MNIST", "Fashion", "CelebA"}},
		Y: style.Axis{Label: "accuracy", Unit: "%"},
	}
	for k, name := range []string{"paper", "ours", "real data"} {
		b := style.Bars{Name: name, Series: k, At: k, Of: 3}
		for i := range 3 {
			b.Y = append(b.Y, 72+9*float64(k)-5*float64(i))
		}
		p.Items = append(p.Items, b)
	}
	return p
}

func clouds() style.Plot {
	r := rand.New(rand.NewPCG(5, 6))
	const n = 24
	x, y, plan := mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil), mat.NewDense(n, n, nil)
	for i := range n {
		x.SetRow(i, []float64{0.4 * r.NormFloat64(), 0.4 * r.NormFloat64()})
		t := 2 * math.Pi * float64(i) / n
		y.SetRow(i, []float64{1.6 * math.Cos(t), 1.6 * math.Sin(t)})
	}
	for i := range n {
		for j := range n {
			plan.Set(i, j, math.Exp(-6*(math.Pow(x.At(i, 0)-y.At(j, 0), 2)+math.Pow(x.At(i, 1)-y.At(j, 1), 2))))
		}
		row := plan.RawRowView(i)
		floats.Scale(1/floats.Sum(row)/n, row)
	}
	return style.Plot{
		Square: true, Aspect: 1, NoGrid: true,
		X: style.Axis{Label: `\i{x}_{1}`}, Y: style.Axis{Label: `\i{x}_{2}`},
		Items: []plot.Plotter{
			style.Coupling{Source: x, Target: y, Plan: plan},
			style.Cloud("source", x, 0), style.Cloud("target", y, 1),
		},
	}
}

func scores() style.Table {
	return style.Table{
		Header: []string{"Method", "MNIST", "Fashion", `FID ↓`},
		Rows: [][]string{
			{"G-PATE", "80.9", "69.3", "177.2"},
			{"GS-WGAN", "84.9", "63.1", "61.3"},
			{"DP-Sinkhorn", `\b{88.9}`, `\b{71.0}`, `\b{48.4}`},
			{"real data", "99.2", "91.1", "—"},
		},
	}
}

func extremes() style.Panels {
	curve := func(lo, hi float64) (l style.Line) {
		for i := range 41 {
			t := float64(i) / 40
			l.X = append(l.X, math.Exp(math.Log(lo)*(1-t)+math.Log(hi)*t))
			l.Y = append(l.Y, math.Exp(math.Log(lo)*t+math.Log(hi)*(1-t)))
		}
		return l
	}
	p := style.Panels{Columns: 3, Letters: true}
	for _, r := range [][2]float64{{1e-140, 1e140}, {1e-12, 1e12}, {0.02, 5}, {1.0, 1.4}, {3e-6, 2e-4}, {1e5, 3e8}} {
		p.Items = append(p.Items, style.Plot{
			X: style.Axis{Label: `\i{ε}`, Log: true}, Y: style.Axis{Label: "error", Log: true},
			Items: []plot.Plotter{curve(r[0], r[1])},
		})
	}
	return p
}

func everySeries() style.Plot {
	p := style.Plot{X: style.Axis{Bare: true}, Y: style.Axis{Bare: true}, NoGrid: true}
	for k := range 10 {
		l := style.Line{Name: fmt.Sprint("series ", k), Series: k, Marks: true}
		for i := range 12 {
			l.X, l.Y = append(l.X, float64(i)), append(l.Y, math.Sin(float64(i)/2)-0.6*float64(k))
		}
		p.Items = append(p.Items, l)
	}
	return p
}

// broken has every value that cannot be drawn.
func broken() style.Plot {
	nan, inf := math.NaN(), math.Inf(1)
	return style.Plot{
		Title: "NaN, ±Inf and ≤ 0 are left out",
		X:     style.Axis{Label: "step"}, Y: style.Axis{Label: "loss", Log: true},
		Items: []plot.Plotter{
			style.Line{
				Name:  "line",
				X:     []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, nan, 10},
				Y:     []float64{10, 8, nan, 5, 0, 3, inf, 2, 1.5, 1, 0.8},
				Marks: true,
			},
			style.Line{
				Name: "band", X: []float64{0, 2, 4, 6, 8, 10}, Y: []float64{30, 25, 22, 20, 19, 18},
				Lo: []float64{20, 10, 0, -5, 10, 10}, Hi: []float64{40, 38, inf, 33, 30, 28}, Series: 1,
			},
			style.Points{Name: "points", X: []float64{1, 2, 3}, Y: []float64{3, -1, 1}, Series: 2},
		},
	}
}
