// Package ottest is the conformance kit of package ot: reference cases computed in 113-bit
// arithmetic, and the laws that every solver and every geometry must pass. The test of a new solver
// or geometry, in any module, calls
//
//	func TestMySolver(t *testing.T) {
//		ottest.Solver(t, func(eps, tol float64) ot.Solver { return My{Eps: eps, Tol: tol} })
//	}
//
// which checks all of them. Basic leaves out weights down to 1e-12. Geometry checks a geometry, and
// PointCost a cost between points with its gradient; Unbalanced and Barycentre check solvers of those problems.
package ottest
