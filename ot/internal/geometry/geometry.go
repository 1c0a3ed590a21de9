// Package geometry has what solvers know of geometries, which users see in package cost: clouds of
// points and their vector kernels, the chain rule through a cost, and the scan of the costs.
package geometry

import (
	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/rows"
)

// kern is the set of vector kernels in use.
var kern cpu.Kernels[float64]

// Geometry is cost.Geometry.
type Geometry interface {
	Dims() (n, m int)
	Row(i int, buf []float64) []float64
}

// PointCost is cost.PointCost.
type PointCost interface {
	Cost(x, y []float64) float64
	Grad(dx, dy []float64, w float64, x, y []float64)
}

// Pointed is a Geometry between points, to which gradients can be carried. Points is nil where there
// are none.
type Pointed interface {
	Geometry
	Points() *Cloud
}

// Held makes a public geometry Pointed. It is embedded under a name that is not exported: types of this package are no
// part of the public documentation, and what embeds the public type is Pointed too.
type Held struct{ of *Cloud }

// Hold returns the Held of points.
func Hold(of *Cloud) Held { return Held{of} }

// Points returns the points.
func (h Held) Points() *Cloud { return h.of }

// Listed is a Geometry that lists the allowed pairs of each source, the targets in increasing order, and
// forbids the others.
type Listed interface {
	Geometry
	Arcs(i int) (targets []int32, costs []float64)
}

// Relisted lists the pairs of a geometry at other costs.
type Relisted struct {
	Listed
	costs [][]float64
}

// Relist lists the pairs of g at what of makes of the costs of each source.
func Relist(g Listed, of func(i int, targets []int32, costs []float64) []float64) *Relisted {
	n, _ := g.Dims()
	l := &Relisted{g, make([][]float64, n)}
	for i := range n {
		to, c := g.Arcs(i)
		l.costs[i] = of(i, to, c)
	}
	return l
}

// Arcs returns the targets of source i and their costs.
func (l *Relisted) Arcs(i int) ([]int32, []float64) {
	to, _ := l.Listed.Arcs(i)
	return to, l.costs[i]
}

// Check returns an error for a geometry made from bad input, with the argument's name: ErrShape,
// ErrCost or ErrParameter of package ot.
func Check(name string, g Geometry) error {
	if g == nil {
		return fault.OT(fault.ErrShape, "%s is nil", name)
	}
	if v, ok := g.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err
		}
	}
	if n, m := g.Dims(); n < 1 || m < 1 {
		return fault.OT(fault.ErrShape, "%s is %d×%d: must have a source and a target", name, n, m)
	}
	return nil
}

// All returns the costs of a geometry as a new n×m matrix. It panics with the error of Check if
// there is one.
func All(g Geometry) *mat.Dense {
	if err := Check("geometry", g); err != nil {
		panic(err)
	}
	n, m := g.Dims()
	data := make([]float64, n*m)
	rows.NewSweep(n, m, 0, func() []float64 { return make([]float64, m) }).
		EachRow(func(buf []float64, _, i int) { copy(data[i*m:(i+1)*m], g.Row(i, buf)) })
	return mat.NewDense(n, m, data)
}
