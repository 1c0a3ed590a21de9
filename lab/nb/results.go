package nb

import (
	"cmp"
	"context"
	"fmt"
	"image/color"
	"reflect"
	"slices"
	"strings"

	"coupling/lab"
	"coupling/lab/store"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// rowsOf are the rows of a []lab.Result; nil for other types.
func rowsOf(x any) (rows []store.Row, err error) {
	v := reflect.ValueOf(x)
	if v.Kind() != reflect.Slice {
		return nil, nil
	}
	for i := range v.Len() {
		r, ok := v.Index(i).Interface().(interface{ Row() (store.Row, error) })
		if !ok {
			return nil, nil
		}
		row, err := r.Row()
		if err != nil {
			return nil, fmt.Errorf("nb: %w", err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// results shows a sweep: a table, and a plot of its first number over the parameter with the most
// values, with a line for each choice of the others, averaged over seeds.
func results(rows []store.Row) []view {
	var vary, values []string
	for _, c := range store.Columns(rows) {
		switch n := len(distinct(rows, c)); {
		case c == "seed" && n > 1, strings.HasPrefix(c, "param.") && n > 1:
			vary = append(vary, c)
		case strings.HasPrefix(c, "value"):
			values = append(values, c)
		}
	}
	t := lab.Table{}
	for _, c := range append(vary, values...) {
		t.Header = append(t.Header, strings.TrimPrefix(strings.TrimPrefix(c, "param."), "value."))
	}
	for _, r := range rows {
		var line []string
		for _, c := range append(vary, values...) {
			line = append(line, store.FormatCell(r[c]))
		}
		t.Rows = append(t.Rows, line)
	}
	out := []view{{html: table(t)}}
	isNumber := func(c string) bool { _, ok := store.Number(rows[0][c]); return ok && c != "seed" }
	over := slices.SortedStableFunc(slices.Values(
		slices.DeleteFunc(slices.Clone(vary), func(c string) bool { return !isNumber(c) })),
		func(a, b string) int { return cmp.Compare(len(distinct(rows, b)), len(distinct(rows, a))) })
	if y := slices.IndexFunc(values, isNumber); y >= 0 && len(over) > 0 {
		others := slices.DeleteFunc(vary, func(c string) bool { return c == "seed" || c == over[0] })
		if v, err := gonumPlot(chart(over[0], values[y], means(rows, over[0], values[y], others))); err == nil {
			out = append([]view{v}, out...)
		}
	}
	return out
}

func distinct(rows []store.Row, column string) map[string]bool {
	set := map[string]bool{}
	for _, r := range rows {
		set[store.FormatCell(r[column])] = true
	}
	return set
}

// series is a line of a plot.
type series struct {
	name   string
	points plotter.XYs
}

// means are the means of column y over x, one series for each choice of the others.
func means(rows []store.Row, x, y string, others []string) (out []series) {
	count := map[string]map[float64]float64{}
	for _, r := range rows {
		var names []string
		for _, c := range others {
			names = append(names, strings.TrimPrefix(c, "param.")+" "+store.FormatCell(r[c]))
		}
		name := strings.Join(names, ", ")
		if count[name] == nil {
			count[name], out = map[float64]float64{}, append(out, series{name: name})
		}
		s := &out[slices.IndexFunc(out, func(s series) bool { return s.name == name })]
		at, _ := store.Number(r[x])
		v, _ := store.Number(r[y])
		i, found := slices.BinarySearchFunc(s.points, at,
			func(p plotter.XY, at float64) int { return cmp.Compare(p.X, at) })
		if !found {
			s.points = slices.Insert(s.points, i, plotter.XY{X: at})
		}
		count[name][at]++
		s.points[i].Y += (v - s.points[i].Y) / count[name][at]
	}
	return out
}

// maxDots is the number of points of a line up to which they are marked.
const maxDots = 100

// hues are the colours of Okabe and Ito, which readers with any kind of colour vision can tell apart.
var hues = []color.RGBA{{0, 0x72, 0xB2, 255}, {0xD5, 0x5E, 0, 255}, {0x33, 0x33, 0x33, 255}, {0x56, 0xB4, 0xE9, 255},
	{0, 0x9E, 0x73, 255}, {0xCC, 0x79, 0xA7, 255}, {0xE6, 0x9F, 0, 255}}

// axes returns an empty plot with a grid.
func axes(x, y string) *plot.Plot {
	p, grid := plot.New(), plotter.NewGrid()
	p.X.Label.Text, p.Y.Label.Text = strings.TrimPrefix(x, "param."), strings.TrimPrefix(y, "value.")
	for _, style := range []*draw.TextStyle{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label,
		&p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	return p
}

// chart draws lines, on logarithmic axes where values are positive and span decades.
func chart(x, y string, all []series) *plot.Plot {
	p := axes(x, y)
	if n := len(all[0].points); n > 0 { // a falling line leaves room above it
		p.Legend.Top = all[0].points[n-1].Y < all[0].points[0].Y
	}
	for i, s := range all {
		line, dots, err := plotter.NewLinePoints(s.points)
		if err != nil { // not a finite number: the table shows it
			continue
		}
		line.Color, dots.Color, dots.Shape = hues[i%len(hues)], hues[i%len(hues)], draw.CircleGlyph{}
		p.Add(line)
		if len(s.points) <= maxDots {
			p.Add(dots)
		}
		if s.name != "" {
			p.Legend.Add(s.name, dots)
		}
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		if a.Min > 0 && a.Max >= 50*a.Min {
			a.Scale, a.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 3}
		}
	}
	return p
}

// profiled is a privacy guarantee that can compute δ over ε.
type profiled interface {
	Profile(ctx context.Context, points int) (eps, delta []float64, asked int, err error)
}

// profile draws δ over ε, with the point that was asked for. A guarantee without an event has only its text.
func profile(g profiled) ([]view, error) {
	text := view{html: caption(fmt.Sprint(g)), text: fmt.Sprint(g)}
	eps, delta, asked, err := g.Profile(Context(), 31)
	if err != nil {
		return []view{text}, Context().Err()
	}
	curve := series{}
	for k := range eps {
		curve.points = append(curve.points, plotter.XY{X: eps[k], Y: delta[k]})
	}
	point := series{name: "asked for", points: curve.points[asked : asked+1]}
	v, err := gonumPlot(chart("ε", "δ", []series{curve, point}))
	return []view{v, text}, err
}

// traced is a set of Markov chains.
type traced interface {
	Trace() (what string, step, value []float64)
	Samples() *mat.Dense
}

// traces draws a number for each step, and beside it the first two coordinates of the points, or
// the histogram of the only one.
func traces(c traced) ([]view, error) {
	what, step, value := c.Trace()
	line, x := series{}, c.Samples()
	for k := range step {
		line.points = append(line.points, plotter.XY{X: step[k], Y: value[k]})
	}
	samples := axes("x₁", "x₂")
	if _, d := x.Dims(); d == 1 {
		samples.Y.Label.Text = "chains"
		if bars, err := plotter.NewHist(plotter.Values(mat.Col(nil, 0, x)), 30); err == nil {
			bars.FillColor = hues[0]
			samples.Add(bars)
		}
	} else if dots, err := plotter.NewScatter(coordinates{x}); err == nil {
		dots.Color, dots.Shape, dots.Radius = hues[0], draw.CircleGlyph{}, 1.5
		samples.Add(dots)
	}
	steps := chart("step", what, []series{line})
	steps.X.Scale, steps.X.Tick.Marker = plot.LinearScale{}, plot.DefaultTicks{}
	v, err := gonumPlot(steps, samples)
	return []view{v, {html: caption(fmt.Sprint(c))}}, err
}

// coordinates are the first two of each row.
type coordinates struct{ *mat.Dense }

func (c coordinates) Len() int                { return c.RawMatrix().Rows }
func (c coordinates) XY(i int) (x, y float64) { return c.At(i, 0), c.At(i, 1) }
