package style

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/paper"
)

// Panels is a grid of drawers whose axes are aligned: the data areas of a column have the same left and right edges,
// those of a row the same lower and upper edges, and all are equally large.
type Panels struct {
	// Items fill the grid row by row; nil leaves a place empty.
	Items []Drawer
	// Columns of the grid; zero means all items in one row.
	Columns int
	// Letters writes (a), (b), … at the panels.
	Letters bool
	// ShareX and ShareY give all plots one range on an axis, and label it on the outer panels only.
	ShareX, ShareY bool
	// Bar is a colour bar for all panels, on the right.
	Bar *ColorBar
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
	return errors.Join(errs...)
}

// letter names the i-th panel: a … z, aa, ab and so on.
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

func (p Panels) gap() vg.Length { return cmp.Or(p.Gap, 10) }

// share is each of n parts of a length, with gaps between them.
func share(total, gap vg.Length, n int) vg.Length {
	return (total - gap*vg.Length(n-1)) * vg.Length(1/float64(n))
}

// entries is the legend of all panels, below them.
func (p Panels) entries() (l Legend) {
	for _, it := range p.Items {
		if q, ok := it.(Plot); ok && !q.NoLegend {
			l = l.with(Key(q.Items...)...)
		}
	}
	return l.useful()
}

// Draw draws the panels, the legend and the colour bar.
func (p Panels) Draw(c draw.Canvas) {
	r := p.entries().below(c, c.Rectangle)
	bar := r
	if p.Bar != nil {
		r.Max.X -= p.Bar.width() + barGap
		bar.Min.X = r.Max.X + barGap
	}
	items := p.shared()
	cells := p.cells(r, items)
	areas := p.areas(items, cells)
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

// cells are the rectangles of the grid, row by row from the top: the insets of each row and column, and equal shares
// of what remains.
func (p Panels) cells(r vg.Rectangle, items []Drawer) []vg.Rectangle {
	cols, rows := p.shape()
	w, h := p.columnWidths(r.Size().X, items), p.rowHeights(r.Size(), items)
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

func (p Panels) columnWidths(total vg.Length, items []Drawer) []vg.Length {
	cols, _ := p.shape()
	typical := vg.Point{X: share(total, p.gap(), cols), Y: 0.7 * total / vg.Length(cols)}
	inset := make([]vg.Length, cols)
	column, _ := p.margins(items, func(int) vg.Point { return typical })
	for i, in := range column {
		inset[i] = in.left + in.right
	}
	return withInsets(total, p.gap(), inset)
}

func (p Panels) rowHeights(total vg.Point, items []Drawer) []vg.Length {
	cols, rows := p.shape()
	w := p.columnWidths(total.X, items)
	typical := share(total.Y, p.gap(), rows)
	inset := make([]vg.Length, rows)
	_, row := p.margins(items, func(i int) vg.Point { return vg.Point{X: w[i%cols], Y: typical} })
	for j, in := range row {
		inset[j] = in.bottom + in.top
	}
	if own, sum := p.ownHeights(w, items); sum > 0 && sum <= total.Y-p.gap()*vg.Length(rows-1)+.5 {
		inset = own
	}
	return withInsets(total.Y, p.gap(), inset)
}

// ownHeights are the heights that rows of images have at the columns' widths, and their sum; 0
// where an item is not an image grid.
func (p Panels) ownHeights(widths []vg.Length, items []Drawer) (rows []vg.Length, sum vg.Length) {
	cols, n := p.shape()
	rows = make([]vg.Length, n)
	for i, it := range items {
		if _, ok := it.(*ImageGrid); !ok {
			return nil, 0
		}
		h := p.itemHeight(it, widths[i%cols])
		sum += max(h-rows[i/cols], 0)
		rows[i/cols] = max(rows[i/cols], h)
	}
	return rows, sum
}

// withInsets adds to each inset its share of what all of them leave of a length.
func withInsets(total, gap vg.Length, inset []vg.Length) []vg.Length {
	rest := total
	for _, x := range inset {
		rest -= x
	}
	out := slices.Clone(inset)
	for i := range out {
		out[i] += share(max(rest, 0), gap, len(inset))
	}
	return out
}

// margins are the widest insets of each column and of each row, for items of the given sizes.
func (p Panels) margins(items []Drawer, size func(i int) vg.Point) (column, row []insets) {
	cols, rows := p.shape()
	column, row = make([]insets, cols), make([]insets, rows)
	for i, it := range items {
		f, ok := it.(framed)
		if !ok {
			continue
		}
		in := f.insets(size(i))
		a, b := &column[i%cols], &row[i/cols]
		a.left, a.right = max(a.left, in.left), max(a.right, in.right)
		b.bottom, b.top = max(b.bottom, in.bottom), max(b.top, in.top, p.strip())
	}
	return column, row
}

// areas gives each framed item its data area within its cell; others get their cell under the strip of letters.
func (p Panels) areas(items []Drawer, cells []vg.Rectangle) []vg.Rectangle {
	cols, _ := p.shape()
	column, row := p.margins(items, func(i int) vg.Point { return cells[i].Size() })
	out := make([]vg.Rectangle, len(items))
	for i, it := range items {
		out[i] = cells[i]
		if _, ok := it.(framed); ok {
			a, b := column[i%cols], row[i/cols]
			out[i] = insets{left: a.left, right: a.right, bottom: b.bottom, top: b.top}.within(cells[i])
		} else {
			out[i].Max.Y -= p.strip()
		}
	}
	return out
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
				q.X.Label, q.X.Unit, q.X.inner = "", "", true
			}
		}
		if p.ShareY {
			q.Y.Min, q.Y.Max = q.Y.bounds(ey)
			if i%cols > 0 {
				q.Y.Label, q.Y.Unit, q.Y.inner = "", "", true
			}
		}
		items[i] = q
	}
	return items
}

func (p Panels) commonExtents() (ex, ey extent) {
	ex, ey = span(Axis{}), span(Axis{})
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
	cols, rows := p.shape()
	h := p.gap()*vg.Length(rows-1) + p.entries().strip(w)
	if p.Bar != nil {
		w -= p.Bar.width() + barGap
	}
	widths := p.columnWidths(w, p.shared())
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
	q.NoLegend = true
	h := q.height(w)
	if q.Title == "" {
		h += p.strip()
	}
	return h
}
