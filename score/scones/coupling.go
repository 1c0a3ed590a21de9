package scones

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/device/cpu/dense"
	"coupling/ot/fdiv"
	"coupling/score"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Coupling is a plan π(x, y) = M(V) σ(x) τ(y), known by its potentials and the score of τ.
type Coupling struct {
	Compatibility
	Phi    Potential // may be nil with KL and no Cap, where conditional laws do not depend on it
	Psi    Potential
	Target score.Field
	Mean   bool // the cost is |x−y|²/d
}

// Given returns the law of y given each row of x as a field, whose rows belong to those of x:
//
//	∇_y log π(y|x) = ∇ log τ_σ(y) + (log M)′(V) (∇ψ(y) − ∇_y c(x, y)).
//
// As in Algorithm 2 noise levels smooth τ only. The field has a density where the target does.
// Score costs an evaluation of the target and of ψ.
func (c Coupling) Given(x *mat.Dense) (*Conditional, error) {
	if err := checkPoints("x", x); err != nil {
		return nil, err
	}
	n, d := x.Dims()
	switch {
	case c.Psi == nil || c.Target == nil:
		return nil, bad("a coupling needs Psi and Target")
	case c.Psi.Dim() != d || c.Target.Dim() != d || c.Phi != nil && c.Phi.Dim() != d:
		return nil, misfit("sources are %d×%d, psi has dimension %d and the target %d", n, d,
			c.Psi.Dim(), c.Target.Dim())
	case c.Phi == nil && (c.F != fdiv.KL || !math.IsInf(c.edge(), 1)):
		return nil, bad("a coupling with %v and cap = %g needs Phi", c.F, c.Cap)
	}
	if err := c.CheckSampling(); err != nil {
		return nil, err
	}
	out := &Conditional{c: c, x: mat.DenseCopyOf(x), phi: make([]float64, n)}
	if c.Phi != nil {
		return out, c.Phi.Eval(out.phi, nil, x)
	}
	return out, nil
}

// Conditional is the law of y given rows of x: a score.Density, up to a constant for each row.
type Conditional struct {
	c   Coupling
	x   *mat.Dense
	phi []float64
}

// Dim implements score.Field.
func (f *Conditional) Dim() int { return f.c.Target.Dim() }

// Prepare prepares the target, for score.Prepare.
func (f *Conditional) Prepare(n int) (score.Field, func()) {
	p := *f
	target, done := score.Prepare(f.c.Target, n)
	p.c.Target = target
	return &p, done
}

// OnDevice returns the score on the device of target and ψ, if both are on one and laws do not
// depend on the values of ψ.
func (f *Conditional) OnDevice(n int) *score.DeviceField {
	psi, ok := f.c.Psi.(DevicePotential)
	if rows, _ := f.x.Dims(); !ok || n != rows || f.c.F != fdiv.KL || f.c.Cap > 0 {
		return nil
	}
	target := score.OnDevice(f.c.Target, n)
	if target == nil {
		return nil
	}
	if target.Device != psi.Device() {
		target.Close()
		return nil
	}
	x, slope := target.Device.FromDense(device.Float64, f.x), 1/f.c.Lambda
	pull, r := 2*slope*unit(f.Dim(), f.c.Mean), *target
	r.Score = func(y *device.Array) *device.Array {
		s := target.Score(y)
		device.Axpby(s, 1, s, slope, psi.Gradient(y))
		device.Axpby(s, 1, s, pull, x)
		device.Axpby(s, 1, s, -pull, y)
		return s
	}
	r.Close = func() {
		x.Free()
		target.Close()
	}
	return &r
}

// violations writes V(x_i, y_i), given ψ(y_i).
func (f *Conditional) violations(v []float64, y *mat.Dense) {
	_, d := f.x.Dims()
	u := unit(d, f.c.Mean)
	for i := range v {
		r := floats.Distance(f.x.RawRowView(i), y.RawRowView(i), 2)
		v[i] += f.phi[i] - u*r*r
	}
}

func (f *Conditional) check(y *mat.Dense) error {
	n, d := y.Dims()
	if a, b := f.x.Dims(); a != n || b != d {
		return misfit("%d×%d points given %d×%d sources", n, d, a, b)
	}
	return nil
}

