package score

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Check asks of chains that claim to have arrived whether they have: it lets a copy of them go on for some steps.
type Check struct {
	Steps      int     // 0 means 200
	Step       float64 // of the sampler that is checked, at its last level
	Convention Convention
	Sigma      float64 // its last noise level
}

// A Report is what Check saw. Rows of a chain count as independent chains of one density; fields that are conditioned on
// the row have densities that differ by row; then R̂ is NaN.
type Report struct {
	// Acceptance is the mean acceptance probability that a Metropolis test would have had: 1 − Acceptance is the order of
	// the bias that the length of the step causes. Good values are above .9 for Langevin and .4 to .8 for MALA.
	Acceptance float64
	// Fresh is the least, over coordinates and their squares, of how many independent values a chain produced in Steps.
	Fresh float64
	// RHat is the largest R̂ over coordinates.
	RHat float64
	// Drift is the largest, over coordinates, of the change of the mean or the mean square between begin and end, in
	// standard errors: chains that have arrived stay below Bound in 99 of 100 checks.
	Drift, Bound float64
	Steps        int
}

// Mixed reports whether nothing speaks against the chains: moments that stand still, and chains that agree.
func (r Report) Mixed() bool {
	return r.Drift <= r.Bound && (math.IsNaN(r.RHat) || r.RHat < 1.1)
}

// String says in one line what was seen.
func (r Report) String() string {
	verdict := "mixed"
	if !r.Mixed() {
		verdict = "NOT mixed"
	}
	return fmt.Sprintf("%s: in %d steps moments moved by %.1f standard errors (bound %.1f), R̂ %.3f, %.1f fresh values a chain, Metropolis acceptance %.3f",
		verdict, r.Steps, r.Drift, r.Bound, r.RHat, r.Fresh, r.Acceptance)
}

// followed is how many chains Fresh and RHat look at.
const followed = 64

// Run checks chains, which stay as they are. At least 8 chains. same says that all rows are to have one density, so that
// chains may be compared with each other.
func (k Check) Run(ctx context.Context, f Field, c *Chain, same bool) (Report, error) {
	if k.Steps == 0 {
		k.Steps = 200
	}
	n, d := c.X.Dims()
	if n < 8 || k.Steps < 4 {
		return Report{}, fmt.Errorf("score: %d chains and %d steps: a check needs at least 8 and 4: %w", n, k.Steps, ErrShape)
	}
	run := &Chain{X: mat.DenseCopyOf(c.X), Seed: mix(c.Seed ^ uint64(c.Done))}
	accepted, err := k.acceptance(ctx, f, run.Clone())
	if err != nil {
		return Report{}, err
	}
	kept := min(n, followed)
	paths := make([][][]float64, d) // coordinate, chain, step
	for j := range paths {
		paths[j] = make([][]float64, kept)
	}
	l := Langevin{Levels: []float64{k.Sigma}, Step: k.Step, Convention: k.Convention}
	for l.Steps = 1; l.Steps <= k.Steps; l.Steps++ {
		if err := l.Run(ctx, f, run); err != nil {
			return Report{}, err
		}
		for j := range d {
			for i := range kept {
				paths[j][i] = append(paths[j][i], run.X.At(i, j))
			}
		}
	}
	r := Report{Acceptance: accepted, Steps: k.Steps, RHat: math.NaN()}
	r.Drift, r.Bound = drift(c.X, run.X)
	return r, r.follow(paths, same)
}

// acceptance is the mean acceptance probability of one step of MALA from where the chains are.
func (k Check) acceptance(ctx context.Context, f Field, c *Chain) (float64, error) {
	return MALA{Steps: 1, Step: k.Step, Convention: k.Convention, Sigma: k.Sigma}.Run(ctx, f, c)
}

// follow fills in what the paths of single chains say.
func (r *Report) follow(paths [][][]float64, same bool) error {
	r.Fresh = math.Inf(1)
	for _, chains := range paths {
		for _, square := range []bool{false, true} {
			series := make([][]float64, len(chains))
			for i, x := range chains {
				mean := stat.Mean(x, nil)
				for _, v := range x {
					switch {
					case square:
						v *= v
					case !same:
						v -= mean // rows differ: only what moves within a row counts
					}
					series[i] = append(series[i], v)
				}
				if square && !same {
					mean = stat.Mean(series[i], nil)
					for t := range series[i] {
						series[i][t] -= mean
					}
				}
			}
			ess, rhat, err := ESS(series)
			if err != nil {
				return err
			}
			r.Fresh = min(r.Fresh, ess/float64(len(chains)))
			if same && !square && !(rhat <= r.RHat) {
				r.RHat = rhat
			}
		}
	}
	return nil
}

// drift compares the moments of the same chains at two times: over chains, the changes of a coordinate and of its square
// have a mean and a standard error. The bound is Bonferroni's, at 1 %, for all of them together.
func drift(before, after *mat.Dense) (worst, bound float64) {
	n, d := before.Dims()
	change := make([]float64, n)
	for j := range d {
		for _, square := range []bool{false, true} {
			for i := range n {
				a, b := before.At(i, j), after.At(i, j)
				if square {
					a, b = a*a, b*b
				}
				change[i] = b - a
			}
			mean, sd := stat.MeanStdDev(change, nil)
			worst = max(worst, math.Abs(mean)/(sd/math.Sqrt(float64(n))))
		}
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}
	return worst, t.Quantile(1 - .01/float64(4*d))
}
