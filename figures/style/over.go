package style

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"

	"coupling/lab"
	"coupling/lab/store"
)

// Over draws a number of cells over one of their parameters, which it names as JSON does: a line
// through the means over seeds, a band of one standard error of the mean around it, and a faint
// point for each cell. There is a line for each combination of the other parameters, named by those
// that differ. Cells of one seed are a line with marks. If there is no such number among the
// parameters, the Draw that calls Over ends with an error that says so.
func Over[P, R any](cells []lab.Result[P, R], param string, of func(R) float64) (items []plot.Plotter) {
	params := store.Params(reflect.TypeFor[P]())
	at := slices.IndexFunc(params, func(p store.Param) bool { return p.Name == param })
	if at < 0 || !params[at].Of(reflect.ValueOf(*new(P))).CanConvert(reflect.TypeFor[float64]()) {
		lab.Check(fmt.Errorf("style: Over: parameter %q: want a number of %T", param, *new(P)))
	}
	x := func(c lab.Result[P, R]) float64 {
		return params[at].Of(reflect.ValueOf(c.Params)).Convert(reflect.TypeFor[float64]()).Float()
	}
	for i, same := range byOthers(cells, slices.Delete(slices.Clone(params), at, at+1)) {
		slices.SortStableFunc(same.cells, func(a, b lab.Result[P, R]) int { return cmp.Compare(x(a), x(b)) })
		line, points := Line{Name: same.name, Series: i}, Points{Series: i, Radius: 1.5, Opacity: .4}
		for j, c := range same.cells {
			points.X, points.Y = append(points.X, x(c)), append(points.Y, of(c.Value))
			if j+1 == len(same.cells) || x(same.cells[j+1]) != x(c) {
				line.mean(x(c), points.Y[slices.Index(points.X, x(c)):])
			}
		}
		if len(points.X) == len(line.X) {
			line.Marks, line.Lo, line.Hi = true, nil, nil
			items = append(items, line)
			continue
		}
		items = append(items, line, points)
	}
	return items
}

// mean adds the mean of ys at x, and one standard error of it to either side; none for one y.
func (l *Line) mean(x float64, ys []float64) {
	m, sd := stat.MeanStdDev(ys, nil)
	if len(ys) == 1 {
		sd = 0
	}
	se := sd / math.Sqrt(float64(len(ys)))
	l.X, l.Y, l.Lo, l.Hi = append(l.X, x), append(l.Y, m), append(l.Lo, m-se), append(l.Hi, m+se)
}

// alike are cells that have the same values of some parameters.
type alike[P, R any] struct {
	name  string // of the values that not all cells have; empty if there is one group
	cells []lab.Result[P, R]
}

// byOthers groups cells by the values of params, in the order of the cells.
func byOthers[P, R any](cells []lab.Result[P, R], params []store.Param) (groups []alike[P, R]) {
	value := func(c lab.Result[P, R], p store.Param) any { return p.Of(reflect.ValueOf(c.Params)).Interface() }
	differ := slices.DeleteFunc(params, func(p store.Param) bool {
		return !slices.ContainsFunc(cells, func(c lab.Result[P, R]) bool {
			return !reflect.DeepEqual(value(c, p), value(cells[0], p))
		})
	})
	for _, c := range cells {
		var names []string
		for _, p := range differ {
			names = append(names, fmt.Sprintf("%s = %v", p.Name, value(c, p)))
		}
		name := strings.Join(names, ", ")
		i := slices.IndexFunc(groups, func(g alike[P, R]) bool { return g.name == name })
		if i < 0 {
			i, groups = len(groups), append(groups, alike[P, R]{name: name})
		}
		groups[i].cells = append(groups[i].cells, c)
	}
	return groups
}
