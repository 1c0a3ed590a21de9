package paper

import (
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// trace calls emit for each part of a path: 'M' and 'L' with a point, 'Q' with a control point and an end, 'C' with
// two control points and an end, 'Z' with none. Arcs become cubics of at most a quarter turn, which miss a circle by
// less than 0.03 % of its radius.
func trace(p vg.Path, emit func(op byte, pts ...vg.Point)) {
	for i, q := range p {
		switch q.Type {
		case vg.MoveComp:
			emit('M', q.Pos)
		case vg.LineComp:
			emit('L', q.Pos)
		case vg.CloseComp:
			emit('Z')
		case vg.CurveComp:
			if len(q.Control) == 1 {
				emit('Q', q.Control[0], q.Pos)
			} else {
				emit('C', q.Control[0], q.Control[1], q.Pos)
			}
		case vg.ArcComp:
			arc(q, i == 0, emit)
		}
	}
}

// arc goes to the beginning of an arc and along it.
func arc(q vg.PathComp, first bool, emit func(op byte, pts ...vg.Point)) {
	n := max(1, int(math.Ceil(math.Abs(q.Angle)/(math.Pi/2)-1e-9)))
	step := q.Angle / float64(n)
	bulge := vg.Length(4. / 3 * math.Tan(step/4))
	on := func(a float64) (p, tangent vg.Point) {
		sin, cos := math.Sincos(a)
		r := vg.Point{X: q.Radius * vg.Length(cos), Y: q.Radius * vg.Length(sin)}
		return q.Pos.Add(r), vg.Point{X: -r.Y * bulge, Y: r.X * bulge}
	}
	p, tangent := on(q.Start)
	if first {
		emit('M', p)
	} else {
		emit('L', p)
	}
	for i := range n {
		to, next := on(q.Start + float64(i+1)*step)
		emit('C', p.Add(tangent), to.Sub(next), to)
		p, tangent = to, next
	}
}

// number writes a length to a thousandth of a point and without an exponent, as PDF demands.
func number(x float64) string {
	if math.IsNaN(x) {
		x = 0
	}
	x = math.Round(min(max(x, -1e6), 1e6)*1000) / 1000
	if x == 0 {
		x = 0 // no −0
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
