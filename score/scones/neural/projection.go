package neural

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
	"coupling/score/internal/resume"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// Projection trains a network T by stochastic descent of
//
//	E_{σ×τ} M(V(x, y)) |T(x) − y|²,
//
// whose minimiser is the barycentric projection E[y|x] of the potentials (Seguy et al. 2018).
type Projection struct {
	Coupling scones.Coupling // Phi, Psi and the compatibility; Target is not used
	Steps    int
	Batch    int     // 0 means 256
	Rate     float64 // of Adam; 0 means 1e-3
	Schedule train.Schedule
	// Path is the file where the run is stored, and from which it resumes if the file exists, as in
	// Training. Weights of potentials that are Nets are compared too: if these were trained
	// further, the stored projection belongs to other potentials and is refused.
	Path  string
	Every int    // steps between stores; 0 means 500
	Stamp string // as in Training
	Trace func(step int, loss float64)
}

// Run trains net, not yet initialised, from N×d to N×d on points of x and y, and returns it as a
// function. A killed run that is restarted with the same arguments gives the same bits as an
// uninterrupted one, on one device.
func (t Projection) Run(ctx context.Context, rng *rand.Rand, dev *device.Device, net nn.Layer,
	x, y scones.Source) (*Map, error) {
	t.Batch = cmp.Or(t.Batch, 256)
	t.Rate = cmp.Or(t.Rate, 1e-3)
	t.Every = cmp.Or(t.Every, 500)
	if err := t.Coupling.Check(); err != nil {
		return nil, err
	}
	if t.Coupling.Phi == nil || t.Coupling.Psi == nil || t.Batch < 1 || t.Every < 1 || !(t.Rate > 0) ||
		math.IsInf(t.Rate, 1) {
		return nil, fmt.Errorf("neural: a projection needs both potentials, batch = %d, stored every %d, rate = %g: %w",
			t.Batch, t.Every, t.Rate, scones.ErrParameter)
	}
	net.Init(dev, device.Float32, rng)
	defer dev.Scope().Close()
	opt := train.Adam{Rate: t.Rate}.For(net.Params())
	r := projecting{t, dev, net, opt}
	seed := rng.Uint64()
	of, err := t.of()
	if err != nil {
		return nil, err
	}
	stored := resume.Training{
		Steps:   t.Steps,
		Path:    t.Path,
		Every:   t.Every,
		Rate:    t.Rate,
		Weights: net.Params(),
		Checkpoint: train.Checkpoint{
			Params: map[string][]*nn.Param{"net": net.Params(), "adam": opt.State()},
			Sources: map[string]train.Source{"arguments": resume.Of("seed ", seed, ", ", t.Coupling.Compatibility,
				", mean ", t.Coupling.Mean,
				", batch ", t.Batch, ", rate ", t.Rate, ", ", t.Stamp, ", potentials ", of)},
		},
	}
	step := func(k int) error { return r.step(rand.New(rand.NewPCG(seed, uint64(k)*0x9e3779b97f4a7c15+1)), k, x, y) }
	if err := stored.Run(ctx, step); err != nil {
		return nil, fmt.Errorf("neural: %w", err)
	}
	return &Map{Net: net, Device: dev, Dim: t.Coupling.Psi.Dim()}, nil
}

// of identifies the potentials by their weights; it is empty for potentials that are not Nets.
func (t Projection) of() (string, error) {
	var all []*nn.Param
	for _, p := range []scones.Potential{t.Coupling.Phi, t.Coupling.Psi} {
		if net, ok := p.(*Net); ok {
			all = append(all, net.Params()...)
		}
	}
	if all == nil {
		return "", nil
	}
	return resume.Weights(all)
}

// projecting is the state of a run.
type projecting struct {
	Projection
	dev *device.Device
	net nn.Layer
	opt *train.Optimiser
}

// step moves the weights once, on a new batch.
func (t projecting) step(rng *rand.Rand, k int, x, y scones.Source) error {
	if t.Schedule != nil {
		t.opt.SetFactor(t.Schedule(k))
	}
	xs, ys, err := scones.Draw(rng, t.Batch, x, y)
	if err != nil {
		return err
	}
	loss, err := t.descend(xs, ys)
	if err != nil {
		return err
	}
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return fmt.Errorf("the loss of the projection is %g: the rate is too large, or potentials are far off: %w",
			loss, scones.ErrParameter)
	}
	if t.Trace != nil {
		t.Trace(k+1, loss)
	}
	return nil
}

// descend weighs all pairs of a batch: the gradient at T(x_i) is 2/m (T(x_i) Σ_j M_ij − Σ_j M_ij
// y_j)/m. It returns the mean of M_i |T(x_i) − Σ_j M_ij y_j/M_i|², which is the loss up to a
// constant in T.
func (t projecting) descend(x, y *mat.Dense) (float64, error) {
	defer t.dev.Scope().Close()
	density, err := t.Coupling.Densities(x, y)
	if err != nil {
		return 0, err
	}
	n, d := y.Dims()
	means := new(mat.Dense)
	means.Mul(density, y)
	pass := &nn.Pass{Training: true, ParamsOnly: true}
	out := t.net.Forward(pass, t.dev.FromDense(device.Float32, x))
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
	nn.ZeroGrads(t.net.Params())
	t.net.VJP(pass, dy)
	t.opt.Step()
	return loss, t.dev.Err()
}

// Map is a network as a function of rows.
type Map struct {
	Net    nn.Layer
	Device *device.Device
	Dim    int // of a point
}

// String describes the network in a line.
func (m *Map) String() string {
	return fmt.Sprintf("map of R^%d by a network of %d parameters", m.Dim, nn.Count(m.Net.Params()))
}

// Apply returns the images of the rows of x.
func (m *Map) Apply(x *mat.Dense) (*mat.Dense, error) {
	n, d := x.Dims()
	if n == 0 || d != m.Dim {
		return nil, fmt.Errorf("neural: %d×%d points, the map takes dimension %d: %w", n, d, m.Dim, scones.ErrShape)
	}
	out := mat.NewDense(n, d, nil)
	blocks := (n + rows - 1) / rows // of nearly one size, since networks may normalise by the batch
	for k := range blocks {
		lo, hi := k*n/blocks, (k+1)*n/blocks
		if err := m.block(out.Slice(lo, hi, 0, d).(*mat.Dense), x.Slice(lo, hi, 0, d).(*mat.Dense)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *Map) block(dst, x *mat.Dense) error {
	defer m.Device.Scope().Close()
	y, err := m.Net.Forward(&nn.Pass{ForwardOnly: true}, m.Device.FromDense(device.Float32, x)).Mat()
	if err == nil {
		dst.Copy(y)
	}
	return err
}
