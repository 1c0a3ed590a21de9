package style

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/paper"
)

// Panels is a grid of drawers whose axes are aligned: the data areas of a column have the same left and right edges,
// those of a row the same lower and upper edges.
type Panels struct {
	// Items fill the grid row by row; nil leaves a place empty.
	Items []Drawer
	// Columns of the grid; zero means all items in one row.
	Columns int
	// Letters writes (a), (b), … at the panels.
	Letters bool
	// ShareX and ShareY give all plots one range on an axis, and label it on the outer panels only.
	ShareX, ShareY bool
	// Legend places one legend for all panels: Below (the zero value), Right, or Hidden. Plots whose own Legend is
	// inside of their axes keep it.
	Legend Place
	// Bar is a colour bar for all panels, on the right.
	Bar *ColorBar
	// Widths are the relative widths of the columns, and Heights those of the rows; nil means equal.
	Widths, Heights []float64
	// Gap between the panels in points; zero means 10.
	Gap vg.Length
}

func (p Panels) check() error {
	var errs []error
	for i, it := range p.Items {
		if err := check(it); err != nil {
			errs = append(errs, fmt.Errorf("panel (%s): %w", letter(i), err))
		}
	}
	cols, rows := p.shape()
	if len(p.Widths) > 0 && len(p.Widths) != cols {
		errs = append(errs, fmt.Errorf("style: Panels: %d Widths for %d columns: %w", len(p.Widths), cols, ErrData))
	}
	if len(p.Heights) > 0 && len(p.Heights) != rows {
		errs = append(errs, fmt.Errorf("style: Panels: %d Heights for %d rows: %w", len(p.Heights), rows, ErrData))
	}
	return errors.Join(errs...)
}

// letter names the i-th panel: a … z, aa, ab, …
func letter(i int) string {
	s := string(rune('a' + i%26))
	if i >= 26 {
		return letter(i/26-1) + s
	}
	return s
}

func (p Panels) shape() (cols, rows int) {
	cols = p.Columns
	if cols <= 0 || cols > len(p.Items) {
		cols = max(len(p.Items), 1)
	}
	return cols, max((len(p.Items)+cols-1)/cols, 1)
}

func (p Panels) gap() vg.Length {
	if p.Gap > 0 {
		return p.Gap
	}
	return 10
}

// shares splits a length among relative sizes, with gaps between them.
func shares(total, gap vg.Length, n int, weights []float64) []vg.Length {
	out, sum := make([]vg.Length, n), 0.0
	weight := func(i int) float64 {
		if i < len(weights) && weights[i] > 0 {
			return weights[i]
		}
		return 1
	}
	for i := range n {
		sum += weight(i)
	}
	for i := range out {
		out[i] = (total - gap*vg.Length(n-1)) * vg.Length(weight(i)/sum)
	}
	return out
}

// entries is the legend of all panels.
func (p Panels) entries() (l Legend) {
	if !p.Legend.outside() {
		return nil
	}
	for _, it := range p.Items {
		if q, ok := it.(Plot); ok && q.Legend.outside() {
			l = l.with(Key(q.Items...)...)
		}
	}
	if len(l) < 2 {
		return nil
	}
	return l
}

// Draw draws the panels, the legend and the colour bar.
func (p Panels) Draw(c draw.Canvas) {
	r := p.entries().place(c, c.Rectangle, p.Legend)
	bar := r
	if p.Bar != nil {
		r.Max.X -= p.Bar.width() + barGap
		bar.Min.X = r.Max.X + barGap
	}
	items := p.shared()
	cells := p.cells(r)
	cols, _ := p.shape()
	areas := align(items, cells, cols, p.strip())
	for i, it := range items {
		if it == nil {
			continue
		}
		p.drawLetter(c, i, cells[i])
		if f, ok := it.(framed); ok {
			f.drawIn(c, areas[i])
			continue
		}
		it.Draw(draw.Canvas{Canvas: c, Rectangle: areas[i]})
	}
	if p.Bar != nil {
		bar.Min.Y, bar.Max.Y = verticalSpan(areas, bar)
		p.Bar.Draw(draw.Canvas{Canvas: c, Rectangle: bar})
	}
}

// verticalSpan is the height that the panels' data areas cover.
func verticalSpan(areas []vg.Rectangle, within vg.Rectangle) (lo, hi vg.Length) {
	lo, hi = within.Max.Y, within.Min.Y
	for _, a := range areas {
		lo, hi = min(lo, a.Min.Y), max(hi, a.Max.Y)
	}
	return lo, hi
}

// strip is the height that a letter needs above the data area.
func (p Panels) strip() vg.Length {
	if !p.Letters {
		return 0
	}
	return paper.Height("(a)", sans(titleSize)) + titleGap
}

func (p Panels) drawLetter(c vg.Canvas, i int, cell vg.Rectangle) {
	if !p.Letters {
		return
	}
	sty := textStyle(titleSize, draw.XLeft, draw.YTop)
	paper.Write(c, `\b{(`+letter(i)+`)}`, sty, vg.Point{X: cell.Min.X, Y: cell.Max.Y})
}

