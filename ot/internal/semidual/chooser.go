package semidual

import (
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
)

// A Pass is one way to evaluate the semi-dual. Passes differ in the pairs that they read and in
// their rounding.
type Pass interface {
	// Eval sets α and the column sums at β and returns the L1 error of the marginals.
	Eval(s *Function, beta []float64) float64
	// Certifies reports whether the last eval went over every cost in float64, so that its error is
	// the plan's.
	Certifies() bool
}

// chooser takes the pass of each evaluation: the cheapest that is exact enough. Solvers say what
// they need by its methods, and nothing else writes its fields or asks for them.
type chooser struct {
	// quotients makes rows from β/ε and c/ε, scaled by the row's last sum: one pass instead of three,
	// with an error of |c|/ε units in the last place, and what a device does. Without it β−c comes
	// first, scaled by the row's largest: right for any cost and ε.
	quotients bool
	single    bool    // float32 is exact enough for a stored kernel
	stageTol  float64 // of the stage
	store     bool    // store kernels whatever mayStore says
	Final     bool    // the evaluation is usually the last, so a kernel is not worth storing
	lists     bool    // whether to make lists of the larger entries of T
	share     float64 // the share of entries that a list may have; 0 is sparseShare
	newton    bool    // every evaluation over all pairs makes a list, for the Hessian

	refusedAt float64 // the ε at which a list was too long

	last   Pass          // that made the last evaluation; nil where β is no longer its β
	listed listedPass    // over the pairs that a geometry lists; of nil where it does not
	grid   gridPass      // along the axes of a separable geometry; of nil where it is not
	all    allPairs      // over every cost in float64
	Kernel *denseKernel  // products with the kernel of an earlier evaluation
	sparse *SparseKernel // over the larger entries of T; nil where there is no list
	reuse  *SparseKernel // memory for the next list
	Trees  *treeOrder    // over patterns; nil where atoms are in the user's order
	dev    Remote        // nil where the geometry is not on a device
}

// Remote makes passes on a device, in precisions that it chooses itself.
type Remote interface {
	Pass
	// Serves reports whether it can make passes over g.
	Serves(g cost.Geometry) bool
	// Failure returns the device's error, which ends a solve.
	Failure() error
	// Forget drops the record of the last pass, because the host made a later one.
	Forget()
	// SoftminColumns is Function.SoftminColumns for the α of its last pass, where it can.
	SoftminColumns(s *Function, cols []int, set func(k int, v float64)) bool
}

// SetDevice makes passes on a device where it serves.
func (c *chooser) SetDevice(d Remote) { c.dev = d }

// OnDevice reports whether the next evaluation runs on the device.
func (s *Function) OnDevice() bool {
	return s.dev != nil && s.quotients && !s.newton && s.dev.Serves(s.G)
}

// DeviceFailure is the error of the device, which ends a solve.
func (s *Function) DeviceFailure() error {
	if s.dev == nil {
		return nil
	}
	return s.dev.Failure()
}

// setGeometry sets the passes of a geometry's own, whose costs have changed.
func (c *chooser) setGeometry(g cost.Geometry) {
	c.listed.Listed, c.grid.Separable = Listing(g), Separate(g)
}

