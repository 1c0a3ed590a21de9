package neural

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/score/internal/resume"
	"coupling/score/scones"
)

// Training is Algorithm 1 with two networks.
type Training struct {
	scones.Ascent         // divergence, λ, cost, batches and steps; Trace is called, After is set by this package
	Hidden        []int   // hidden layers of each critic; nil is 256, 256. The paper: three of 4096 for synthetic data
	Rate          float64 // of Adam; 0 means 1e-3. The paper: 1e-6·d for Gaussians, 1e-5 for the Swiss roll
	Unscaled      bool    // networks return the potential itself instead of that over λ
	// Path is the file where the run is stored, and from which it resumes if the file exists. A
	// stored run with another seed, other settings or another Stamp is refused with
	// train.ErrMismatch. Steps may be increased; if Schedule depends on Steps, the result then
	// differs from a run that had them from the start.
	Path  string
	Every int // steps between stores; 0 means 500
	// Stamp identifies a stored run, beside its seed and settings. Name the points in it, since
	// sources are functions, which cannot be compared.
	Stamp string
}

// Potentials are a trained pair.
type Potentials struct{ Phi, Psi *Net }

// String describes the networks in a line.
func (p Potentials) String() string {
	return fmt.Sprintf("potentials on R^%d, of %d and %d parameters", p.Phi.Dim(), nn.Count(p.Phi.Params()),
		nn.Count(p.Psi.Params()))
}

// Run draws networks on R^d and trains them on points of x and y. A killed run that is restarted
// with the same arguments gives the same bits as an uninterrupted one, on one device.
func (t Training) Run(ctx context.Context, rng *rand.Rand, dev *device.Device, d int,
	x, y scones.Source) (Potentials, error) {
	if t.Hidden == nil {
		t.Hidden = []int{256, 256}
	}
	t.Rate = cmp.Or(t.Rate, 1e-3)
	t.Every = cmp.Or(t.Every, 500)
	if err := t.Check(); err != nil {
		return Potentials{}, err
	}
	if d < 1 || !(t.Rate > 0) || math.IsInf(t.Rate, 1) || t.Every < 1 {
		return Potentials{}, fmt.Errorf("neural: d = %d, rate = %g, stored every %d: %w", d, t.Rate, t.Every,
			scones.ErrParameter)
	}
	scale := t.Lambda
	if t.Unscaled {
		scale = 1
	}
	phi, psi := arch.Critic(d, t.Hidden...), arch.Critic(d, t.Hidden...)
	phi.Init(dev, device.Float32, rng)
	psi.Init(dev, device.Float32, rng)
	defer dev.Scope().Close()
	adam := train.Adam{Rate: t.Rate}
	p := Potentials{
		Phi: NewNet(phi, dev, d, scale, adam.For(phi.Params())),
		Psi: NewNet(psi, dev, d, scale, adam.For(psi.Params())),
	}
	seed := rng.Uint64()
	stored := resume.Training{
		Steps:   t.Steps,
		Path:    t.Path,
		Every:   t.Every,
		Rate:    t.Rate,
		Weights: slices.Concat(p.Phi.Params(), p.Psi.Params()),
		Checkpoint: train.Checkpoint{
			Params: map[string][]*nn.Param{
				"phi": p.Phi.Params(), "psi": p.Psi.Params(), "phi-adam": p.Phi.State(), "psi-adam": p.Psi.State(),
			},
			Sources: map[string]train.Source{"arguments": resume.Of("seed ", seed, ", ", t.Compatibility, ", mean ",
				t.Mean, ", paired ", t.Paired,
				", batch ", t.Batch, ", rate ", t.Rate, ", unscaled ", t.Unscaled, ", ", t.Stamp)},
		},
	}
	if err := stored.Load(); err != nil {
		return p, fmt.Errorf("neural: %w", err)
	}
	t.After = stored.After
	return p, t.Ascent.Run(ctx, p.Phi, p.Psi, x, y, seed, int(stored.Step))
}
