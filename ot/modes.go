package ot

// modes say how evaluations are made. Only the methods in this file write them.
type modes struct {
	pass            rowPass
	single          bool    // float32 is good enough for what is stored
	stageTol        float64 // of the stage
	store           bool    // store kernels whatever mayStore says
	final           bool    // the evaluation is as a rule the last, and a kernel not worth storing
	sparse          bool    // whether to look for an active list
	share           float64 // the share of entries that the list may have; 0 is activeShare
	newton          bool    // every full evaluation makes the list, for the Hessian
	sparseRefusedAt float64 // the ε at which the list was too long
}

// A rowPass is a way to make the rows of T from costs and potentials.
type rowPass int

const (
	// exactPass takes differences first and scales by the row's largest: right for any cost and ε.
	exactPass rowPass = iota
	// fusedPass works with β/ε and c/ε and scales by the row's last sum: one pass instead of three, and an error of
	// |c|/ε units in the last place.
	fusedPass
	// singlePass is fusedPass in float32, for clouds of points too large for a stored kernel.
	singlePass
)

// choosePass takes the fastest pass that is good enough for a stage that ends at tol, and float32 to begin with.
func (s *semidual) choosePass(tol float64) {
	s.single, s.stageTol = s.bMin > singleColumn, tol
	s.pass = fusedPass
	switch {
	case tol < 20*s.noise() && s.dev == nil: // a device goes as far as it can
		s.pass = exactPass
	case s.single && s.singleFits():
		s.pass = singlePass
	}
}

// limitPass takes no faster pass than the one given.
func (m *modes) limitPass(pass rowPass) { m.pass = min(m.pass, pass) }

// slowerPass takes the next pass, whose rounding is less.
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

// refuseLists makes no more lists at ε.
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

// lastEvaluation makes the next evaluation one over every cost in float64, and a kernel not worth storing, until end is called.
func (s *semidual) lastEvaluation() (end func()) {
	s.invalidate()
	s.limitPass(fusedPass)
	s.sparse, s.final = false, true
	return func() { s.final = false }
}

// eval computes α and the column sums at β and returns the L1 error of the marginals. relax = 1 takes the exact α;
// other values step from the α of the last eval by that multiple of the way (successive over-relaxation), and then
// the rows do not sum to a exactly, which the error counts.
func (s *semidual) eval(beta []float64, relax float64) float64 {
	s.evals++
	if s.onDevice() {
		return s.evalDevice(beta, relax)
	}
	s.dev.invalidate()
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
