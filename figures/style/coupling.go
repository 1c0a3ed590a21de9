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

// Coupling draws a line between each source and target that a plan joins, the darker the more mass it carries: the heaviest
// 4·(n+m) of those with at least a fiftieth of the largest mass. Draw the points themselves over it with [Cloud].
type Coupling struct {
	// Source is n×2, Target m×2.
	Source, Target mat.Matrix
	// Plan is n×m.
	Plan mat.Matrix
}

// Cloud is the rows of an n×2 matrix as points.
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

// link is an entry of the plan.
type link struct {
	i, j int
	mass float64
}

// links are the heaviest entries in the order of their mass, and the largest mass.
func (k Coupling) links() (out []link, top float64) {
	n, m := k.Plan.Dims()
	buf := make([]float64, m)
	for i := range n {
		for _, v := range raster.Row(k.Plan, i, buf) {
			if !math.IsInf(v, 0) {
				top = max(top, v)
			}
		}
	}
	for i := range n {
		for j, v := range raster.Row(k.Plan, i, buf) {
			if v > 0 && v >= 0.02*top && !math.IsInf(v, 0) {
				out = append(out, link{i, j, v})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b link) int { return cmp.Compare(b.mass, a.mass) })
	out = out[:min(len(out), 4*(n+m))]
	slices.Reverse(out) // the heaviest are drawn last
	return out, top
}

// Plot draws the lines.
func (k Coupling) Plot(c draw.Canvas, p *plot.Plot) {
	if k.check() != nil {
		return
	}
	x, y := transforms(c, p)
	links, top := k.links()
	for _, l := range links {
		a := vg.Point{X: x(k.Source.At(l.i, 0)), Y: y(k.Source.At(l.i, 1))}
		b := vg.Point{X: x(k.Target.At(l.j, 0)), Y: y(k.Target.At(l.j, 1))}
		if finite(a) && finite(b) {
			sty := draw.LineStyle{Color: Fade(DarkGrey, 0.08+0.72*l.mass/top), Width: 0.6}
			c.StrokeLines(sty, c.ClipLinesXY([]vg.Point{a, b})...)
		}
	}
}
