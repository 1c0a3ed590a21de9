package ot

import (
	"cmp"
	"math"
	"slices"

	"coupling/lab/device"
)

// resident is the potentials of a stage in units of ε, on a GPU, and what Sinkhorn's steps need besides. A half-step there is a
// soft maximum and one or two sums of vectors. Nothing crosses to the host but, after a number of steps, the error.
type resident struct {
	o          *OnDevice
	at         *deviceArrays // that it belongs to
	arrays     []*device.Array
	mid        float64
	u, h       *device.Array // α/ε + mid and β/ε − mid
	a, b       *device.Array // weights,
	logA, logB *device.Array // and their logarithms
}

const (
	// noWeight stands for the logarithm of a weight of 0, since over-relaxation would subtract infinities.
	noWeight = 1e30
	// lookAfter is the number of exponentials in the steps from one look at the error to the next, so that a GPU waits less than it
	// works; mostSteps is the largest number of those steps.
	lookAfter, mostSteps = 1 << 28, 32
	// wideResident is the largest n·m for which steps go on in float64 where float32 ends: above it, differences from a
	// float64 pass take less time than steps that save copies.
	wideResident = 1 << 22
)

// residentSteps takes Sinkhorn's steps on a GPU, if the geometry is on one, until the error is at most tol or near the rounding
// there, or until it falls by less than the factor contracts between two looks at it; 0 is never. An evaluation must follow.
func (r *run) residentSteps(tol float64, omega *relaxation, contracts float64) error {
	s := r.s
	if s.self || !s.onDevice() || !s.dev.o.remote() {
		return nil
	}
	noise := s.dev.noise(s, r.beta)
	if s.dev.o.Type == device.Float32 && s.dev.inFloat32(s, noise) {
		floor := noiseMargin * noise
		err := r.stepsIn(device.Float32, max(tol, floor), omega, contracts)
		if err != nil || !(tol < r.err && r.err <= floor) || s.n > wideResident/s.m {
			return err
		}
		s.dev.last, s.dev.lastEps = r.err, s.eps // float32 is too coarse for what follows
	}
	return r.stepsIn(device.Float64, max(tol, noiseMargin*s.noise()), omega, contracts)
}

// stepsIn is residentSteps in a type, until the error is at most enough. It leaves the potentials in r.beta and α, unless they are
// not finite.
func (r *run) stepsIn(t device.DType, enough float64, omega *relaxation, contracts float64) error {
	p, err := r.s.dev.reside(r.s, t, r.beta)
	if err != nil {
		return err
	}
	defer p.close()
	err = r.walk(p, enough, omega, contracts)
	if math.IsNaN(r.err) {
		*omega = relaxation{fixed: omega.fixed, omega: 1}
		return cmp.Or(r.s.dev.failed, err)
	}
	return cmp.Or(p.fetch(r.s, r.beta), err)
}

// walk takes the steps and looks at the error after one, two, four and so on, but no more than the rate of the last leaves.
func (r *run) walk(p *resident, enough float64, omega *relaxation, contracts float64) error {
	s, best := r.s, stagnation{monotone: true}
	most := max(1, min(mostSteps, lookAfter/2/s.n/s.m))
	for k := 1; r.iter < r.MaxIter; {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		before := r.err
		if r.err = p.steps(s, k, omega.omega); math.IsNaN(r.err) {
			return nil
		}
		if r.iter, s.evals = r.iter+k, s.evals+k; r.Trace != nil {
			if err := r.trace(); err != nil {
				return err
			}
		}
		slow := k == most && contracts > 0 && r.err > contracts*before
		if r.err <= enough || slow || best.stalled(r.err, enough/noiseMargin) {
			return nil
		}
		omega.observe(r.err, k)
		left := math.Log(r.err/enough) / max(math.Log(before/r.err)/float64(k), 1e-6)
		k = max(1, min(2*k, most, r.MaxIter-r.iter, int(math.Ceil(left))))
	}
	return nil
}

