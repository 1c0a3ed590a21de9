package nb

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"coupling/lab"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
)

// rowsOf are the rows of a []lab.Result; nil for other types.
func rowsOf(x any) (rows []lab.Row, err error) {
	v := reflect.ValueOf(x)
	if v.Kind() != reflect.Slice {
		return nil, nil
	}
	for i := range v.Len() {
		r, ok := v.Index(i).Interface().(interface{ Row() (lab.Row, error) })
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
func results(rows []lab.Row) []view {
	var vary, values []string
	for _, c := range lab.Columns(rows) {
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
			line = append(line, lab.FormatCell(r[c]))
		}
		t.Rows = append(t.Rows, line)
	}
	out := []view{{html: table(t)}}
	isNumber := func(c string) bool { _, ok := lab.Number(rows[0][c]); return ok && c != "seed" }
	axes := slices.SortedStableFunc(slices.Values(slices.DeleteFunc(slices.Clone(vary), func(c string) bool { return !isNumber(c) })),
		func(a, b string) int { return cmp.Compare(len(distinct(rows, b)), len(distinct(rows, a))) })
	if y := slices.IndexFunc(values, isNumber); y >= 0 && len(axes) > 0 {
		others := slices.DeleteFunc(vary, func(c string) bool { return c == "seed" || c == axes[0] })
		if v, err := gonumPlot(chart(axes[0], values[y], means(rows, axes[0], values[y], others))); err == nil {
			out = append([]view{v}, out...)
		}
	}
	return out
}

func distinct(rows []lab.Row, column string) map[string]bool {
	set := map[string]bool{}
	for _, r := range rows {
		set[lab.FormatCell(r[column])] = true
	}
	return set
}

// series is a line of a plot.
type series struct {
	name   string
	points plotter.XYs
}

// means are the means of column y over x, one series for each choice of the others.
func means(rows []lab.Row, x, y string, others []string) (out []series) {
	count := map[string]map[float64]float64{}
	for _, r := range rows {
		var names []string
		for _, c := range others {
			names = append(names, strings.TrimPrefix(c, "param.")+" "+lab.FormatCell(r[c]))
		}
		name := strings.Join(names, ", ")
		if count[name] == nil {
			count[name], out = map[float64]float64{}, append(out, series{name: name})
		}
		s := &out[slices.IndexFunc(out, func(s series) bool { return s.name == name })]
		at, _ := lab.Number(r[x])
		v, _ := lab.Number(r[y])
		i, found := slices.BinarySearchFunc(s.points, at, func(p plotter.XY, at float64) int { return cmp.Compare(p.X, at) })
		if !found {
			s.points = slices.Insert(s.points, i, plotter.XY{X: at})
		}
		count[name][at]++
		s.points[i].Y += (v - s.points[i].Y) / count[name][at]
	}
	return out
}

// chart draws them, with a logarithmic axis where x spans decades.
func chart(x, y string, all []series) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = strings.TrimPrefix(x, "param."), strings.TrimPrefix(y, "value.")
	for i, s := range all {
		line, dots, err := plotter.NewLinePoints(s.points)
		if err != nil { // not a finite number: the table shows it
			continue
		}
		line.Color, dots.Color, dots.Shape = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(0)
		p.Add(line, dots)
		if s.name != "" {
			p.Legend.Add(s.name, line)
		}
	}
	if p.X.Min > 0 && p.X.Max >= 50*p.X.Min {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	return p
}
