package scones

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/lab/device/cpu"
	"coupling/lab/device/cpu/dense"
	"coupling/ot/fdiv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Source draws n points as rows.
type Source func(rng *rand.Rand, n int) (*mat.Dense, error)

// Cloud draws rows of x, with repetition. Where x is empty or an entry of it is not finite, draws return an error.
func Cloud(x *mat.Dense) Source {
	bad := checkPoints("x", x)
	return func(rng *rand.Rand, n int) (*mat.Dense, error) {
		if bad != nil {
			return nil, bad
		}
		m, d := x.Dims()
		out := mat.NewDense(n, d, nil)
		for i := range n {
			out.SetRow(i, x.RawRowView(rng.IntN(m)))
		}
		return out, nil
	}
}

// Draw draws n points of each of two sources, which must be of one dimension.
func Draw(rng *rand.Rand, n int, x, y Source) (xs, ys *mat.Dense, err error) {
	if xs, err = x(rng, n); err == nil {
		ys, err = y(rng, n)
	}
	if err != nil {
		return nil, nil, err
	}
	a, d := xs.Dims()
	if b, e := ys.Dims(); a == 0 || b == 0 || d != e {
		return nil, nil, misfit("sources drew %d×%d and %d×%d points: must be some, of one dimension", a, d, b, e)
	}
	return xs, ys, nil
}

// A Model is a potential with parameters that Ascent can move.
type Model interface {
	// Values returns the potential at the rows of x and keeps x for Ascend.
	Values(x *mat.Dense) ([]float64, error)
	// Ascend, in the reverse order of Values, makes one step of the model's optimiser up the
	// gradient of Σ_i w_i φ_θ(x_i), x being the rows of the last Values. The rate of the optimiser
	// is multiplied by factor.
	Ascend(w []float64, factor float64) error
}

// Ascent is Algorithm 1: stochastic ascent of the dual
//
//	J = E φ(x) + E ψ(y) − E λ f*((φ(x) + ψ(y) − c(x, y))/λ)
//
// whose gradients at a batch are E (1 − M) ∇φ and E (1 − M) ∇ψ. The last mean is over all m×m pairs
// of the batch, as the paper has it, or over the m pairs (x_i, y_i), as its code does.
type Ascent struct {
	Compatibility
	Mean   bool // the cost is |x−y|²/d
	Paired bool
	Steps  int
	Batch  int // 0 means 256
	// Schedule is a factor of the models' rates as a function of the step; nil is constant.
	Schedule func(step int) float64
	// Trace is called with the batch's estimate of J before each step.
	Trace func(step int, dual float64)
	// After is called after each step, for example to store a checkpoint; its error ends the run.
	After func(step int) error
}