// reside copies potentials and weights to the device.
func (d *devicePasses) reside(s *semidual, t device.DType, beta []float64) (*resident, error) {
	lo, hi := s.span(beta)
	p := &resident{o: d.o, mid: (lo + (hi-lo)/2) / s.eps}
	logA := make([]float64, s.n)
	for i, a := range s.a {
		logA[i] = math.Log(a)
	}
	d.failed = d.o.use("the potentials", func(r *deviceArrays) error {
		p.at = r
		up := func(v []float64, scale, by float64) *device.Array {
			v = slices.Clone(v)
			kern.Scale(v, scale, v)
			shift(v, by)
			a := r.own(r.scope.Keep(r.upload(t, v, len(v))))
			device.Map(a, a, device.Clamp, noWeight)
			p.arrays = append(p.arrays, a)
			return a
		}
		p.u, p.h = up(s.alpha, 1/s.eps, p.mid), up(beta, 1/s.eps, -p.mid)
		p.a, p.b, p.logA, p.logB = up(s.a, 1, 0), up(s.b, 1, 0), up(logA, 1, 0), up(s.logB, 1, 0)
		return nil
	})
	return p, d.failed
}

// steps takes k steps, relaxed by w, and returns the L1 error of the marginals between the half-steps of the last, NaN where the
// device failed.
func (p *resident) steps(s *semidual, k int, w float64) (l1 float64) {
	s.dev.failed = p.o.use("Sinkhorn's steps", func(r *deviceArrays) error {
		off := r.dev.Zeros(p.u.Type(), 2)
		for left := k - 1; left >= 0; left-- {
			scope := r.dev.Scope()
			rows := r.lseRows(p.h, 1/s.eps)
			halfStep(p.u, p.logA, rows, w)
			cols := r.lseCols(p.u, 1/s.eps)
			if left == 0 {
				deviation(off.Rows(0, 1), p.u, rows, p.logA, p.a)
				deviation(off.Rows(1, 2), p.h, cols, p.logB, p.b)
			}
			halfStep(p.h, p.logB, cols, w)
			scope.Close()
		}
		both, err := off.Float64s()
		l1 = both[0] + both[1]
		return err
	})
	if s.dev.failed != nil {
		return math.NaN()
	}
	return l1
}

// halfStep moves potentials by w of the way to where their marginal is right, log weight − lse.
func halfStep(v, logWeight, lse *device.Array, w float64) {
	if w == 1 {
		device.Axpby(v, 1, logWeight, -1, lse)
		return
	}
	device.Axpby(v, 1-w, v, -w, lse)
	device.Axpby(v, 1, v, w, logWeight)
}

// deviation is Σ w |exp(v + lse − log w) − 1|.
func deviation(out, v, lse, logWeight, w *device.Array) {
	const top = 60 // above any logarithm of an error that matters, and e⁶⁰ is a float32
	e := v.Like()
	device.Axpby(e, 1, v, -1, logWeight)
	device.Add(e, e, lse)
	device.Map(e, e, device.Clamp, top)
	device.Map(e, e, device.Exp, 0)
	device.Map(e, e, device.AddConst, -1)
	device.Map(e, e, device.Abs, 0)
	device.ReduceDot(out, e, w)
}

// fetch copies the potentials to the host.
func (p *resident) fetch(s *semidual, beta []float64) error {
	var u, h []float64
	s.dev.failed = p.o.use("the potentials", func(*deviceArrays) (err error) {
		if u, err = p.u.Float64s(); err == nil {
			h, err = p.h.Float64s()
		}
		return err
	})
	if s.dev.failed != nil {
		return s.dev.failed
	}
	for i, v := range u {
		if s.alpha[i] = math.Inf(-1); s.a[i] > 0 {
			s.alpha[i] = s.eps * (v - p.mid)
		}
	}
	for j, v := range h {
		if s.b[j] > 0 {
			beta[j] = s.eps * (v + p.mid)
		}
	}
	return nil
}

// close frees the arrays, unless a failure or closing the geometry has done so.
func (p *resident) close() {
	p.o.mu.Lock()
	defer p.o.mu.Unlock()
	if p.o.at != p.at {
		return
	}
	p.o.dev.Lock()
	defer p.o.dev.Unlock()
	defer func() { _ = deviceFault(recover()) }()
	p.at.arrays = slices.DeleteFunc(p.at.arrays, func(a *device.Array) bool { return slices.Contains(p.arrays, a) })
	for _, a := range p.arrays {
		a.Free()
	}
}