// choose returns the pass for β.
func (s *Function) choose(beta []float64) Pass {
	if s.OnDevice() {
		return s.dev
	}
	if s.listed.Listed != nil {
		s.listed.list = nil
		if s.newton {
			s.listed.list = s.newSparse(beta)
		}
		return &s.listed
	}
	if s.grid.Separable != nil && !s.newton {
		return s.grid
	}
	if p := s.findPattern(beta); p != nil {
		return p
	}
	switch {
	case s.sparse.usable(beta, s.Eps):
		return s.sparse
	case s.Kernel.usable(beta, s.Eps) && !s.newton && !(s.listsPossible() && s.Kernel.uses >= 3):
		return s.Kernel // until steps are short enough for a list
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
func (s *Function) record(p Pass, beta []float64) {
	s.last = p
	if s.dev != nil && (p != Pass(s.dev) || s.Marginals != nil) {
		s.dev.Forget()
	}
	s.Trees.note(s, beta)
}

// Certified reports whether the last evaluation's error is the plan's.
func (c *chooser) Certified() bool { return c.last != nil && c.last.Certifies() }

// Uncertify records that β is no longer that of the last evaluation.
func (c *chooser) Uncertify() { c.last = nil }

// StartStage begins a stage that ends at tol, with quotients where they are exact enough (a device
// chooses its own precision) and passes differ by them.
func (s *Function) StartStage(tol float64) {
	s.single, s.stageTol = s.bMin > singleColumn, tol
	s.quotients = s.listed.Listed == nil && s.grid.Separable == nil && (s.dev != nil || tol >= 20*s.Noise())
}

// EvalResolved is eval, repeated with less rounding as long as the error is of its order.
func (s *Function) EvalResolved(beta []float64, relax float64) float64 {
	err := s.Eval(beta, relax)
	s.LeaveFloat32(err)
	if s.quotients && err < 20*s.Noise() {
		s.quotients = false
		s.Invalidate()
		err = s.Eval(beta, relax)
	}
	return err
}

// LeaveFloat32 ends the use of float32 where it cannot resolve the errors of the stage.
func (s *Function) LeaveFloat32(err float64) {
	if !s.single || s.stageTol >= SingleTol || err >= 4*SingleTol {
		return
	}
	s.single = false
	s.Invalidate()
	if s.Kernel != nil {
		s.Kernel.data32 = nil
	}
}

// Invalidate drops the list and the kernel of earlier evaluations.
func (c *chooser) Invalidate() {
	c.sparse = nil
	if c.Kernel != nil {
		c.Kernel.Eps = 0
	}
}

// WantLists says whether evaluations may make lists of the entries that are not negligible.
func (c *chooser) WantLists(on bool) { c.lists = on }

// listsPossible reports whether a list is wanted and may be short enough.
func (s *Function) listsPossible() bool { return s.lists && s.refusedAt != s.Eps }

// refuseLists stops making lists at this ε.
func (s *Function) refuseLists() { s.sparse, s.refusedAt = nil, s.Eps }

// maxDeviceNewton is the largest n·m for which a solve on a device takes Newton steps, whose lists are made on
// the host: a second or so each; maxGridNewton is that of a separable geometry, whose lists take far longer
// than its passes.
const maxDeviceNewton, maxGridNewton = 1 << 28, 1 << 20

// ListForNewton makes evaluations leave a list for the Hessian, of all entries if whole, until end
// is called. It reports false where that would take too long.
func (s *Function) ListForNewton(whole bool) (end func(), ok bool) {
	if s.dev != nil && s.N > maxDeviceNewton/s.M || s.grid.Separable != nil && s.N > maxGridNewton/s.M {
		return nil, false
	}
	s.sparse, s.lists, s.newton, s.refusedAt = nil, true, true, 0
	if whole {
		s.share = 1
	}
	return func() { s.share, s.newton = 0, false }, true
}

// List returns the list for the Hessian, nil where the last evaluation left none.
func (s *Function) List() *SparseKernel {
	if s.sparse == nil || s.sparse.eps != s.Eps {
		return nil
	}
	return s.sparse
}

// AlwaysStore stores kernels of any size.
func (c *chooser) AlwaysStore() { c.store = true }

// LastEvaluation makes evaluations go over every cost in float64, without storing a kernel, until
// end is called.
func (s *Function) LastEvaluation() (end func()) {
	s.Invalidate()
	s.lists, s.Final = false, true
	return func() { s.Final = false }
}

// mayStore reports whether a kernel fits into memory and makes passes faster.
func (s *Function) mayStore() bool {
	most := storedCached
	switch frugal := isFrugal(s.G); {
	case s.Final:
		return false
	case s.store:
		return true
	case !frugal && (s.single || !isQuick(s.G)):
		most = geometry.MaxHeld
	case s.single:
		most = geometry.MaxStored
	}
	return s.N <= most/s.M
}
