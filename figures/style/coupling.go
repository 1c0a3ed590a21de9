package style

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/raster"
)

// Coupling draws the mass of a plan as lines between sources and targets, each of which stands for
// the same share of it, 1 over [Coupling.Lines]: a source has as many as it has mass, and a pair
// that carries several shares is the darker. Draw the points themselves over it with [Cloud].
type Coupling struct {
	// Source is n×2, Target m×2.
	Source, Target mat.Matrix
	// Plan is n×m.
	Plan mat.Matrix
}

// Cloud returns the rows of an n×2 matrix as points.
func Cloud(name string, m mat.Matrix, series int) Points {
	r, _ := m.Dims()
	p := Points{Name: name, X: make([]float64, r), Y: make([]float64, r), Series: series}
	for i := range r {
		p.X[i], p.Y[i] = m.At(i, 0), m.At(i, 1)
	}
	return p
}

func (k Coupling) check() error {
	if k.Source == nil || k.Target == nil || k.Plan == nil {
		return fmt.Errorf("style: Coupling: Source, Target and Plan are needed: %w", ErrData)
	}
	n, d := k.Source.Dims()
	m, e := k.Target.Dims()
	if r, c := k.Plan.Dims(); d != 2 || e != 2 || r != n || c != m {
		return fmt.Errorf("style: Coupling: Source %d×%d, Target %d×%d, Plan %d×%d: %w", n, d, m, e, r, c, ErrData)
	}
	return nil
}

func (k Coupling) ranges(x, y Axis) (ex, ey extent) {
	if k.check() != nil {
		return span(x), span(y)
	}
	s, t := Cloud("", k.Source, 0), Cloud("", k.Target, 0)
	return spans(x, s.X, t.X), spans(y, s.Y, t.Y)
}

// Lines returns the number of lines, 4·(n+m).
func (k Coupling) Lines() int {
	n, m := k.Plan.Dims()
	return 4 * (n + m)
}

// link is an entry of the plan and the lines that it is worth.
type link struct{ i, j, lines int }

// links are the entries at which a row's mass, added up, passes a whole number of lines; those of
// most lines last. Rows begin at other shares of a line, by the golden ratio, so that like rows do
// not all take the same targets. Entries that are not positive and finite have none.
func (k Coupling) links() (out []link) {
	n, m := k.Plan.Dims()
	buf, total := make([]float64, m), 0.
	each := func(i int, of func(j int, v float64)) {
		for j, v := range raster.Row(k.Plan, i, buf) {
			if v > 0 && !math.IsInf(v, 0) {
				of(j, v)
			}
		}
	}
	for i := range n {
		each(i, func(_ int, v float64) { total += v })
	}
	for i := range n {
		_, sum := math.Modf(float64(i) * math.Phi)
		passed := 0
		each(i, func(j int, v float64) {
			sum += v / total * float64(k.Lines())
			if lines := int(sum) - passed; lines > 0 {
				out, passed = append(out, link{i, j, lines}), passed+lines
			}
		})
	}
	slices.SortStableFunc(out, func(a, b link) int { return cmp.Compare(a.lines, b.lines) })
	return out
}

// Plot draws the lines.
func (k Coupling) Plot(c draw.Canvas, p *plot.Plot) {
	if k.check() != nil {
		return
	}
	x, y := transforms(c, p)
	for _, l := range k.links() {
		a := vg.Point{X: x(k.Source.At(l.i, 0)), Y: y(k.Source.At(l.i, 1))}
		b := vg.Point{X: x(k.Target.At(l.j, 0)), Y: y(k.Target.At(l.j, 1))}
		if finite(a) && finite(b) {
			sty := draw.LineStyle{Color: Fade(DarkGrey, 1-math.Pow(.82, float64(l.lines))), Width: 0.6}
			c.StrokeLines(sty, c.ClipLinesXY([]vg.Point{a, b})...)
		}
	}
}
