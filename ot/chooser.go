package ot

import "coupling/ot/cost"

// A pass is one way to evaluate the semi-dual. Passes differ in the pairs that they read and in
// their rounding.
type pass interface {
	// eval sets α and the column sums at β and returns the L1 error of the marginals.
	eval(s *semidual, beta []float64) float64
	// certifies reports whether the last eval went over every cost in float64, so that its error is
	// the plan's.
	certifies() bool
}

// chooser takes the pass of each evaluation: the cheapest that is exact enough. Solvers say what
// they need by its methods, and nothing else writes its fields or asks for them.
type chooser struct {
	arithmetic arithmetic
	single     bool    // float32 is exact enough for a stored kernel
	stageTol   float64 // of the stage
	store      bool    // store kernels whatever mayStore says
	final      bool    // the evaluation is usually the last, so a kernel is not worth storing
	lists      bool    // whether to make lists of the larger entries of T
	share      float64 // the share of entries that a list may have; 0 is sparseShare
	newton     bool    // every evaluation over all pairs makes a list, for the Hessian

	refusedAt float64 // the ε at which a list was too long

	last   pass          // that made the last evaluation; nil where β is no longer its β
	all    allPairs      // over every cost in float64
	narrow *float32Pass  // over every cost in float32; nil where they are not made in it
	kernel *denseKernel  // products with the kernel of an earlier evaluation
	sparse *sparseKernel // over the larger entries of T; nil where there is no list
	reuse  *sparseKernel // memory for the next list
	trees  *treeOrder    // over patterns; nil where atoms are in the user's order
	dev    remote        // nil where the geometry is not on a device
}

// arithmetic is a way to compute the rows of T from costs and potentials.
type arithmetic int

const (
	// byDifferences takes β−c first and scales by the row's largest: right for any cost and ε.
	byDifferences arithmetic = iota
	// byQuotients works with β/ε and c/ε and scales by the row's last sum: one pass instead of
	// three, and an error of |c|/ε units in the last place.
	byQuotients
	// inFloat32 is byQuotients in float32, for clouds of points that are too large for a stored
	// kernel.
	inFloat32
)

// remote makes passes on a device, in precisions that it chooses itself.
type remote interface {
	pass
	// serves reports whether it can make passes over g.
	serves(g cost.Geometry) bool
	// failure returns the device's error, which ends a solve.
	failure() error
	// forget drops the record of the last pass, because the host made a later one.
	forget()
	// softminColumns is semidual.softminColumns for the α of its last pass, where it can.
	softminColumns(s *semidual, cols []int, set func(k int, v float64)) bool
}

// setDevice makes passes on a device where it serves.
func (c *chooser) setDevice(d remote) { c.dev = d }

// onDevice reports whether the next evaluation runs on the device.
func (s *semidual) onDevice() bool {
	return s.dev != nil && s.arithmetic != byDifferences && !s.newton && s.dev.serves(s.g)
}

// deviceFailure is the error of the device, which ends a solve.
func (s *semidual) deviceFailure() error {
	if s.dev == nil {
		return nil
	}
	return s.dev.failure()
}

// setNarrow sets the pass in float32 of a geometry whose atoms or costs have changed.
func (c *chooser) setNarrow(g cost.Geometry) {
	c.narrow = nil
	if p, ok := g.(interface{ Float32() *cost.Rounded }); ok && p.Float32() != nil {
		c.narrow = &float32Pass{costs: p.Float32()}
		return
	}
	c.limitArithmetic(byQuotients)
}

// choose returns the pass for β.
func (s *semidual) choose(beta []float64) pass {
	if s.onDevice() {
		return s.dev
	}
	if p := s.findPattern(beta); p != nil {
		return p
	}
	switch {
	case s.sparse.usable(beta, s.eps):
		return s.sparse
	case s.kernel.usable(beta, s.eps) && !s.newton && !(s.listsPossible() && s.kernel.uses >= 3):
		return s.kernel // until steps are short enough for a list
	case s.arithmetic == inFloat32 && !s.listsPossible():
		return s.narrow
	}
	s.all = allPairs{}
	switch {
	case s.wantsSparse(beta):
		s.all.list = s.newSparse(beta)
	case s.mayStore():
		s.all.kernel = s.newKernel(beta)
	}
	return &s.all
}

// record notes the pass that made an evaluation.
func (s *semidual) record(p pass, beta []float64) {
	s.last = p
	if s.dev != nil && (p != pass(s.dev) || s.marginals != nil) {
		s.dev.forget()
	}
	s.trees.note(s, beta)
}

