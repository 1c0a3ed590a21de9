package paper

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	pfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// The geometry of scripts, as fractions of the size of the text they stand on.
const (
	scriptSize = 0.70
	superRise  = 0.36
	subDrop    = 0.16
)

// CapHeight is the height of a capital letter of Liberation Sans as a fraction of the font's size.
const CapHeight = 0.716

var fonts = sync.OnceValue(func() *pfont.Cache { return pfont.NewCache(liberation.Collection()) })

// Sans returns the font of all figures: Liberation Sans at the given size.
func Sans(size vg.Length) pfont.Font {
	return pfont.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// lines splits text at its newlines.
func lines(txt string) []string { return strings.Split(strings.TrimRight(txt, "\n"), "\n") }

// outlines are the paths of text around pt, rotated about it, its visible edges aligned.
func outlines(txt string, sty text.Style, pt vg.Point) vg.Path {
	var path vg.Path
	all, height := lines(txt), Height(txt, sty.Font)
	for i, line := range all {
		base := vg.Length(sty.YAlign)*height + vg.Length(len(all)-1-i)*LineHeight(sty.Font)
		width := set(nil, line, sty.Font, vg.Point{})
		set(&path, line, sty.Font, vg.Point{X: vg.Length(sty.XAlign) * width, Y: base})
	}
	return moved(path, sty.Rotation, pt)
}

// moved turns a path about the origin and carries the origin to pt.
func moved(p vg.Path, angle float64, pt vg.Point) vg.Path {
	sin, cos := math.Sincos(angle)
	if angle == math.Pi/2 {
		sin, cos = 1, 0
	}
	move := func(q vg.Point) vg.Point {
		return vg.Point{
			X: pt.X + q.X*vg.Length(cos) - q.Y*vg.Length(sin),
			Y: pt.Y + q.X*vg.Length(sin) + q.Y*vg.Length(cos),
		}
	}
	for i := range p {
		p[i].Pos = move(p[i].Pos)
		for k := range p[i].Control {
			p[i].Control[k] = move(p[i].Control[k])
		}
	}
	return p
}

// Write draws text by its visible edges: with YTop the top of a capital of the first line is at pt, with YBottom the
// baseline of the last line, with YCenter the middle between the two. Rotation turns it about pt.
func Write(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	if path := outlines(txt, sty, pt); len(path) > 0 {
		c.SetColor(sty.Color)
		c.Fill(path)
	}
}

// Halo is Write over a rim of the paper's colour, so that text over data stays readable.
func Halo(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	if path := outlines(txt, sty, pt); len(path) > 0 {
		c.SetColor(color.White)
		c.SetLineWidth(sty.Font.Size * 0.3)
		c.SetLineDash(nil, 0)
		c.Stroke(path)
		c.SetColor(sty.Color)
		c.Fill(path)
	}
}

// LineHeight returns the distance between the baselines of successive lines.
func LineHeight(f pfont.Font) vg.Length { return f.Size * 1.2 }

// Width returns the width of the widest line of txt.
func Width(txt string, f pfont.Font) (w vg.Length) {
	for _, line := range lines(txt) {
		w = max(w, set(nil, line, f, vg.Point{}))
	}
	return w
}

// Height returns the distance from the last baseline of txt to the top of a capital of its first line.
func Height(txt string, f pfont.Font) vg.Length {
	return f.Size*CapHeight + vg.Length(strings.Count(strings.TrimRight(txt, "\n"), "\n"))*LineHeight(f)
}

// set appends the outlines of one line of marked-up text to path (nil: only measure) and returns its width. A
// superscript that follows a subscript, or the reverse, is set above it.
func set(path *vg.Path, line string, f pfont.Font, at vg.Point) vg.Length {
	x, stack := at.X, at.X // stack: where the last script began
	last := 0
	for _, r := range parse(line, run{}) {
		g, pen := f, vg.Point{X: x, Y: at.Y}
		if r.bold {
			g.Weight = font.WeightBold
		}
		if r.italic {
			g.Style = font.StyleItalic
		}
		switch r.script {
		case 1:
			g.Size, pen.Y = f.Size*scriptSize, at.Y+f.Size*superRise
		case -1:
			g.Size, pen.Y = f.Size*scriptSize, at.Y-f.Size*subDrop
		}
		if r.script != 0 && last == -r.script {
			pen.X = stack
		}
		stack, last = pen.X, r.script
		x = max(x, pen.X+outline(path, g, r.text, pen))
	}
	return x - at.X
}

// outline appends the glyphs of str to path (nil: only measure) with the origin of the first at pen, and returns the
// advance. A rune that the font lacks is drawn as its number, "[U+4F60]".
func outline(path *vg.Path, f pfont.Font, str string, pen vg.Point) vg.Length {
	var (
		face    = fonts().Lookup(f, f.Size).Face
		buf     sfnt.Buffer
		em      = fixed.I(int(face.UnitsPerEm()))
		unit    = f.Size / vg.Length(em) // of one 26.6 unit at one pixel per font unit
		x       vg.Length
		prev    sfnt.GlyphIndex
		hasPrev bool
	)
	for _, r := range spelled(face, str) {
		flip := r == '∇'
		g, err := face.GlyphIndex(&buf, cmp.Or(standIns[r], r))
		if err != nil {
			continue
		}
		if hasPrev {
			if k, err := face.Kern(&buf, prev, g, em, font.HintingNone); err == nil {
				x += vg.Length(k) * unit
			}
		}
		if path != nil {
			glyph(path, face, &buf, g, em, unit, vg.Point{X: pen.X + x, Y: pen.Y}, flip)
		}
		if adv, err := face.GlyphAdvance(&buf, g, em, font.HintingNone); err == nil {
			x += vg.Length(adv) * unit
		}
		prev, hasPrev = g, true
	}
	return x
}

// spelled is str with the numbers of runes in place of those that face lacks.
func spelled(face *sfnt.Font, str string) string {
	var buf sfnt.Buffer
	var out strings.Builder
	for _, r := range str {
		if g, err := face.GlyphIndex(&buf, cmp.Or(standIns[r], r)); err == nil && g == 0 {
			fmt.Fprintf(&out, "[%U]", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// standIns are runes to draw for those that Liberation lacks but has the shape of; ∇ is turned upside down.
var standIns = map[rune]rune{'∇': '∆', '∥': '‖', '∼': '~', '∈': 'є', '⟨': '‹', '⟩': '›', '≪': '«', '≫': '»',
	'ϵ': 'ε', '𝜀': 'ε'}

// glyph appends one glyph's outline; flip turns it upside down within the height of a capital.
func glyph(path *vg.Path, face *sfnt.Font, buf *sfnt.Buffer, g sfnt.GlyphIndex, em fixed.Int26_6, unit vg.Length,
	pen vg.Point, flip bool) {
	segments, err := face.LoadGlyph(buf, g, em, nil)
	if err != nil {
		return
	}
	at := func(p fixed.Point26_6) vg.Point {
		y := -vg.Length(p.Y) * unit
		if flip {
			y = vg.Length(em)*unit*CapHeight - y
		}
		return vg.Point{X: pen.X + vg.Length(p.X)*unit, Y: pen.Y + y}
	}
	open := false
	for _, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if open {
				path.Close()
			}
			path.Move(at(s.Args[0]))
			open = true
		case sfnt.SegmentOpLineTo:
			path.Line(at(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(at(s.Args[0]), at(s.Args[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(at(s.Args[0]), at(s.Args[1]), at(s.Args[2]))
		}
	}
	if open {
		path.Close()
	}
}
