package score

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"coupling/score/internal/resume"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Convention is the meaning of a step length; see the package documentation.
type Convention int

// The conventions in use.
const (
	Unhalved Convention = iota // x += a s + √(2a) z
	Halved                     // x += (ε/2) s + √ε z
)

// drift is the factor of the score; the noise has twice that variance.
func (c Convention) drift(step float64) float64 {
	if c == Halved {
		return step / 2
	}
	return step
}

// Geometric returns n noise levels from first down to last, each the same fraction of the one before.
func Geometric(first, last float64, n int) ([]float64, error) {
	if n < 1 || !(first >= last) || !(last > 0) || math.IsInf(first, 1) || n == 1 && first != last {
		return nil, bad("%d noise levels from %g to %g: must fall and be > 0", n, first, last)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = first * math.Pow(last/first, float64(i)/float64(max(n-1, 1)))
	}
	out[n-1] = last
	return out, nil
}

// Langevin is (annealed) Langevin dynamics. At the noise level σ, in the order of Levels, Steps times
//
//	x += a s_σ(x) + √(2a) z,     a = Step·(σ/σ_last)²
//
// (Unhalved; Song and Ermon 2019, algorithm 1). Rows of the chain are independent.
type Langevin struct {
	Levels     []float64 // noise levels, not increasing; nil is the one level 0: plain Langevin dynamics
	Steps      int       // at each level
	Step       float64   // > 0; annealed, that of the last level
	Convention Convention
	// Denoise ends with the posterior mean of the noiseless point, x += σ² s_σ(x), σ the last level
	// (Tweedie's formula).
	Denoise bool
	// Path is a file where the run is stored while it runs and at its end, and from which it
	// resumes if the file exists; "" stores nothing. A killed process that is restarted with the
	// same arguments gives the same bits as an uninterrupted one. A stored run with another seed,
	// other settings or points, or of a field with another score at the start of the chain is
	// refused with train.ErrMismatch. Cost: one evaluation of the field.
	Path  string
	Every int // steps between stores; 0 stores every ten seconds
	// Trace is called after every step. Chains on a GPU (see DeviceField) are in the Chain only when Run returns.
	Trace func(Progress)
}

// Progress is the argument of Trace after a step.
type Progress struct {
	Done, Total int
	Sigma       float64
	Step        float64 // in the sampler's convention; 0 for a denoising step
	// root mean square of the entries of the score; NaN for a step on a GPU after which none was
	// read
	Score      float64
	Metropolis bool    // a step of MALA
	Accepted   float64 // MALA: share of chains that moved
}

// update is one step: x += drift·s_σ(x) + √variance z.
type update struct{ sigma, step, drift, variance float64 }

// Total returns the number of steps, the denoising one included.
func (l Langevin) Total() int {
	n := len(l.levels()) * l.Steps
	if l.Denoise {
		n++
	}
	return n
}

func (l Langevin) levels() []float64 {
	if l.Levels == nil {
		return []float64{0}
	}
	return l.Levels
}

// at returns step k.
func (l Langevin) at(k int) update {
	levels := l.levels()
	last := levels[len(levels)-1]
	if l.Denoise && k == l.Total()-1 {
		return update{sigma: last, drift: last * last}
	}
	sigma, a := levels[k/l.Steps], l.Step
	if last > 0 {
		a *= sigma / last * (sigma / last)
	}
	drift := l.Convention.drift(a)
	return update{sigma: sigma, step: a, drift: drift, variance: 2 * drift}
}

func (l Langevin) check(f Field, c *Chain) error {
	n, d := c.X.Dims()
	switch {
	case d != f.Dim():
		return misfit("chains are %d×%d, the field has dimension %d", n, d, f.Dim())
	case !(l.Step > 0) || math.IsInf(l.Step, 1):
		return bad("step = %g: must be finite and > 0", l.Step)
	case l.Steps < 0 || c.Done < 0:
		return bad("steps = %d, done = %d: must be ≥ 0", l.Steps, c.Done)
	case l.Convention != Unhalved && l.Convention != Halved:
		return bad("convention = %d", l.Convention)
	case l.Levels != nil && len(l.Levels) == 0:
		return misfit("no noise levels")
	}
	levels := l.levels()
	for i, s := range levels {
		if err := checkSigma(s); err != nil {
			return err
		}
		if i > 0 && s > levels[i-1] || s == 0 && len(levels) > 1 {
			return bad("levels[%d] = %g after %g: levels fall and are > 0", i, s, levels[max(i-1, 0)])
		}
	}
	return checkFinite("chain", c.X)
}