// Run moves both models from step `from` to Steps. Batches are functions of seed and step, so that
// a run may be resumed.
func (a Ascent) Run(ctx context.Context, phi, psi Model, x, y Source, seed uint64, from int) error {
	a.Batch = cmp.Or(a.Batch, 256)
	if err := a.Check(); err != nil {
		return err
	}
	if a.Batch < 1 || from < 0 {
		return bad("batch = %d, from step %d", a.Batch, from)
	}
	for k := from; k < a.Steps; k++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		rng := rand.New(rand.NewPCG(seed, uint64(k)*0x9e3779b97f4a7c15+1))
		dual, err := a.step(phi, psi, x, y, rng, k)
		if err != nil {
			return fmt.Errorf("step %d: %w", k+1, err)
		}
		if math.IsNaN(dual) || math.IsInf(dual, 0) {
			return bad("the dual is %g at step %d: the rate is too large, or a Cap is needed", dual,
				k+1)
		}
		if a.Trace != nil {
			a.Trace(k+1, dual)
		}
		if a.After != nil {
			if err := a.After(k + 1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a Ascent) step(phi, psi Model, x, y Source, rng *rand.Rand, k int) (float64, error) {
	xs, ys, err := Draw(rng, a.Batch, x, y)
	if err != nil {
		return 0, err
	}
	if n, m := xs.RawMatrix().Rows, ys.RawMatrix().Rows; a.Paired && n != m {
		return 0, misfit("sources drew %d and %d points: pairs are of as many", n, m)
	}
	f, err := phi.Values(xs)
	if err != nil {
		return 0, err
	}
	g, err := psi.Values(ys)
	if err != nil {
		return 0, err
	}
	dual, wf, wg := a.gradient(f, g, xs, ys)
	factor := 1.0
	if a.Schedule != nil {
		factor = a.Schedule(k)
	}
	if err := psi.Ascend(wg, factor); err != nil {
		return 0, err
	}
	return dual, phi.Ascend(wf, factor)
}

// gradient returns the dual of a batch and its derivatives with respect to the values of the potentials.
func (a Ascent) gradient(f, g []float64, x, y *mat.Dense) (dual float64, wf, wg []float64) {
	if a.Paired {
		return a.paired(f, g, x, y)
	}
	n, d := x.Dims()
	m, _ := y.Dims()
	wf, wg = make([]float64, n), make([]float64, m)
	floats.AddConst(1/float64(m), wg)
	dual = floats.Sum(f)/float64(n) + floats.Sum(g)/float64(m)
	c := mat.NewDense(n, m, nil)
	dense.Squares(c, x, y)
	floats.Scale(unit(d, a.Mean), c.RawMatrix().Data)
	share := 1 / float64(n*m)
	chunks := (n + dense.Chunk - 1) / dense.Chunk
	penalties, columns := make([]float64, chunks), make([][]float64, chunks)
	_ = cpu.Chunks(context.Background(), n, dense.Chunk, func(at, lo, hi int) {
		row, column := a.row(g), make([]float64, m)
		for i := lo; i < hi; i++ {
			density, mass, penalty := row(f[i], c.RawRowView(i))
			wf[i] = 1/float64(n) - share*mass
			penalties[at] += share * penalty
			floats.AddScaled(column, -share, density)
		}
		columns[at] = column
	})
	for at := range chunks { // in a fixed order
		dual -= penalties[at]
		floats.Add(wg, columns[at])
	}
	return dual, wf, wg
}

// row returns a function that computes densities, their sum and the sum of penalties over a row of
// costs. Its slice is reused by the next call.
func (a Ascent) row(g []float64) func(f float64, c []float64) (density []float64, mass, penalty float64) {
	out, inv := make([]float64, len(g)), 1/a.Lambda
	if a.F == fdiv.KL && a.Cap == 0 { // exp(V/λ − 1) in one vector kernel
		var k cpu.Kernels[float64]
		h := make([]float64, len(g))
		floats.ScaleTo(h, inv, g)
		return func(f float64, c []float64) ([]float64, float64, float64) {
			top, sum := k.RowExp(out, h, c, inv)
			scale := math.Exp(top + f*inv - 1) // an overflow is seen by Run
			k.Scale(out, scale, out)
			return out, scale * sum, a.Lambda * scale * sum
		}
	}
	e := a.edge()
	return func(f float64, c []float64) (_ []float64, mass, penalty float64) {
		for j, v := range c {
			u := (f + g[j] - v) * inv
			out[j] = a.density(u, e)
			mass += out[j]
			penalty += a.penalty(u, e)
		}
		return out, mass, penalty
	}
}

// paired is gradient with the pairs (x_i, y_i) alone.
func (a Ascent) paired(f, g []float64, x, y *mat.Dense) (dual float64, wf, wg []float64) {
	n, d := x.Dims()
	u := unit(d, a.Mean)
	wf = make([]float64, n)
	for i := range n {
		r := floats.Distance(x.RawRowView(i), y.RawRowView(i), 2)
		v := f[i] + g[i] - u*r*r
		wf[i] = (1 - a.Density(v)) / float64(n)
		dual += (f[i] + g[i] - a.Penalty(v)) / float64(n)
	}
	return dual, wf, append([]float64(nil), wf...)
}
