package cost

import (
	"gonum.org/v1/gonum/mat"

	"coupling/ot/internal/geometry"
)

// Cloud is the geometry of two clouds of points and a cost between points.
type Cloud struct {
	// Kind is the cost between points.
	Kind PointCost

	held
}

type held = geometry.Held

// Points is the geometry between the rows of x (n×d) and of y (m×d). The n×m cost matrix is
// computed at the first use and held, unless it exceeds 1 GiB, or the points have at most four
// dimensions and the cost is |x−y|², L1 or their sum, where computing costs is as fast as reading
// them. x and y are read, not copied.
//
// Cost of the first use where held: n·m·d.
func Points(x, y *mat.Dense, c PointCost) *Cloud {
	return &Cloud{c, geometry.Hold(geometry.Points(x, y, c))}
}

// MatrixFree is Points that computes each row of costs when asked, at n·m·d more work a pass.
// Memory does not grow with n·m: beside vectors of n and m, solvers keep at most 170 MB of lists
// and kernels, and up to 5.6 million pairs the costs where they are a user's function.
func MatrixFree(x, y *mat.Dense, c PointCost) *Cloud {
	return &Cloud{c, geometry.Hold(geometry.MatrixFree(x, y, c))}
}

// Validate reports points or a cost that cannot be used.
func (p *Cloud) Validate() error {
	if p == nil {
		return (*geometry.Cloud)(nil).Validate()
	}
	return p.Points().Validate()
}

// Dims returns the number of sources and of targets.
func (p *Cloud) Dims() (n, m int) { return p.Points().Dims() }

// X returns the sources, n×d.
func (p *Cloud) X() *mat.Dense { return p.Points().X() }

// Y returns the targets, m×d.
func (p *Cloud) Y() *mat.Dense { return p.Points().Y() }

// Row returns the costs from source i to every target.
func (p *Cloud) Row(i int, buf []float64) []float64 { return p.Points().Row(i, buf) }

// Symmetric reports whether both clouds are the same.
func (p *Cloud) Symmetric() bool { return p.Points().Symmetric() }

// Finite reports whether a cost of +Inf is one that overflowed: for the costs of this package.
func (p *Cloud) Finite() bool { return p.Points().Finite() }
