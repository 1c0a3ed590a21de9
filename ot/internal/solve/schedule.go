package solve

// anneal runs stage at each ε of the schedule, with loose tolerances until the last.
func (r *run) anneal(stage func(tol float64, last bool) error) error {
	if r.Start != nil && len(r.stages) > 1 {
		if err := r.tryWarmStart(); err != nil {
			return err
		}
	}
	last := len(r.stages) - 1
	for k, eps := range r.stages {
		tol := max(stageTol, r.Tol)
		if k == last {
			tol = r.Tol
		}
		r.s.SetEps(r.beta, eps)
		r.s.StartStage(tol)
		if r.s.Evals > 0 { // potentials of a start or of the previous stage
			r.s.LeaveFloat32(r.err)
		}
		if err := stage(tol, k == last); err != nil {
			return err
		}
	}
	return nil
}

// startRegion is the L1 error above which a warm start is no better than a cold one.
const startRegion = 0.5

// tryWarmStart goes straight to the problem's ε if the user's start is good there, and drops the
// start if not, so that a bad start costs only one evaluation.
func (r *run) tryWarmStart() error {
	last := r.stages[len(r.stages)-1]
	r.s.SetEps(r.beta, last)
	r.s.StartStage(stageTol)
	if err := r.eval(r.beta, 1); err != nil {
		return err
	}
	if r.err <= startRegion {
		r.stages = r.stages[len(r.stages)-1:]
		return nil
	}
	r.s.Eps = r.stages[0]
	r.beta = r.s.Start(nil)
	return nil
}

// stageTol is the L1 error at which annealing goes on to the next ε: potentials need only be near
// the solution.
const stageTol = 0.05

// annealBelow is the ratio of ε to the spread of the costs below which annealing pays, unless the
// user asked for it.
const annealBelow = 0.04

// schedule lists the values of ε from the spread of the costs down to Eps.
func (r *run) schedule() []float64 {
	factor := r.Anneal
	if factor == 0 {
		factor = 0.25
		if r.Eps >= annealBelow*r.s.Cost.Spread() {
			factor = 1
		}
	}
	var up []float64
	if factor < 1 && !r.s.Self { // a measure's potentials with itself are near 0 at every ε
		for e := r.Eps / factor; e < r.s.Cost.Spread(); e /= factor {
			up = append(up, e)
		}
	}
	stages := make([]float64, 0, len(up)+1)
	for k := len(up) - 1; k >= 0; k-- {
		stages = append(stages, up[k])
	}
	return append(stages, r.Eps)
}
