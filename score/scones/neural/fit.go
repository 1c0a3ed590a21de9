package neural

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/internal/resume"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Fit is SCONES on two clouds of points, all by networks: potentials, the target's score, and the projection at which chains
// begin. The zero value of each part works but for Potentials.Lambda, which has no good value for all clouds.
//
//	fitted, err := neural.Fit{Potentials: neural.Training{Ascent: scones.Ascent{Compatibility: scones.Compatibility{Lambda: 2}}}}.Run(ctx, rng, dev, x, y)
//	samples, err := fitted.Sample(ctx, rng, sources, 10)
type Fit struct {
	Potentials Training     // Steps: 0 means 3000
	Score      dsm.Training // Sigmas: nil means 12 levels from the target's spread to a fiftieth; Steps: 0 means 5000
	// Net is the score network, ScoreShape what an example is for it; nil: dsm.MLP with two layers of 128.
	Net        nn.Layer
	ScoreShape []int
	Projection Projection // Steps: 0 means 1500; Coupling is filled in
	// Sampler is the dynamics; zero Steps means 60 at each level, zero Step a fifth of the last level squared. Denoise is on.
	Sampler score.Langevin
	// Dir is where the three trainings are stored, and from where they go on: a run that was killed and is begun again with
	// the same arguments gives the same bits as one that was not. What is stored of other points, seeds or settings is refused
	// with train.ErrMismatch, but for what has no name: a Schedule, and the kind of layers that hold no weights. Steps may
	// grow, with two limits: the default Schedule falls to 0 at the last step, so that a
	// training that was continued is not the one that had as many steps from the start; and where Potentials were continued
	// projection.ckpt, which is of the former ones, is refused: remove it. Samples are stored where Sampler.Path says.
	Dir string
	// Trace hears how far each of the trainings is; theirs are heard too.
	Trace func(part string, step, steps int)
}

// Fitted is a coupling that samples itself.
type Fitted struct {
	scones.Coupling
	Projection *Map
	Sampler    score.Langevin
}

// Run trains score, potentials and projection, in this order.
func (f Fit) Run(ctx context.Context, rng *rand.Rand, dev *device.Device, x, y *mat.Dense) (*Fitted, error) {
	if err := scones.CheckClouds(x, y); err != nil {
		return nil, err
	}
	_, d := x.Dims()
	if err := f.Potentials.CheckSampling(); err != nil { // before hours of training rather than in Sample
		return nil, err
	}
	f, err := f.defaults(y)
	if err != nil {
		return nil, err
	}
	if f.Dir != "" {
		f.Score.Path, f.Potentials.Path = filepath.Join(f.Dir, "score.ckpt"), filepath.Join(f.Dir, "potentials.ckpt")
		f.Projection.Path = filepath.Join(f.Dir, "projection.ckpt")
		if err := os.MkdirAll(f.Dir, 0o777); err != nil {
			return nil, fmt.Errorf("neural: %w", err)
		}
	}
	of := resume.Points(x) + " to " + resume.Points(y)
	f.Potentials.Stamp, f.Projection.Stamp = f.Potentials.Stamp+of, f.Projection.Stamp+of
	f.listen()
	s, err := f.Score.Run(ctx, rng, dev, f.Net, y, f.ScoreShape)
	if err != nil {
		return nil, fmt.Errorf("score: %w", err)
	}
	p, err := f.Potentials.Run(ctx, rng, dev, d, scones.Cloud(x), scones.Cloud(y))
	if err != nil {
		return nil, fmt.Errorf("potentials: %w", err)
	}
	out := &Fitted{Sampler: f.Sampler, Coupling: scones.Coupling{
		Compatibility: f.Potentials.Compatibility, Phi: p.Phi, Psi: p.Psi, Target: s, Mean: f.Potentials.Mean,
	}}
	f.Projection.Coupling = out.Coupling
	out.Projection, err = f.Projection.Run(ctx, rng, dev, arch.MLP{Sizes: []int{d, 128, 128, d}}.Net(), scones.Cloud(x), scones.Cloud(y))
	if err != nil {
		return nil, fmt.Errorf("projection: %w", err)
	}
	return out, nil
}