// Score implements score.Field.
func (f *Conditional) Score(dst, y *mat.Dense, sigma float64) error {
	if err := f.check(y); err != nil {
		return err
	}
	if err := f.c.Target.Score(dst, y, sigma); err != nil {
		return err
	}
	n, d := y.Dims()
	grad := mat.NewDense(n, d, nil)
	var v []float64
	if f.c.F != fdiv.KL || f.c.Cap > 0 {
		v = make([]float64, n)
	}
	if err := f.c.Psi.Eval(v, grad, y); err != nil {
		return err
	}
	if v != nil {
		f.violations(v, y)
	}
	u := unit(d, f.c.Mean)
	for i := range n {
		slope := 1 / f.c.Lambda
		if v != nil {
			slope = f.c.Slope(v[i])
		}
		x, g, at, to := f.x.RawRowView(i), grad.RawRowView(i), y.RawRowView(i), dst.RawRowView(i)
		for k := range to {
			to[k] += slope * (g[k] + 2*u*(x[k]-at[k]))
		}
	}
	return nil
}

// LogDensity implements score.Density; its error wraps score.ErrNoDensity where the target has none.
func (f *Conditional) LogDensity(dst []float64, y *mat.Dense, sigma float64) error {
	if err := f.check(y); err != nil {
		return err
	}
	target, ok := f.c.Target.(score.Density)
	if !ok {
		return fmt.Errorf("scones: the target is a %T: %w", f.c.Target, score.ErrNoDensity)
	}
	if err := target.LogDensity(dst, y, sigma); err != nil {
		return err
	}
	v := make([]float64, len(dst))
	if err := f.c.Psi.Eval(v, nil, y); err != nil {
		return err
	}
	f.violations(v, y)
	for i := range dst {
		dst[i] += f.c.LogDensity(v[i])
	}
	return nil
}

// Sample is Algorithm 2: it draws k points y for each row of x with l, from chains that begin at
// the rows of start plus noise of l's first level. Rows of the result are in the order of x, with
// the k points of a source after each other; a nil start is x itself. Costs k·N chains of l.Total()
// steps. If l has a Path, the chains are stored as they run, and a killed process that samples
// again with the same arguments and rng resumes with the same bits. Use another Path for each call.
func (c Coupling) Sample(ctx context.Context, rng *rand.Rand, x *mat.Dense, k int, l score.Langevin,
	start *mat.Dense) (*mat.Dense, error) {
	if k < 1 {
		return nil, bad("k = %d samples of each source: must be ≥ 1", k)
	}
	if start == nil {
		start = x
	}
	if err := checkPoints("x", x); err != nil {
		return nil, err
	}
	f, err := c.Given(score.RepeatRows(x, k))
	if err != nil {
		return nil, err
	}
	chain := score.Repeat(rng, start, k)
	if len(l.Levels) > 0 && !math.IsInf(l.Levels[0], 0) {
		chain.Jitter(l.Levels[0])
	}
	if err := l.Run(ctx, f, chain); err != nil {
		return nil, err
	}
	return chain.X, nil
}

// Densities returns M(V(x_i, y_j)) for all pairs, N×M: the plan against the product of its marginals.
func (c Coupling) Densities(x, y *mat.Dense) (*mat.Dense, error) {
	n, d := x.Dims()
	m, _ := y.Dims()
	if c.Phi == nil || c.Psi == nil {
		return nil, bad("densities need both potentials")
	}
	if _, e := y.Dims(); n == 0 || m == 0 || d != e {
		return nil, misfit("densities between %d×%d and %d×%d points", n, d, m, e)
	}
	phi, psi := make([]float64, n), make([]float64, m)
	if err := c.Phi.Eval(phi, nil, x); err != nil {
		return nil, err
	}
	if err := c.Psi.Eval(psi, nil, y); err != nil {
		return nil, err
	}
	out := mat.NewDense(n, m, nil)
	dense.Squares(out, x, y)
	u, e := unit(d, c.Mean), c.edge()
	for i := range n {
		row := out.RawRowView(i)
		for j, v := range row {
			row[j] = c.density((phi[i]+psi[j]-u*v)/c.Lambda, e)
		}
	}
	return out, nil
}
