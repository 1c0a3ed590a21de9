package neural

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// Training is Algorithm 1 with two networks.
type Training struct {
	scones.Ascent         // divergence, λ, cost, batches and steps; Trace is heard, After is this package's
	Hidden        []int   // hidden layers of each critic; nil is 256, 256. The paper: three of 4096 for synthetic data
	Rate          float64 // of Adam; 0 means 1e-3. The paper: 1e-6·d for Gaussians, 1e-5 for the Swiss roll
	Unscaled      bool    // networks put out the potential itself rather than that over λ
	Path          string  // where the run is stored, and from where it goes on if it is there
	Every         int     // steps between stores; 0 means 500
}

// Potentials are a trained pair.
type Potentials struct{ Phi, Psi *Net }

// Free frees both networks' parameters.
func (p Potentials) Free() {
	nn.Free(p.Phi.Params())
	nn.Free(p.Psi.Params())
}

// Run draws networks on R^d and trains them on points of x and y. A run that was killed and is begun again with the same
// arguments gives the same bits as one that was not, on one device.
func (t Training) Run(ctx context.Context, dev *device.Device, d int, x, y scones.Source, rng *rand.Rand) (Potentials, error) {
	if t.Hidden == nil {
		t.Hidden = []int{256, 256}
	}
	if t.Rate == 0 {
		t.Rate = 1e-3
	}
	if t.Every == 0 {
		t.Every = 500
	}
	if err := t.Check(); err != nil {
		return Potentials{}, err
	}
	if d < 1 || !(t.Rate > 0) || t.Every < 1 {
		return Potentials{}, fmt.Errorf("neural: d = %d, rate = %g, stored every %d: %w", d, t.Rate, t.Every, scones.ErrParameter)
	}
	scale := t.Lambda
	if t.Unscaled {
		scale = 1
	}
	make := func() *Net {
		net := arch.Critic(d, t.Hidden...)
		net.Init(dev, device.Float32, rng)
		return NewNet(net, dev, d, scale, train.Adam{Rate: t.Rate}.For(net.Params()))
	}
	p := Potentials{Phi: make(), Psi: make()}
	defer p.Phi.opt.Free()
	defer p.Psi.opt.Free()
	seed := rng.Uint64()
	stored := train.Checkpoint{Params: map[string][]*nn.Param{
		"phi": p.Phi.Params(), "psi": p.Psi.Params(), "phi-adam": p.Phi.State(), "psi-adam": p.Psi.State(),
	}}
	if t.Path != "" {
		if err := stored.Load(t.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return p, err
		}
	}
	t.After = func(step int) error {
		if t.Path == "" || step%t.Every != 0 && step != t.Steps {
			return nil
		}
		stored.Step = int64(step)
		return stored.Save(t.Path)
	}
	return p, t.Ascent.Run(ctx, p.Phi, p.Psi, x, y, seed, int(stored.Step))
}

// Projection trains a network T by stochastic descent of
//
//	E_{σ×τ} M(V(x, y)) |T(x) − y|²,
//
// whose minimiser is the barycentric projection E[y|x] of the potentials (Seguy et al. 2018).
type Projection struct {
	Coupling scones.Coupling // Phi, Psi and the compatibility; Target is not asked
	Steps    int
	Batch    int     // 0 means 256
	Rate     float64 // of Adam; 0 means 1e-3
	Schedule train.Schedule
	Trace    func(step int, loss float64)
}

// Run trains net, not yet initialised, from N×d to N×d on points of x and y, and returns it as a function.
func (t Projection) Run(ctx context.Context, dev *device.Device, net nn.Layer, x, y scones.Source, rng *rand.Rand) (*Map, error) {
	if t.Batch == 0 {
		t.Batch = 256
	}
	if t.Rate == 0 {
		t.Rate = 1e-3
	}
	if err := t.Coupling.Check(); err != nil {
		return nil, err
	}
	if t.Coupling.Phi == nil || t.Coupling.Psi == nil || t.Batch < 1 || !(t.Rate > 0) {
		return nil, fmt.Errorf("neural: a projection needs both potentials, batch = %d, rate = %g: %w", t.Batch, t.Rate, scones.ErrParameter)
	}
	net.Init(dev, device.Float32, rng)
	opt := train.Adam{Rate: t.Rate}.For(net.Params())
	defer opt.Free()
	for k := range t.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if t.Schedule != nil {
			opt.SetFactor(t.Schedule(k))
		}
		xs, err := x(rng, t.Batch)
		if err != nil {
			return nil, err
		}
		ys, err := y(rng, t.Batch)
		if err != nil {
			return nil, err
		}
		loss, err := t.step(dev, net, opt, xs, ys)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", k+1, err)
		}
		if t.Trace != nil {
			t.Trace(k+1, loss)
		}
	}
	return &Map{Net: net, Device: dev}, nil
}

// step weighs all pairs of a batch: the gradient at T(x_i) is 2/m (T(x_i) Σ_j M_ij − Σ_j M_ij y_j)/m. It returns the mean
// of M_i |T(x_i) − Σ_j M_ij y_j/M_i|², which the loss is up to what T cannot change.
func (t Projection) step(dev *device.Device, net nn.Layer, opt *train.Optimiser, x, y *mat.Dense) (float64, error) {
	defer dev.Scope().Close()
	density, err := t.Coupling.Densities(x, y)
	if err != nil {
		return 0, err
	}
	n, d := y.Dims()
	means := new(mat.Dense)
	means.Mul(density, y)
	pass := &nn.Pass{Training: true}
	out := net.Forward(pass, dev.FromDense(device.Float32, x))
	at, err := out.Mat()
	if err != nil {
		return 0, err
	}
	loss, grad := 0.0, make([]float64, 0, n*d)
	for i := range n {
		mass := mat.Sum(density.RowView(i)) / float64(n)
		for k := range d {
			r := mass*at.At(i, k) - means.At(i, k)/float64(n)
			grad = append(grad, 2*r/float64(n))
			if mass > 0 {
				loss += r * r / mass / float64(n)
			}
		}
	}
	dy := out.Like()
	dy.SetFloats(grad)
	nn.ZeroGrads(net.Params())
	net.VJP(pass, dy)
	opt.Step()
	return loss, dev.Err()
}

// Map is a network as a function of rows.
type Map struct {
	Net    nn.Layer
	Device *device.Device
}

// Apply returns the images of the rows of x.
func (m *Map) Apply(x *mat.Dense) (*mat.Dense, error) {
	defer m.Device.Scope().Close()
	return m.Net.Forward(&nn.Pass{ForwardOnly: true}, m.Device.FromDense(device.Float32, x)).Mat()
}