// Run moves the chain from its present step, or from the one stored at Path, to Total steps. When
// ctx ends it returns ctx's error. The chain is then between two steps and stored, and the next Run
// continues from there with the same result. An error that wraps ErrDiverged names the step at
// which chains became infinite.
//
// Cost: an evaluation of the field and N·d normal numbers a step.
func (l Langevin) Run(ctx context.Context, f Field, c *Chain) error {
	if err := l.check(f, c); err != nil {
		return err
	}
	total := l.Total()
	if c.Done >= total {
		return nil
	}
	n, _ := c.X.Dims()
	there, noise := OnDevice(f, n), resume.Stamp("")
	if there != nil {
		defer there.Close()
		noise = ", noise of the device"
	}
	checkpoints, err := newCheckpointer(l.Path, l.Every, l.stamp()+noise, f, l.at(c.Done).sigma, c, new(tally))
	if err != nil {
		return err
	}
	var m mover
	if there != nil {
		m = newOnDevice(there, c)
	} else {
		m = newOnHost(f, c)
	}
	defer m.close()
	ahead, most, settled := 0, firstLook, time.Now()
	for done := c.Done; done < total; {
		if err := ctx.Err(); err != nil {
			if failed := m.settle(); failed != nil {
				return failed
			}
			return checkpoints.interrupted(err)
		}
		u := l.at(done)
		due := checkpoints.due(done+1, total)
		err := m.step(u)
		if ahead++; err == nil && (due || ahead >= most || done == total-1) {
			err = m.settle()
			most = looks(ahead, time.Since(settled))
			ahead, settled = 0, time.Now()
		}
		if err != nil {
			return fmt.Errorf("score: step %d of length %g at noise level %g: %w", done+1, u.step, u.sigma, err)
		}
		done++
		c.note(Progress{Done: done, Total: total, Sigma: u.sigma, Step: u.step, Score: m.size()}, l.Trace)
		if due {
			if err := checkpoints.save(); err != nil {
				return err
			}
		}
	}
	return nil
}

// The first look at chains on a device, whether they are finite, is after firstLook steps, and no other after more than
// mostAhead. Steps that a device was asked for are waited for even if the context ends.
const firstLook, mostAhead = 6, 64

// looks is after how many steps the next look comes: those of a second, if so many took so long.
func looks(steps int, took time.Duration) int {
	return max(1, int(min(mostAhead, float64(steps)*float64(time.Second)/float64(max(took, 1)))))
}

// stamp identifies the dynamics.
func (l Langevin) stamp() resume.Stamp {
	return resume.Of("Langevin, levels ", l.levels(), ", ", l.Steps, " steps of ", l.Step, ", convention ",
		int(l.Convention), ", denoise ", l.Denoise)
}

// move writes all chains plus an update to dst, which may be X, and reports whether they are finite.
func (c *Chain) move(dst, s *mat.Dense, u update) bool {
	var bad atomic.Bool
	sd := math.Sqrt(u.variance)
	c.each(c.Done, func(i int, row []float64, rng *rand.Rand) {
		drift, to := s.RawRowView(i), dst.RawRowView(i)
		check := 0.0
		for k := range row {
			v := row[k] + u.drift*drift[k]
			if sd > 0 {
				v += sd * rng.NormFloat64()
			}
			to[k] = v
			check += v - v // 0, or NaN
		}
		if check != 0 {
			bad.Store(true)
		}
	})
	return !bad.Load()
}

// rms is the root mean square of the entries of a matrix without padding.
func rms(s *mat.Dense) float64 {
	data := s.RawMatrix().Data
	return floats.Norm(data, 2) / math.Sqrt(float64(max(len(data), 1)))
}
