// Package cost has the costs of moving mass: geometries, which give the costs of a problem a row at
// a time, and costs between points.
package cost

import (
	"gonum.org/v1/gonum/mat"

	"coupling/ot/internal/fault"
	"coupling/ot/internal/geometry"
)

// Geometry is the cost c(i, j) of moving a unit of mass from source i to target j. Solvers read
// costs only row by row, so a geometry may hold its matrix or compute each row when asked; the
// speed of a solve depends on it.
//
// Dense, Points, MatrixFree, Sparse and Grid make geometries; any other type with these two methods works with
// every solver, as fast as Dense if its Row is as fast. A geometry may also implement the optional Fused,
// Listed, Frugal, Finite, Symmetric and Checked. A type that embeds a geometry of this package inherits its
// methods and its gradients with respect to points.
type Geometry interface {
	// Dims returns the number of sources n and of targets m.
	Dims() (n, m int)
	// Row returns the m costs of source i. It may fill and return buf, which has length m, or return storage of its
	// own, which the caller does not change. It is called from several goroutines at once, each with its own buf.
	Row(i int, buf []float64) []float64
}

// Fused is a Geometry that computes a row of exponentials without storing the costs, which is
// faster.
type Fused interface {
	Geometry
	// ExpRow writes dst[j] = exp(h[j] − c_ij·inv − shift) and returns the sum. cost is scratch, of length m.
	ExpRow(dst, cost []float64, i int, h []float64, inv, shift float64) float64
	// Quick reports whether that is as fast as reading costs from memory, so that storing a kernel
	// in float64 does not pay.
	Quick() bool
}

// Frugal is a Geometry that can ask for memory that does not grow with n·m: then solvers keep at most 170 MB.
type Frugal interface {
	Geometry
	Frugal() bool
}

// Finite is a Geometry that reports whether a cost of +Inf is an error; elsewhere it forbids the pair.
type Finite interface {
	Geometry
	Finite() bool
}

// Symmetric is a Geometry that reports whether its sources are its targets.
type Symmetric interface {
	Geometry
	Symmetric() bool
}

// Checked is a Geometry that checks itself, also when it is nil, before any other method is called.
type Checked interface {
	Geometry
	Validate() error
}

// Matrix is a geometry given as a cost matrix.
type Matrix struct {
	data    []float64
	n, m    int
	stride  int
	invalid error
}

// Dense is the geometry of a given n×m cost matrix, which is read, not copied: do not change it during a solve.
// Costs of either sign are allowed; NaN and infinities are reported by the solver.
func Dense(cost mat.Matrix) *Matrix {
	if cost == nil {
		return &Matrix{invalid: fault.OT(fault.ErrShape, "Dense: cost is nil")}
	}
	d, ok := cost.(*mat.Dense)
	if ok && d == nil {
		return &Matrix{invalid: fault.OT(fault.ErrShape, "Dense: cost is nil")}
	}
	if !ok {
		d = mat.DenseCopyOf(cost)
	}
	if d.IsEmpty() {
		return &Matrix{}
	}
	raw := d.RawMatrix()
	return &Matrix{data: raw.Data, n: raw.Rows, m: raw.Cols, stride: raw.Stride}
}

// Dims returns the number of sources and of targets.
func (c *Matrix) Dims() (n, m int) { return c.n, c.m }

// Row returns row i of the matrix itself.
func (c *Matrix) Row(i int, _ []float64) []float64 {
	return c.data[i*c.stride : i*c.stride+c.m : i*c.stride+c.m]
}

// Validate reports a matrix that Dense was not given.
func (c *Matrix) Validate() error {
	if c == nil {
		return fault.OT(fault.ErrShape, "geometry is a nil *cost.Matrix")
	}
	return c.invalid
}

// Check returns an error for a geometry made from bad input: ErrShape, ErrCost or ErrParameter of
// package ot. Solvers call it; code that reads costs itself should call it first.
func Check(g Geometry) error { return geometry.Check("geometry", g) }