// certified reports whether the last evaluation's error is the plan's.
func (c *chooser) certified() bool { return c.last != nil && c.last.certifies() }

// uncertify records that β is no longer that of the last evaluation.
func (c *chooser) uncertify() { c.last = nil }

// startStage sets the fastest arithmetic that is exact enough for a stage that ends at tol,
// beginning with float32.
func (s *semidual) startStage(tol float64) {
	s.single, s.stageTol = s.bMin > singleColumn && s.marginals == nil, tol
	s.arithmetic = byQuotients
	switch {
	case tol < 20*s.noise() && s.dev == nil: // a device chooses its own precision
		s.arithmetic = byDifferences
	case s.single && s.float32Fits():
		s.arithmetic = inFloat32
	}
}

// continueStage is startStage after an evaluation at the same ε, whose arithmetic was needed.
func (s *semidual) continueStage(tol float64) {
	before := s.arithmetic
	s.startStage(tol)
	s.limitArithmetic(before)
}

// limitArithmetic sets the given arithmetic if the present one is faster.
func (c *chooser) limitArithmetic(a arithmetic) { c.arithmetic = min(c.arithmetic, a) }

// evalResolved is eval, repeated with less rounding as long as the error is of its order.
func (s *semidual) evalResolved(beta []float64, relax float64) float64 {
	err := s.eval(beta, relax)
	s.leaveFloat32(err)
	for s.arithmetic != byDifferences && err < 20*s.passNoise() {
		s.arithmetic--
		s.invalidate()
		err = s.eval(beta, relax)
	}
	return err
}

// passNoise is the order of the error that rounding causes in the arithmetic in use.
func (s *semidual) passNoise() float64 {
	if s.arithmetic == inFloat32 {
		return s.narrow.noise(s)
	}
	return s.noise()
}

// leaveFloat32 ends the use of float32 where it cannot resolve the errors of the stage.
func (s *semidual) leaveFloat32(err float64) {
	if !s.single || s.stageTol >= singleTol || err >= 4*singleTol {
		return
	}
	s.single = false
	s.limitArithmetic(byQuotients)
	s.invalidate()
	if s.kernel != nil {
		s.kernel.data32 = nil
	}
}

// invalidate drops the list and the kernel of earlier evaluations.
func (c *chooser) invalidate() {
	c.sparse = nil
	if c.kernel != nil {
		c.kernel.eps = 0
	}
}

// wantLists says whether evaluations may make lists of the entries that are not negligible.
func (c *chooser) wantLists(on bool) { c.lists = on }

// listsPossible reports whether a list is wanted and may be short enough.
func (s *semidual) listsPossible() bool { return s.lists && s.refusedAt != s.eps }

// refuseLists stops making lists at this ε.
func (s *semidual) refuseLists() { s.sparse, s.refusedAt = nil, s.eps }

// maxDeviceNewton is the largest n·m for which a solve on a device takes Newton steps, whose lists are made on the
// host: a second or so each.
const maxDeviceNewton = 1 << 28

// listForNewton makes evaluations leave a list for the Hessian, of all entries if whole, until end
// is called. It reports false where that would take too long.
func (s *semidual) listForNewton(whole bool) (end func(), ok bool) {
	if s.dev != nil && s.n > maxDeviceNewton/s.m {
		return nil, false
	}
	s.sparse, s.lists, s.newton, s.refusedAt = nil, true, true, 0
	if whole {
		s.share = 1
	}
	return func() { s.share, s.newton = 0, false }, true
}

// list returns the list for the Hessian, nil where the last evaluation left none.
func (s *semidual) list() *sparseKernel {
	if s.sparse == nil || s.sparse.eps != s.eps {
		return nil
	}
	return s.sparse
}

// alwaysStore stores kernels of any size.
func (c *chooser) alwaysStore() { c.store = true }

// lastEvaluation makes evaluations go over every cost in float64, without storing a kernel, until
// end is called.
func (s *semidual) lastEvaluation() (end func()) {
	s.invalidate()
	s.limitArithmetic(byQuotients)
	s.lists, s.final = false, true
	return func() { s.final = false }
}

// mayStore reports whether a kernel fits into memory and makes passes faster.
func (s *semidual) mayStore() bool {
	most := storedCached
	switch frugal := isFrugal(s.g); {
	case s.final:
		return false
	case s.store:
		return true
	case !frugal && (s.single || !isQuick(s.g)):
		most = cost.MaxHeld
	case s.single:
		most = cost.MaxStored
	}
	return s.n <= most/s.m
}
