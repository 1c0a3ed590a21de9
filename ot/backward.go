package ot

import (
	"math"

	"coupling/ot/internal/derivative"
	"coupling/ot/internal/fault"
)

// Method is a way of solving the linear system of a derivative. The zero value chooses: Eliminate
// for up to 128 atoms on the smaller side; above, CG, which is usually many times faster, followed
// by Cholesky, for up to 2048 atoms, if CG has not converged in 1000 iterations.
type Method int

const (
	// Eliminate is the subtraction-free elimination: accurate to a few units in the last place whatever the plan.
	// n·m² + m³/2 multiplications, 2n·m + 2m² memory.
	Eliminate = Method(derivative.Eliminate)
	// Cholesky factors D, and falls back on Eliminate if a pivot is too small to be trusted.
	Cholesky = Method(derivative.Cholesky)
	// CG is conjugate gradients with products by T only: two passes an iteration over the entries
	// of T that are not negligible.
	CG = Method(derivative.CG)
)

// String returns the name of the method.
func (m Method) String() string {
	return fault.Name("Method", int(m), "automatic", "eliminate", "cholesky", "cg")
}

// Backward holds the settings of derivatives of a plan. Its zero value works; the methods of Plan
// use it.
type Backward struct {
	// Method solves the linear system.
	Method Method
	// Tol is the relative residual at which CG stops; 0 is a hundredth of the plan's MarginalL1, from 1e-13 to 1e-6: no
	// gradient is better than its plan.
	Tol float64
	// MaxIter is the largest number of CG iterations; 0 is 10·m + 1000.
	MaxIter int
}

// check reports settings out of range and plans that have no derivative.
func (b Backward) check(p *Plan) error {
	switch {
	case p.t == nil:
		return bad(ErrUnsupported, "derivative of a plan that no solver made: make plans by NewPlan")
	case p.penalties != nil:
		return bad(ErrUnsupported, "derivative of an unbalanced plan: only balanced plans are differentiated")
	case b.Method < 0 || b.Method > CG:
		return bad(ErrParameter, "Backward.Method = %d: unknown", int(b.Method))
	case math.IsNaN(b.Tol) || b.Tol < 0 || b.Tol >= 1:
		return bad(ErrParameter, "Backward.Tol = %g: must be in [0, 1)", b.Tol)
	case b.MaxIter < 0:
		return bad(ErrParameter, "Backward.MaxIter = %d: must be ≥ 0", b.MaxIter)
	}
	return nil
}

// settings are those of the solution of the linear system.
func (b Backward) settings() derivative.Settings {
	return derivative.Settings{Method: derivative.Method(b.Method), Tol: b.Tol, MaxIter: b.MaxIter}
}
