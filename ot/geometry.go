package ot

import (
	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
)

// The geometries and costs of package cost, where their methods are documented.
type (
	// Geometry is the cost c(i, j) of moving a unit of mass from source i to target j, read a row at a
	// time; any type with its two methods works with every solver.
	Geometry = cost.Geometry
	// Fused is a Geometry that computes a row of exponentials without storing the costs.
	Fused = cost.Fused
	// Frugal is a Geometry that can ask for memory that does not grow with n·m.
	Frugal = cost.Frugal
	// CostMatrix is a geometry given as a cost matrix.
	CostMatrix = cost.Matrix
	// PointCloud is the geometry of two clouds of points and a cost between points.
	PointCloud = cost.Cloud
	// PointCost is a cost between two points of the same dimension, with its gradient.
	PointCost = cost.PointCost
	// Metric names a cost without parameters.
	Metric = cost.Metric
	// SqEuclideanL1 is the cost of DP-Sinkhorn, |x−y|² + m·Σ|xₖ−yₖ|; the value is the mix m.
	SqEuclideanL1 = cost.SqEuclideanL1
	// Power is |x−y|ᵖ, the Euclidean distance to the power p > 0; the value is p.
	Power = cost.Power
	// CostFunc is a user's own cost between points.
	CostFunc = cost.CostFunc
)

const (
	// SqEuclidean is |x−y|² = Σ (xₖ−yₖ)², not halved.
	SqEuclidean = cost.SqEuclidean
	// L1 is Σ |xₖ−yₖ|; its gradient takes sign(0) = 0.
	L1 = cost.L1
	// Euclidean is |x−y|; its gradient at x = y is 0.
	Euclidean = cost.Euclidean
	// Cosine is 1 − x·y/(|x||y|), in [0, 2]; it is 1, with gradient 0, where x or y is 0.
	Cosine = cost.Cosine
)

// Dense is the geometry of a given n×m cost matrix, which is read, not copied: do not change it during a solve.
// Costs of either sign are allowed; NaN and infinities are reported by the solver.
func Dense(c mat.Matrix) *CostMatrix { return cost.Dense(c) }

// Points is the geometry between the rows of x (n×d) and of y (m×d), which are read, not copied. The
// n×m costs are held from the first use on, up to 1 GiB, unless computing them is as fast.
func Points(x, y *mat.Dense, c PointCost) *PointCloud { return cost.Points(x, y, c) }

// MatrixFree is Points that computes each row of costs when asked, at n·m·d more work a pass.
// Memory does not grow with n·m: beside vectors of n and m, solvers keep at most 170 MB of lists
// and kernels.
func MatrixFree(x, y *mat.Dense, c PointCost) *PointCloud { return cost.MatrixFree(x, y, c) }

// Check returns an error for a geometry made from bad input: ErrShape, ErrCost or ErrParameter.
// Solvers call it; code that reads costs itself should call it first.
func Check(g Geometry) error { return cost.Check("geometry", g) }

// Cost returns the cost matrix of any geometry as a new n×m matrix. It panics with the error of
// Check if there is one.
func Cost(g Geometry) *mat.Dense { return cost.All(g) }
