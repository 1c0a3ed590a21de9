package neural

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/internal/resume"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// parts are SCONES on two clouds of points, all by networks: the target's score, potentials, and
// the projection at which chains begin, stored in dir where that is not empty.
type parts struct {
	score      dsm.Training
	width      int // of the score network
	potentials Training
	projection Projection
	sampler    score.Langevin
	dir        string
}

type draws func(ctx context.Context, rng *rand.Rand, x *mat.Dense, k int) (*mat.Dense, error)

func (f parts) run(ctx context.Context, rng *rand.Rand, dev *device.Device, x, y *mat.Dense) (draws, error) {
	_, d := x.Dims()
	if f.dir != "" {
		f.score.Path, f.potentials.Path = filepath.Join(f.dir, "score.ckpt"), filepath.Join(f.dir, "potentials.ckpt")
		f.projection.Path = filepath.Join(f.dir, "projection.ckpt")
	}
	f.potentials.Stamp = resume.Points(x) + " to " + resume.Points(y)
	f.projection.Stamp = f.potentials.Stamp
	net := nn.Seq(&nn.AppendClass{Embedding: nn.Embedding{Classes: len(f.score.Sigmas), Width: 16}},
		arch.MLP{Sizes: []int{d + 16, f.width, f.width, d}, Hidden: func() nn.Layer { return nn.SiLU() }}.Net(),
		&arch.ByLevel{Sigmas: f.score.Sigmas})
	s, err := f.score.Run(ctx, rng, dev, net, y, nil)
	if err != nil {
		return nil, fmt.Errorf("score: %w", err)
	}
	p, err := f.potentials.Run(ctx, rng, dev, d, scones.Cloud(x), scones.Cloud(y))
	if err != nil {
		return nil, fmt.Errorf("potentials: %w", err)
	}
	c := scones.Coupling{
		Compatibility: f.potentials.Compatibility,
		Phi:           p.Phi,
		Psi:           p.Psi,
		Target:        s,
		Mean:          f.potentials.Mean,
	}
	f.projection.Coupling = c
	projection, err := f.projection.Run(ctx, rng, dev, arch.MLP{Sizes: []int{d, 128, 128, d}}.Net(), scones.Cloud(x),
		scones.Cloud(y))
	if err != nil {
		return nil, fmt.Errorf("projection: %w", err)
	}
	return func(ctx context.Context, rng *rand.Rand, x *mat.Dense, k int) (*mat.Dense, error) {
		start, err := projection.Apply(x)
		if err != nil {
			return nil, err
		}
		return c.Sample(ctx, rng, x, k, f.sampler, start)
	}, nil
}
