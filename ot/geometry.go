package ot

import (
	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
)

// The costs without parameters of package cost, which has others.
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
// Costs of either sign are allowed, and +Inf forbids a pair; solvers return an error for NaN and −Inf.
func Dense(c mat.Matrix) *cost.Matrix { return cost.Dense(c) }

// Points is the geometry between the rows of x (n×d) and of y (m×d), which are read, not copied. The
// n×m costs are held from the first use on, up to 1 GiB, unless computing them is as fast.
func Points(x, y *mat.Dense, c cost.PointCost) *cost.Cloud { return cost.Points(x, y, c) }

// MatrixFree is Points that computes each row of costs when asked, at n·m·d more work a pass.
// Memory does not grow with n·m: beside vectors of n and m, solvers keep at most 170 MB of lists
// and kernels, and up to 5.6 million pairs the costs where they are a user's function.
func MatrixFree(x, y *mat.Dense, c cost.PointCost) *cost.Cloud { return cost.MatrixFree(x, y, c) }

// Cost returns the cost matrix of any geometry as a new n×m matrix. It panics with the error of
// cost.Check if there is one.
func Cost(g cost.Geometry) *mat.Dense { return geometry.All(g) }
