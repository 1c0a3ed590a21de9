package ot

// modes select how evaluations are computed. Only the methods in this file write them.
type modes struct {
	pass            rowPass
	single          bool    // float32 is exact enough for a stored kernel
	stageTol        float64 // of the stage
	store           bool    // store kernels whatever mayStore says
	final           bool    // the evaluation is usually the last, so a kernel is not worth storing
	sparse          bool    // whether to look for an active list
	share           float64 // the share of entries that the list may have; 0 is activeShare
	newton          bool    // every full evaluation makes a list, for the Hessian
	sparseRefusedAt float64 // the ε at which the list was too long
}

// A rowPass is a way to compute the rows of T from costs and potentials.
type rowPass int

const (
	// exactPass takes differences first and scales by the row's largest: right for any cost and ε.
	exactPass rowPass = iota
	// fusedPass works with β/ε and c/ε and scales by the row's last sum: one pass instead of three, and an error of
	// |c|/ε units in the last place.
	fusedPass
	// singlePass is fusedPass in float32, for clouds of points that are too large for a stored
	// kernel.
	singlePass
)

// choosePass sets the fastest pass that is exact enough for a stage that ends at tol, beginning
// with float32.
func (s *semidual) choosePass(tol float64) {
	s.single, s.stageTol = s.bMin > singleColumn, tol
	s.pass = fusedPass
	switch {
	case tol < 20*s.noise() && s.dev == nil: // a device chooses its own precision
		s.pass = exactPass
	case s.single && s.singleFits():
		s.pass = singlePass
	}
}

// limitPass sets the given pass if the present one is faster.
func (m *modes) limitPass(pass rowPass) { m.pass = min(m.pass, pass) }

// slowerPass sets the next pass, which has a smaller rounding error.
func (s *semidual) slowerPass() {
	s.pass--
	s.invalidate()
}

// doublePrecision ends the use of float32.
func (s *semidual) doublePrecision() {
	s.single = false
	s.limitPass(fusedPass)
	s.invalidate()
	if s.kernel != nil {
		s.kernel.data32 = nil
	}
}

// wantLists says whether evaluations may make lists of the entries that are not negligible.
func (m *modes) wantLists(on bool) { m.sparse = on }

// refuseLists stops making lists at ε.
func (m *modes) refuseLists(eps float64) { m.sparseRefusedAt = eps }

// listForNewton makes evaluations leave a list for the Hessian, of all entries if whole, until end is called.
func (m *modes) listForNewton(whole bool) (end func()) {
	m.sparse, m.newton, m.sparseRefusedAt = true, true, 0
	if whole {
		m.share = 1
	}
	return func() { m.share, m.newton = 0, false }
}

// alwaysStore stores kernels of any size.
func (m *modes) alwaysStore() { m.store = true }

// lastEvaluation makes evaluations go over every cost in float64, without storing a kernel, until
// end is called.
func (s *semidual) lastEvaluation() (end func()) {
	s.invalidate()
	s.limitPass(fusedPass)
	s.sparse, s.final = false, true
	return func() { s.final = false }
}

// eval computes α and the column sums at β and returns the L1 error of the marginals. relax = 1
// takes the exact α; other values move α from the last eval by that multiple of the exact step
// (successive over-relaxation); rows then do not sum to a exactly, and the error includes their
// deviation.
func (s *semidual) eval(beta []float64, relax float64) float64 {
	s.evals++
	if s.onDevice() {
		return s.evalDevice(beta, relax)
	}
	s.dev.invalidate()
	if o := s.sorted; o != nil {
		defer o.note(s, beta, relax)
		if p := s.findPattern(beta); p != nil {
			return s.evalPattern(p, beta, relax)
		}
	}
	if relax == 1 && s.act.usable(beta, s.eps) {
		return s.evalActive(beta)
	}
	if mid, ok := s.useKernel(beta, relax); ok {
		return s.evalKernel(beta, mid, relax)
	}
	store := s.mayStore() && !s.final
	if s.pass == singlePass && (!s.sparse || s.sparseRefusedAt == s.eps || relax != 1) {
		return s.evalSingle(beta, relax)
	}
	return s.evalFull(beta, relax, store)
}
