package scones

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"coupling/lab/device/cpu/dense"
	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/score"

	"gonum.org/v1/gonum/mat"
)

// Fit couples two clouds of points: it extends Sinkhorn potentials beyond the points, and uses the
// target's points smoothed by a Gaussian for the score. It needs no training; package scones/neural
// uses networks for both. The zero value works.
//
//	fitted, err := scones.Fit{}.Run(ctx, rng, x, y)
//	samples, err := fitted.Sample(ctx, rng, sources, 10)
type Fit struct {
	// Lambda is the coefficient of KL; 0 means a twentieth of the mean cost after the clouds are
	// translated to a common mean, which does not change the plan: (E|x − x̄|² + E|y − ȳ|²)/20, in
	// the unit of the cost.
	Lambda float64
	Mean   bool // the cost is the mean of squares, as for images, rather than the sum
	// of the smoothed target; 0 means the median distance of a target to its nearest neighbour over
	// √d
	Bandwidth float64
	MaxAtoms  int // the largest number of atoms on each side, drawn at random if there are more; 0 means 2000
	Steps     int // Metropolis-adjusted Langevin steps of a sample; 0 means 200
	// Solver finds the plan; its Eps is set from Lambda. Its Trace is called during the solve.
	Solver ot.LBFGS
	// Trace is called after every step of a Sample.
	Trace func(score.Progress)
}

// Fitted is a coupling with its sampler. Call only one Sample at a time.
type Fitted struct {
	Coupling
	FromPhi   *Discrete // Phi, whose atoms are the targets
	Plan      *ot.Plan  // between the atoms: its Status says whether the solve converged
	Bandwidth float64
	Steps     int
	// Path is the file where chains are stored every Every steps and resumed, as in score.MALA. Use
	// another file for each Sample.
	Path  string
	Every int
	Trace func(score.Progress)
	// Acceptance is the mean acceptance probability of the last Sample: if it is far below a half,
	// chains have hardly moved from their initial atoms.
	Acceptance float64
}

// String describes the end of the fit in a line.
func (f *Fitted) String() string {
	return fmt.Sprintf("%v; λ %.4g, bandwidth %.3g, acceptance %.2f in the last sample", f.Plan, f.Lambda, f.Bandwidth,
		f.Acceptance)
}

// Run solves the discrete problem: two clouds of rows, n×d and m×d.
func (f Fit) Run(ctx context.Context, rng *rand.Rand, x, y *mat.Dense) (*Fitted, error) {
	if err := f.check(x, y); err != nil {
		return nil, err
	}
	f.MaxAtoms = cmp.Or(f.MaxAtoms, 2000)
	f.Steps = cmp.Or(f.Steps, 200)
	_, d := x.Dims()
	x, y = thin(rng, x, f.MaxAtoms), thin(rng, y, f.MaxAtoms)
	u := unit(d, f.Mean)
	if f.Lambda == 0 {
		f.Lambda = u * (variance(x) + variance(y)) / 20
	}
	if f.Bandwidth == 0 {
		f.Bandwidth = nearest(y) / math.Sqrt(float64(d))
	}
	if v := f.Bandwidth * f.Bandwidth; !(f.Lambda > 0) || math.IsInf(f.Lambda, 1) || !(v > 0) || math.IsInf(v, 1) {
		return nil, bad("lambda = %g and bandwidth = %g: must be finite and > 0, the square of bandwidth too: "+
			"set them where points coincide", f.Lambda, f.Bandwidth)
	}
	f.Solver.Eps = f.Lambda
	plan, err := f.Solver.Solve(ctx, squared(x, y, u))
	if err != nil {
		return nil, err
	}
	phi, psi, err := FromPlan(plan, x, y, f.Mean)
	if err != nil {
		return nil, err
	}
	target, err := score.NewEmpirical(y, nil, f.Bandwidth)
	if err != nil {
		return nil, err
	}
	return &Fitted{
		Coupling: Coupling{
			Compatibility: Compatibility{F: fdiv.KL, Lambda: f.Lambda},
			Phi:           phi,
			Psi:           psi,
			Target:        target,
			Mean:          f.Mean,
		},
		FromPhi: phi, Plan: plan, Bandwidth: f.Bandwidth, Steps: f.Steps, Trace: f.Trace,
	}, nil
}

