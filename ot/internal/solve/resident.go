package solve

import (
	"cmp"
	"math"

	"coupling/lab/device"
	"coupling/lab/logspace"
	"coupling/ot/internal/devicepass"
)

const (
	// lookAfter is the number of exponentials in the steps from one look at the error to the next,
	// so that a GPU waits less than it works; mostSteps is the largest number of those steps.
	lookAfter, mostSteps = 1 << 28, 32
	// wideResident is the largest n·m for which steps go on in float64 where float32 ends: above it, differences from a
	// float64 pass take less time than steps that save copies.
	wideResident = 1 << 22
)

// residentSteps takes Sinkhorn's steps on a GPU, if the geometry is on one, until the error is at
// most tol or near the rounding there, or until it falls by less than the factor contracts between
// two looks at it; 0 is never. An evaluation must follow.
func (r *run) residentSteps(tol float64, omega *relaxation, contracts float64) error {
	s := r.s
	if s.Self || !s.OnDevice() || !r.dev.On.Remote() {
		return nil
	}
	noise := r.dev.Noise(s, r.beta)
	if *r.dev.On.Type == device.Float32 && r.dev.InFloat32(s, noise) {
		floor := devicepass.NoiseMargin * noise
		err := r.stepsIn(device.Float32, max(tol, floor), omega, contracts)
		if err != nil || !(tol < r.err && r.err <= floor) || s.N > wideResident/s.M {
			return err
		}
		r.dev.Last, r.dev.LastEps = r.err, s.Eps // float32 is too coarse for what follows
	}
	return r.stepsIn(device.Float64, max(tol, devicepass.NoiseMargin*s.Noise()), omega, contracts)
}

// stepsIn is residentSteps in a type, until the error is at most enough. It leaves the potentials
// in r.beta and α, unless they are not finite.
func (r *run) stepsIn(t device.DType, enough float64, omega *relaxation, contracts float64) error {
	p, err := r.dev.Reside(r.s, t, r.beta)
	if err != nil {
		return err
	}
	defer p.Close()
	err = r.walk(p, enough, omega, contracts)
	if math.IsNaN(r.err) {
		*omega = relaxation{fixed: omega.fixed, omega: 1}
		return cmp.Or(r.dev.Failed, err)
	}
	return cmp.Or(p.Fetch(r.s, r.beta), err)
}

// walk takes the steps and looks at the error after one, two, four and so on, but no more than the
// rate of the last leaves.
func (r *run) walk(p *devicepass.Resident, enough float64, omega *relaxation, contracts float64) error {
	s, best := r.s, stagnation{monotone: true}
	most := max(1, min(mostSteps, lookAfter/2/s.N/s.M))
	for k := 1; r.iter < r.MaxIter; {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		before := r.err
		if r.err = p.Steps(s, k, omega.omega); math.IsNaN(r.err) {
			return nil
		}
		if r.iter, s.Evals = r.iter+k, s.Evals+k; r.Trace != nil {
			if err := r.trace(); err != nil {
				return err
			}
		}
		slow := k == most && contracts > 0 && r.err > contracts*before
		if r.err <= enough || slow || best.stalled(r.err, enough/devicepass.NoiseMargin) {
			return nil
		}
		omega.observe(r.err, k)
		left := logspace.Log(r.err/enough) / max(logspace.Log(before/r.err)/float64(k), 1e-6)
		k = max(1, min(2*k, most, r.MaxIter-r.iter, int(math.Ceil(left))))
	}
	return nil
}
