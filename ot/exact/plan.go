package exact

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// An Arc carries Mass > 0 from source I to target J.
type Arc struct {
	I, J int
	Mass float64
}

// A Plan is a sparse coupling of Rows sources and Cols targets. Arcs are sorted by source, then target.
type Plan struct {
	Rows, Cols int
	Arcs       []Arc
}

// Dense returns the plan as a Rows×Cols matrix.
func (p Plan) Dense() *mat.Dense {
	t := mat.NewDense(p.Rows, p.Cols, nil)
	for _, e := range p.Arcs {
		t.Set(e.I, e.J, t.At(e.I, e.J)+e.Mass)
	}
	return t
}

// Marginals returns the sums over rows, of length Rows, and over columns, of length Cols.
func (p Plan) Marginals() (a, b []float64) {
	a, b = make([]float64, p.Rows), make([]float64, p.Cols)
	for _, e := range p.Arcs {
		a[e.I] += e.Mass
		b[e.J] += e.Mass
	}
	return a, b
}

func (p Plan) sort() {
	slices.SortFunc(p.Arcs, func(x, y Arc) int { return cmp.Or(cmp.Compare(x.I, y.I), cmp.Compare(x.J, y.J)) })
}
