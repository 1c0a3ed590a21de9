package exact

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
)

// Plan is an optimal plan, as a list of arcs, with the potentials and the certificate that prove
// it.
type Plan struct {
	// Geometry and the weights that were solved; weights keep their totals.
	Geometry cost.Geometry
	A, B     []float64
	// Arcs carry the mass, sorted by source, then target.
	Arcs []Arc
	// Value is ⟨T, C⟩.
	Value float64
	// F and G are potentials of sources and targets, ⟨a,F⟩ = ⟨b,G⟩ per unit of mass, F_i + G_j ≤
	// C_ij up to Certificate.Infeasibility.
	F, G []float64
	// Price is the derivative of Value by the mass moved, of Partial; 0 elsewhere.
	Price float64
	// Status says how the solve ended, and Pivots counts its steps, pivots or paths: 0 from Line.
	Status Status
	Pivots int
	// Certificate bounds how far the plan and the potentials are from optimal.
	Certificate Certificate
}

// An Arc carries Mass > 0 from source I to target J.
type Arc struct {
	I, J int
	Mass float64
}

// valued returns p with its value, or an error where that is out of range.
func (p *Plan) valued() (*Plan, error) {
	if err := inRange(p.Certificate); err != nil {
		return nil, err
	}
	p.Value = p.Certificate.Primal
	return p, nil
}

// Dims returns the number of sources and of targets.
func (p *Plan) Dims() (n, m int) { return len(p.A), len(p.B) }

// Matrix returns T, n×m, as a new matrix.
func (p *Plan) Matrix() *mat.Dense {
	t := mat.NewDense(len(p.A), len(p.B), nil)
	for _, e := range p.Arcs {
		t.Set(e.I, e.J, t.At(e.I, e.J)+e.Mass)
	}
	return t
}

// marginals returns the sums of arcs over rows and over columns.
func marginals(arcs []Arc, n, m int) (a, b []float64) {
	a, b = make([]float64, n), make([]float64, m)
	for _, e := range arcs {
		a[e.I] += e.Mass
		b[e.J] += e.Mass
	}
	return a, b
}

func sortArcs(arcs []Arc) {
	slices.SortFunc(arcs, func(x, y Arc) int {
		if x.I != y.I {
			return x.I - y.I
		}
		return x.J - y.J
	})
}
