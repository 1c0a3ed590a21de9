package neural

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/data/synth"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/ot/fdiv"
	"coupling/ot/gaussian"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// open opens the processor; networks that a test trains are not freed.
func open(t *testing.T) *device.Device {
	dev := must.Get(device.Open("cpu"))
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

func seeded(k uint64) *rand.Rand { return rand.New(rand.NewPCG(k, 1)) }

// problem is a pair of Gaussians in the plane at λ = 4 and its plan.
func problem() (x, y scones.Source, plan *gaussian.Plan) {
	a, b := mat.NewSymDense(2, []float64{2, .5, .5, 1}), mat.NewSymDense(2, []float64{1, -.3, -.3, 3})
	p, q := gaussian.Normal{Cov: a}, gaussian.Normal{Cov: b}
	return p.Sample, q.Sample, must.Get(gaussian.Entropic{Eps: 4}.Solve(p, q))
}

// Networks climb to the closed form's value; the gradient of ψ comes near the exact one, and so does the projection.
func TestNetworksLearnGaussians(t *testing.T) {
	if testing.Short() {
		t.Skip("2100 steps")
	}
	x, y, plan := problem()
	dev := open(t)
	mean, n := 0., 0.
	const steps = 1500
	a := scones.Ascent{Compatibility: scones.Compatibility{Lambda: 4}, Steps: steps,
		Schedule: func(k int) float64 { return 1 - float64(k)/steps }, Trace: func(k int, dual float64) {
			if k > steps-300 {
				mean, n = mean+dual, n+1
			}
		}}
	p := must.Get(Training{Ascent: a, Hidden: []int{64, 64, 64}}.Run(t.Context(), seeded(1), dev, 2, x, y))
	// The dual of 256 pairs has a standard deviation of some .2 here, its mean over 300 steps .02;
	// the rest is learning.
	if mean /= n; math.Abs(mean-plan.Value) > .12 {
		t.Errorf("dual %.3f, optimum %.3f", mean, plan.Value)
	}
	_, psi := scones.Potentials(plan)
	at := must.Get(y(seeded(2), 400))
	got, want := mat.NewDense(400, 2, nil), mat.NewDense(400, 2, nil)
	must.Do(errors.Join(p.Psi.Eval(nil, got, at), psi.Eval(nil, want, at)))
	size := mat.Norm(want, 2)
	got.Sub(got, want)
	if off := mat.Norm(got, 2) / size; off > .35 { // zero gradients have 1
		t.Errorf("relative error of the gradient of psi: %.2f", off)
	}
	project := must.Get(Projection{
		Coupling: scones.Coupling{Compatibility: a.Compatibility, Phi: p.Phi, Psi: p.Psi},
		Steps:    600,
		Rate:     3e-3,
		Schedule: func(k int) float64 { return 1 - float64(k)/600 },
	}.
		Run(t.Context(), seeded(3), dev, arch.MLP{Sizes: []int{2, 32, 2}}.Net(), x, y))
	xs := must.Get(x(seeded(4), 300))
	moved := must.Get(project.Apply(xs))
	exact := new(mat.Dense)
	exact.Mul(xs, plan.Forward)
	size = mat.Norm(exact, 2)
	moved.Sub(moved, exact)
	if off := mat.Norm(moved, 2) / size; off > .25 {
		t.Errorf("relative error of the projection: %.2f", off)
	}
}

// The gradient of a network by its input is that of its values; float32 allows differences of 1e-2
// with an error of 1e-3.
func TestInputGradient(t *testing.T) {
	x, y, _ := problem()
	p := must.Get(Training{Ascent: scones.Ascent{Compatibility: scones.Compatibility{Lambda: 4}, Steps: 5},
		Hidden: []int{16, 16}}.
		Run(t.Context(), seeded(1), open(t), 2, x, y))
	at := must.Get(y(seeded(2), 50))
	g := mat.NewDense(50, 2, nil)
	must.Do(p.Psi.Eval(nil, g, at))
	for k := range 2 {
		const h = 1e-2
		up, down := mat.DenseCopyOf(at), mat.DenseCopyOf(at)
		for i := range 50 {
			up.Set(i, k, at.At(i, k)+h)
			down.Set(i, k, at.At(i, k)-h)
		}
		a, b := make([]float64, 50), make([]float64, 50)
		must.Do(errors.Join(p.Psi.Eval(a, nil, up), p.Psi.Eval(b, nil, down)))
		wrong := 0
		for i := range 50 {
			if math.Abs((a[i]-b[i])/(2*h)-g.At(i, k)) > 2e-3*(1+math.Abs(g.At(i, k))) {
				wrong++ // a kink of a ReLU between
			}
		}
		if wrong > 5 {
			t.Errorf("%d of 50 gradients are not those of the values", wrong)
		}
	}
}

// Every divergence trains, on full and on paired batches, without leaving its domain: the mean density comes near one.
func TestDivergences(t *testing.T) {
	x, y, _ := problem()
	dev := open(t)
	for _, f := range fdiv.All() {
		for _, paired := range []bool{false, true} {
			if testing.Short() && (paired == (f%2 == 0) || f > 1) {
				continue // two divergences, one of them paired
			}
			k := scones.Compatibility{F: f, Lambda: 20}
			p := must.Get(Training{Ascent: scones.Ascent{
				Compatibility: k,
				Steps:         300,
				Batch:         128,
				Paired:        paired,
			}, Hidden: []int{32, 32}, Rate: 3e-3}.
					Run(t.Context(), seeded(5), dev, 2, x, y))
			m := must.Get(scones.Coupling{Compatibility: k, Phi: p.Phi,
				Psi: p.Psi}.Densities(must.Get(x(seeded(6), 300)), must.Get(y(seeded(7), 300))))
			if mass := mat.Sum(m) / 9e4; math.Abs(mass-1) > .25 {
				t.Errorf("%v, paired %v: mass %.3f", f, paired, mass)
			}
			nn.Free(p.Phi.Params())
			nn.Free(p.Psi.Params())
		}
	}
}

func TestResumesBitForBit(t *testing.T) {
	x, y, _ := problem()
	dev := open(t)
	at := must.Get(y(seeded(2), 20))
	values := func(ctx context.Context, path string, trace func(int)) ([]float64, error) {
		p, err := Training{
			Ascent: scones.Ascent{Compatibility: scones.Compatibility{Lambda: 4}, Steps: 30, Batch: 32,
				Trace: func(k int, _ float64) { trace(k) }},
			Hidden: []int{8, 8},
			Path:   path,
			Every:  10,
		}.Run(ctx, seeded(3), dev, 2, x, y)
		if err != nil {
			return nil, err
		}
		out := make([]float64, 20)
		return out, p.Psi.Eval(out, nil, at)
	}
	whole := must.Get(values(t.Context(), "", func(int) {}))
	path := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := values(ctx, path, func(k int) {
		if k == 17 {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	begun := 0
	again := must.Get(values(t.Context(), path, func(k int) {
		if begun == 0 {
			begun = k
		}
	}))
	if begun != 11 {
		t.Errorf("resumed at step %d, want 11", begun)
	}
	for i := range whole {
		if whole[i] != again[i] {
			t.Fatal("other numbers after a resume")
		}
	}
}

// From a Gaussian to two far parts of a mixture, everything learnt: samples lie in the parts, and each source mostly in
// its own.
func TestEverythingLearnt(t *testing.T) {
	if testing.Short() {
		t.Skip("three trainings")
	}
	dev := open(t)
	rng := seeded(1)
	x := must.Get(synth.Normal(rng, 2000, 2))
	y := must.Get(synth.Normal(rng, 2000, 2))
	for i := range 2000 {
		side := 2.
		if i%2 == 0 {
			side = -2
		}
		y.SetRow(i, []float64{side + .3*y.At(i, 0), .3 * y.At(i, 1)})
	}
	levels := must.Get(score.Geometric(2.1, 2.1/50, 12))
	draw := must.Get(parts{
		potentials: Training{Ascent: scones.Ascent{
			Compatibility: scones.Compatibility{Lambda: 2},
			Steps:         600,
			Batch:         128,
			Schedule:      train.Linear(600, 0),
		}, Hidden: []int{64, 64, 64}},
		score:      dsm.Training{Sigmas: levels, Steps: 1500, Rate: 2e-3, Decay: .99},
		width:      128,
		projection: Projection{Steps: 200, Batch: 128},
		sampler:    score.Langevin{Levels: levels[4:], Steps: 25, Step: levels[11] * levels[11] / 5, Denoise: true},
	}.run(t.Context(), rng, dev, x, y))
	sources := mat.NewDense(2, 2, []float64{1.5, 0, -1.5, 0})
	out := must.Get(draw(t.Context(), rng, sources, 100))
	near, own := 0, 0
	for i := range 200 {
		v := out.At(i, 0)
		if math.Abs(math.Abs(v)-2) < 1.2 && math.Abs(out.At(i, 1)) < 1.2 { // four deviations
			near++
		}
		if v*sources.At(i/100, 0) > 0 {
			own++
		}
	}
	if near < 180 || own < 170 {
		t.Errorf("of 200 samples %d are in a part of the target and %d on the side of their source", near, own)
	}
}

// A folder with the trainings of other points, or a projection of potentials that have moved on, is refused by name.
func TestTrainingsOfOtherArguments(t *testing.T) {
	dev, dir := open(t), t.TempDir()
	x, y := must.Get(synth.Normal(seeded(1), 40, 2)), must.Get(synth.Normal(seeded(2), 50, 2))
	run := func(x, y *mat.Dense, steps int) error {
		_, err := parts{
			potentials: Training{Ascent: scones.Ascent{Compatibility: scones.Compatibility{Lambda: 2}, Steps: steps,
				Batch: 16}, Hidden: []int{8}},
			score:      dsm.Training{Sigmas: []float64{1, .3}, Steps: 10, Batch: 16},
			width:      8,
			projection: Projection{Steps: 10, Batch: 16},
			dir:        dir,
		}.run(t.Context(), seeded(3), dev, x, y)
		return err
	}
	must.Do(run(x, y, 10))
	must.Do(run(x, y, 10))
	moved := mat.DenseCopyOf(x)
	moved.Set(0, 0, 9)
	if err := run(moved, y, 10); !errors.Is(err, train.ErrMismatch) || !strings.Contains(err.Error(), "potentials") {
		t.Errorf("other sources: error %v", err)
	}
	if err := run(x, moved, 10); !errors.Is(err, train.ErrMismatch) {
		t.Errorf("other targets: error %v", err)
	}
	if err := run(x, y, 20); !errors.Is(err, train.ErrMismatch) || !strings.Contains(err.Error(), "projection") {
		t.Errorf("potentials trained further: error %v", err)
	}
	must.Do(os.Remove(filepath.Join(dir, "projection.ckpt")))
	must.Do(run(x, y, 20))
}

// Weights that a last step threw away are neither stored nor returned.
func TestBrokenWeightsAreNotStored(t *testing.T) {
	x, y, plan := problem()
	dev := open(t)
	k := scones.Compatibility{Lambda: 4}
	phi, psi := scones.Potentials(plan)
	for _, path := range []string{"", filepath.Join(t.TempDir(), "run")} {
		_, err := Training{
			Ascent: scones.Ascent{Compatibility: k, Steps: 1, Batch: 16},
			Hidden: []int{8},
			Rate:   1e30,
			Path:   path,
		}.Run(t.Context(), seeded(1), dev, 2, x, y)
		if !errors.Is(err, score.ErrDiverged) {
			t.Errorf("potentials: error %v", err)
		}
		_, err = Projection{
			Coupling: scones.Coupling{Compatibility: k, Phi: phi, Psi: psi},
			Steps:    1,
			Batch:    16,
			Rate:     1e30,
			Path:     path,
		}.
			Run(t.Context(), seeded(1), dev, arch.MLP{Sizes: []int{2, 8, 2}}.Net(), x, y)
		if !errors.Is(err, score.ErrDiverged) {
			t.Errorf("projection: error %v", err)
		}
		if _, err := os.Stat(path); path != "" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("something is stored: %v", err)
		}
	}
}
