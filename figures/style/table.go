package style

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coupling/figures/style/paper"
)

// Table is a table as papers print it: three horizontal rules and no others. Cells may be marked up, \b{0.97} say.
// The first column is aligned left, the others right; a table too wide for its place is set smaller.
type Table struct {
	Header []string
	Rows   [][]string
	// Left lists further columns that are aligned left.
	Left []int
}

// Measures of a table in points.
const (
	tableSize  = 7.5
	tableRow   = 12.5
	tableInset = 4  // of text from the ends of the rules
	tableGap   = 10 // between columns, at least
)

func (t Table) check() error {
	for i, r := range t.Rows {
		if len(t.Header) > 0 && len(r) > len(t.Header) {
			return fmt.Errorf("style: Table: row %d has %d cells under %d headings: %w", i, len(r),
				len(t.Header), ErrData)
		}
	}
	return nil
}

func (t Table) lines() [][]string {
	if len(t.Header) == 0 {
		return t.Rows
	}
	return append([][]string{t.Header}, t.Rows...)
}

// widths of the columns at a size of type, and all together with the gaps between them.
func (t Table) widths(size vg.Length) (w []vg.Length, all vg.Length) {
	for _, line := range t.lines() {
		for j, cell := range line {
			if j == len(w) {
				w = append(w, 0)
			}
			w[j] = max(w[j], paper.Width(cell, sans(size)))
		}
	}
	all = 2*tableInset + tableGap*vg.Length(max(len(w)-1, 0))
	for _, x := range w {
		all += x
	}
	return w, all
}

func (t Table) height(vg.Length) vg.Length {
	return vg.Length(len(t.lines()))*tableRow + 6
}

// Draw draws the table at the top of the rectangle, over its width.
func (t Table) Draw(c draw.Canvas) {
	y := c.Max.Y
	size := vg.Length(tableSize)
	w, all := t.widths(size)
	if room := c.Size().X; all > room {
		size *= room / all
		w, all = t.widths(size)
	}
	gap := tableGap + max(0, c.Size().X-all)/vg.Length(max(len(w)-1, 1))
	heavy, light := draw.LineStyle{Color: Black, Width: 0.9}, draw.LineStyle{Color: DarkGrey, Width: 0.5}
	rule := func(sty draw.LineStyle, at vg.Length) { c.StrokeLine2(sty, c.Min.X, at, c.Max.X, at) }
	rule(heavy, y-1)
	y -= 2
	for i, line := range t.lines() {
		if i == 1 && len(t.Header) > 0 {
			rule(light, y-1)
			y -= 1.5
		}
		t.line(c, line, w, gap, size, y-tableRow/2-0.5)
		y -= tableRow
	}
	rule(heavy, y-1)
}

// line writes the cells of one line, centred at y.
func (t Table) line(c draw.Canvas, cells []string, w []vg.Length, gap, size, y vg.Length) {
	x := c.Min.X + tableInset
	for j, cell := range cells {
		sty, at := textStyle(size, draw.XRight, draw.YCenter), x+w[j]
		if j == 0 || slices.Contains(t.Left, j) {
			sty.XAlign, at = draw.XLeft, x
		}
		paper.Write(c, cell, sty, vg.Point{X: at, Y: y})
		x += w[j] + gap
	}
}