func (f Fit) check(x, y *mat.Dense) error {
	if err := CheckClouds(x, y); err != nil {
		return err
	}
	if !(f.Lambda >= 0) || math.IsInf(f.Lambda, 1) || !(f.Bandwidth >= 0) || math.IsInf(f.Bandwidth, 1) ||
		f.MaxAtoms < 0 || f.Steps < 0 {
		return bad("lambda = %g, bandwidth = %g, max atoms = %d, steps = %d: must be finite and ≥ 0",
			f.Lambda, f.Bandwidth, f.MaxAtoms, f.Steps)
	}
	return nil
}

// thin returns at most n rows, drawn without repetition.
func thin(rng *rand.Rand, x *mat.Dense, n int) *mat.Dense {
	m, d := x.Dims()
	if m <= n {
		return x
	}
	out := mat.NewDense(n, d, nil)
	for i, k := range rng.Perm(m)[:n] {
		out.SetRow(i, x.RawRowView(k))
	}
	return out
}

// variance is the mean square of a row's distance from the mean row; exactly 0 where all rows are at one place.
func variance(x *mat.Dense) float64 {
	n, d := x.Dims()
	sum := 0.0
	for j := range d {
		mean, at := 0.0, x.At(0, j) // relative to the first row, so that coordinates far from 0 do not lose precision
		for i := range n {
			mean += (x.At(i, j) - at) / float64(n)
		}
		for i := range n {
			r := x.At(i, j) - at - mean
			sum += r * r / float64(n)
		}
	}
	return sum
}

// nearest is the median distance from a point to the nearest point at another place.
func nearest(y *mat.Dense) float64 {
	n, _ := y.Dims()
	c := mat.NewDense(n, n, nil)
	dense.Squares(c, y, y)
	var least []float64
	for i := range n {
		best := math.Inf(1)
		for j, v := range c.RawRowView(i) {
			if j != i && v > 0 {
				best = min(best, v)
			}
		}
		if !math.IsInf(best, 1) {
			least = append(least, math.Sqrt(best))
		}
	}
	if len(least) == 0 {
		return 0
	}
	slices.Sort(least)
	return least[len(least)/2]
}

// Sample draws k targets for each row of x, which need not be a fitted point. Rows of the result
// are in the order of x, with the k targets of a source after each other. Each begins at a draw
// from the conditional law of the atoms plus noise of the bandwidth, which is already close, and
// takes Steps steps of MALA, which is exact in the limit for every step. With a Path, chains are
// stored as they run, and a killed process that samples again with the same arguments and rng
// resumes, with the same bits and Acceptance. If ctx ends, the error is ctx's.
func (f *Fitted) Sample(ctx context.Context, rng *rand.Rand, x *mat.Dense, k int) (*mat.Dense, error) {
	if k < 1 {
		return nil, bad("k = %d samples of each source: must be ≥ 1", k)
	}
	if err := checkPoints("x", x); err != nil {
		return nil, err
	}
	xs := score.RepeatRows(x, k)
	field, err := f.Given(xs)
	if err != nil {
		return nil, err
	}
	c := score.Start(rng, f.FromPhi.DrawPoints(rng, xs))
	c.Jitter(f.Bandwidth)
	// MALA's step for a density of this width in d dimensions (Roberts and Rosenthal 1998:
	// 1.65²/2·v/d^⅓). The width is that of the smoothed points times exp(−c/λ). The plan's factor
	// is narrower, of precision (4/λ²) Cov(X|y), where sources that are spread wider than √(λ/2)
	// share a target; Acceptance shows it.
	_, d := x.Dims()
	v := 1 / (1/(f.Bandwidth*f.Bandwidth) + 2*unit(d, f.Mean)/f.Lambda)
	step := 1.36 * v / math.Cbrt(float64(d))
	f.Acceptance, err = score.MALA{
		Steps: f.Steps,
		Step:  step,
		Path:  f.Path,
		Every: f.Every,
		Trace: f.Trace,
	}.Run(ctx, field, c)
	if err != nil {
		return nil, err
	}
	return c.X, nil
}