// listen hands what the parts tell on to Trace.
func (f *Fit) listen() {
	if f.Trace == nil {
		return
	}
	with := func(part string, steps int, own func(int, float64)) func(int, float64) {
		return func(step int, v float64) {
			if own != nil {
				own(step, v)
			}
			f.Trace(part, step, steps)
		}
	}
	f.Score.Trace = with("score", f.Score.Steps, f.Score.Trace)
	f.Potentials.Trace = with("potentials", f.Potentials.Steps, f.Potentials.Trace)
	f.Projection.Trace = with("projection", f.Projection.Steps, f.Projection.Trace)
}

func (f Fit) defaults(y *mat.Dense) (Fit, error) {
	_, d := y.Dims()
	spread := 0.
	for j := range d {
		spread += stat.Variance(mat.Col(nil, j, y), nil)
	}
	spread = math.Sqrt(spread) // of a point about the mean: as far as noise must reach
	if !(spread > 0) || math.IsInf(spread, 1) {
		return f, fmt.Errorf("neural: the target's points spread by %g: must be finite and > 0: %w", spread, scones.ErrParameter)
	}
	if f.Score.Sigmas == nil {
		var err error
		if f.Score.Sigmas, err = score.Geometric(spread, spread/50, 12); err != nil {
			return f, err
		}
	}
	last := f.Score.Sigmas[len(f.Score.Sigmas)-1]
	if f.Score.Steps == 0 {
		f.Score.Steps = 5000
	}
	if f.Potentials.Steps == 0 {
		f.Potentials.Steps = 3000
	}
	if f.Potentials.Schedule == nil {
		f.Potentials.Schedule = train.Linear(f.Potentials.Steps, 0)
	}
	if f.Projection.Steps == 0 {
		f.Projection.Steps = 1500
	}
	if f.Net == nil {
		f.Net, f.ScoreShape = dsm.MLP(d, f.Score.Sigmas, 128, 128), nil
	}
	if f.Sampler.Levels == nil {
		f.Sampler.Levels = f.Score.Sigmas
	}
	if f.Sampler.Steps == 0 {
		f.Sampler.Steps = 60
	}
	if f.Sampler.Step == 0 {
		f.Sampler.Step = last * last / 5
	}
	f.Sampler.Denoise = true
	f.Sampler.Levels = f.gentle(d)
	return f, nil
}

// gentle leaves out levels whose step is longer than a quarter of what the factor exp(−c/λ), of curvature 2u/λ, allows:
// the plan does not reach as far from the projection as they would.
func (f Fit) gentle(d int) []float64 {
	u := 1.0
	if f.Potentials.Mean {
		u /= float64(d)
	}
	levels := f.Sampler.Levels
	last := levels[len(levels)-1]
	for len(levels) > 1 && f.Sampler.Step*(levels[0]/last)*(levels[0]/last)*2*u/f.Potentials.Lambda > .5 {
		levels = levels[1:]
	}
	return levels
}

// Sample draws k targets of each row of x by Algorithm 2, from chains that begin at its projection plus noise of the first
// level. Rows of the result are in the order of x, the k of one source after each other. Where Sampler.Path is set, to a file
// for each call, a process that was killed here and samples again with the same arguments and rng goes on from where it was
// stored, to the same bits.
func (f *Fitted) Sample(ctx context.Context, rng *rand.Rand, x *mat.Dense, k int) (*mat.Dense, error) {
	start, err := f.Projection.Apply(x)
	if err != nil {
		return nil, err
	}
	return f.Coupling.Sample(ctx, rng, x, k, f.Sampler, start)
}