// cells are the rectangles of the grid, row by row from the top.
func (p Panels) cells(r vg.Rectangle) []vg.Rectangle {
	cols, rows := p.shape()
	w := shares(r.Size().X, p.gap(), cols, p.Widths)
	h := shares(r.Size().Y, p.gap(), rows, p.Heights)
	cells := make([]vg.Rectangle, 0, cols*rows)
	y := r.Max.Y
	for j := range rows {
		x := r.Min.X
		for i := range cols {
			cells = append(cells, vg.Rectangle{Min: vg.Point{X: x, Y: y - h[j]}, Max: vg.Point{X: x + w[i], Y: y}})
			x += w[i] + p.gap()
		}
		y -= h[j] + p.gap()
	}
	return cells
}

// align gives each framed item its data area, with the widest insets of its column and row; others get their cell
// under the strip of letters.
func align(items []Drawer, cells []vg.Rectangle, cols int, strip vg.Length) []vg.Rectangle {
	column, row := map[int]insets{}, map[int]insets{}
	for i, it := range items {
		if f, ok := it.(framed); ok {
			in := f.insets(cells[i].Size())
			a, b := column[i%cols], row[i/cols]
			column[i%cols] = insets{left: max(a.left, in.left), right: max(a.right, in.right)}
			row[i/cols] = insets{bottom: max(b.bottom, in.bottom), top: max(b.top, in.top, strip)}
		}
	}
	areas := make([]vg.Rectangle, len(items))
	for i, it := range items {
		areas[i] = cells[i]
		if _, ok := it.(framed); ok {
			a, b := column[i%cols], row[i/cols]
			areas[i] = insets{left: a.left, right: a.right, bottom: b.bottom, top: b.top}.within(cells[i])
		} else {
			areas[i].Max.Y -= strip
		}
	}
	return areas
}

// shared returns the items with common ranges, and inner labels left out, as ShareX and ShareY ask.
func (p Panels) shared() []Drawer {
	items := append([]Drawer(nil), p.Items...)
	cols, _ := p.shape()
	ex, ey := p.commonExtents()
	for i, it := range items {
		q, ok := it.(Plot)
		if !ok {
			continue
		}
		if p.ShareX {
			q.X.Min, q.X.Max = q.X.bounds(ex)
			if below := i + cols; below < len(items) && items[below] != nil {
				q.X.Label, q.X.Unit, q.X.Ticks = "", "", unlabelled(q.X)
			}
		}
		if p.ShareY {
			q.Y.Min, q.Y.Max = q.Y.bounds(ey)
			if i%cols > 0 {
				q.Y.Label, q.Y.Unit, q.Y.Ticks = "", "", unlabelled(q.Y)
			}
		}
		items[i] = q
	}
	return items
}

func (p Panels) commonExtents() (ex, ey extent) {
	ex = extent{lo: math.Inf(1), hi: math.Inf(-1)}
	ey = ex
	for _, it := range p.Items {
		if q, ok := it.(Plot); ok {
			x, y := q.extents()
			ex, ey = ex.union(x), ey.union(y)
		}
	}
	return ex, ey
}

// height of the panels at a width: that of the tallest item in each row.
func (p Panels) height(w vg.Length) vg.Length {
	outer := vg.Rectangle{Max: vg.Point{X: w, Y: 0.7 * w}}
	inner := p.entries().rest(outer, p.Legend)
	extra := outer.Size().Y - inner.Size().Y
	if p.Bar != nil {
		inner.Max.X -= p.Bar.width() + barGap
	}
	cols, rows := p.shape()
	widths := shares(inner.Size().X, p.gap(), cols, p.Widths)
	h := p.gap()*vg.Length(rows-1) + extra
	for j := range rows {
		var tallest vg.Length
		for i := range cols {
			k := j*cols + i
			if k >= len(p.Items) || p.Items[k] == nil {
				continue
			}
			tallest = max(tallest, p.itemHeight(p.Items[k], widths[i]))
		}
		h += tallest
	}
	return h
}

// itemHeight is a panel's height; the legend of a plot is drawn by the panels.
func (p Panels) itemHeight(it Drawer, w vg.Length) vg.Length {
	q, ok := it.(Plot)
	if !ok {
		return naturalHeight(it, w) + p.strip()
	}
	if q.Legend.outside() {
		q.Legend = Hidden
	}
	h := q.height(w)
	if q.Title == "" {
		h += p.strip()
	}
	return h
}

// bare keeps the marks of a ticker and drops their labels.
type bare struct{ plot.Ticker }

func unlabelled(a Axis) plot.Ticker { return bare{a.ticker(5)} }

// Ticks returns the marks with blank labels: a tick with no label would count as minor.
func (b bare) Ticks(lo, hi float64) []plot.Tick {
	ticks := b.Ticker.Ticks(lo, hi)
	for i, t := range ticks {
		if !t.IsMinor() {
			ticks[i].Label = " "
		}
	}
	return ticks
}
