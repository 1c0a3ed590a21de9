package light

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/lab/device/cpu/dense"
	"coupling/score/internal/adam"
	"coupling/score/scones"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Fit fits a Plan by stochastic gradients of
//
//	E_x log c(x) − E_y log v(y),
//
// which is the Kullback–Leibler divergence of the plan from the fitted one, up to a constant
// (Korotin et al. 2024, equation 8). It needs points of both sides, but no pairs and no scores. The
// covariances are full.
type Fit struct {
	Lambda     float64
	Components int     // 0 means 1
	Steps      int     // 0 means 2000
	Batch      int     // 0 means 256
	Rate       float64 // of Adam, falling to zero; 0 means 0.02
	Trace      func(step int, loss float64)
}

// Run fits points drawn from x and y. First guesses: centres at points of y, conditional
// covariances that of y, or λ/2 I where that is smaller. Cost of a step: Components·(2·Batch·d² +
// d³).
func (f Fit) Run(ctx context.Context, rng *rand.Rand, x, y scones.Source) (*Plan, error) {
	f.Components, f.Steps, f.Batch, f.Rate = cmp.Or(f.Components, 1), cmp.Or(f.Steps, 2000), cmp.Or(f.Batch, 256),
		cmp.Or(f.Rate, .02)
	if err := (scones.Compatibility{Lambda: f.Lambda}).Check(); err != nil {
		return nil, err
	}
	if f.Components < 1 || f.Batch < 2 || !(f.Rate > 0) || math.IsInf(f.Rate, 1) || f.Steps < 0 {
		return nil, fmt.Errorf("light: %d components, %d steps, batch %d, rate %g: %w", f.Components, f.Steps, f.Batch,
			f.Rate, scones.ErrParameter)
	}
	xs, ys, err := scones.Draw(rng, max(f.Batch, 1000), x, y)
	if err != nil {
		return nil, err
	}
	l := f.first(xs, ys)
	w := l.pack()
	opt := adam.Adam{Rate: f.Rate}
	for k := range f.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if xs, ys, err = scones.Draw(rng, f.Batch, x, y); err != nil {
			return nil, err
		}
		loss, g, err := l.gradient(xs, ys)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", k+1, err)
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return nil, fmt.Errorf(
				"light: the loss is %g at step %d: points are not finite, or the rate is too large: %w", loss, k+1,
				scones.ErrParameter)
		}
		floats.Scale(-1, g) // adam ascends, the loss must descend
		opt.Step(w, g, 1-float64(k)/float64(f.Steps))
		l.unpack(w)
		if f.Trace != nil {
			f.Trace(k+1, loss)
		}
	}
	return l, nil
}

func (f Fit) first(x, y *mat.Dense) *Plan {
	n, d := y.Dims()
	l := &Plan{Lambda: f.Lambda}
	s, mean := make([]float64, d), make([]float64, d)
	for j := range d {
		s[j] = math.Min(1, stat.Variance(mat.Col(nil, j, y), nil)/(f.Lambda/2)) + 1e-6
		mean[j] = stat.Mean(mat.Col(nil, j, x), nil)
	}
	for c := range f.Components {
		at := y.RawRowView(c % n)
		if f.Components == 1 {
			at = make([]float64, d)
			for j := range at {
				at[j] = stat.Mean(mat.Col(nil, j, y), nil)
			}
		}
		r, root := make([]float64, d), mat.NewTriDense(d, mat.Lower, nil)
		for j := range d {
			r[j] = at[j] - s[j]*mean[j]
			root.SetTri(j, j, math.Sqrt(s[j]))
		}
		l.A = append(l.A, 0)
		l.R = append(l.R, r)
		l.Root = append(l.Root, root)
	}
	return l
}

// pack lists the parameters: for each component A, R, and L row by row with the logarithm of its diagonal.
func (l *Plan) pack() (w []float64) {
	k, d := l.Dims()
	for c := range k {
		w = append(append(w, l.A[c]), l.R[c]...)
		for i := range d {
			for j := range i {
				w = append(w, l.Root[c].At(i, j))
			}
			w = append(w, math.Log(l.Root[c].At(i, i)))
		}
	}
	return w
}

func (l *Plan) unpack(w []float64) {
	k, d := l.Dims()
	for c := range k {
		l.A[c], w = w[0], w[1:]
		copy(l.R[c], w[:d])
		w = w[d:]
		for i := range d {
			for j := range i {
				l.Root[c].SetTri(i, j, w[j])
			}
			l.Root[c].SetTri(i, i, math.Exp(w[i]))
			w = w[i+1:]
		}
	}
}

// gradient returns the loss on a batch and its gradient by the parameters of pack.
func (l *Plan) gradient(x, y *mat.Dense) (float64, []float64, error) {
	k, d := l.Dims()
	n, _ := x.Dims()
	m, _ := y.Dims()
	eps := l.Lambda / 2
	p, lx := l.tilted(x)
	q := mat.NewDense(m, k, nil)
	white := make([]*mat.Dense, k) // S⁻¹(y − R)
	inverse := make([]*mat.TriDense, k)
	for c := range k {
		inverse[c] = mat.NewTriDense(d, mat.Lower, nil)
		if err := inverse[c].InverseTri(l.Root[c]); err != nil {
			return 0, nil, fmt.Errorf("component %d: %w", c, err)
		}
		white[c] = l.logNormal(c, y, inverse[c], q)
	}
	ly := make([]float64, m)
	for j := range ly {
		ly[j] = floats.LogSumExp(q.RawRowView(j))
	}
	var g []float64
	for c := range k {
		wx, wy := make([]float64, n), make([]float64, m) // posterior weights
		for i := range wx {
			wx[i] = math.Exp(p.At(i, c)-lx[i]) / float64(n)
		}
		for j := range wy {
			wy[j] = math.Exp(q.At(j, c)-ly[j]) / float64(m)
		}
		g = append(g, l.component(c, x, wx, white[c], wy, inverse[c], eps)...)
	}
	return stat.Mean(lx, nil) - stat.Mean(ly, nil), g, nil
}

// logNormal writes A_c + log N(y; R_c, εS_c) to column c of q and returns S_c⁻¹(y − R_c).
func (l *Plan) logNormal(c int, y *mat.Dense, inverse *mat.TriDense, q *mat.Dense) *mat.Dense {
	m, d := y.Dims()
	r := mat.NewDense(m, d, nil)
	for j := range m {
		floats.SubTo(r.RawRowView(j), y.RawRowView(j), l.R[c])
	}
	u := mat.NewDense(m, d, nil)
	dense.Multiply(u, r, mat.DenseCopyOf(inverse.T())) // L⁻¹(y − R)
	constant := l.A[c] - float64(d)/2*math.Log(math.Pi*l.Lambda)
	for i := range d {
		constant -= math.Log(l.Root[c].At(i, i))
	}
	for j := range m {
		row := u.RawRowView(j)
		q.Set(j, c, constant-floats.Dot(row, row)/l.Lambda)
	}
	dense.Multiply(r, u, mat.DenseCopyOf(inverse))
	return r
}

// component returns the gradient by the parameters of one component.
func (l *Plan) component(c int, x *mat.Dense, wx []float64, white *mat.Dense, wy []float64, inverse *mat.TriDense,
	eps float64) []float64 {
	_, d := x.Dims()
	total := floats.Sum(wy)
	g := []float64{floats.Sum(wx) - total}
	r := make([]float64, d)
	for i, w := range wx {
		floats.AddScaled(r, w/eps, x.RawRowView(i))
	}
	for j, w := range wy {
		floats.AddScaled(r, -w/eps, white.RawRowView(j))
	}
	g = append(g, r...)
	// By S: Σ wx xxᵀ/2ε + Σ wy (S⁻¹ − S⁻¹(y−R)(y−R)ᵀS⁻¹/ε)/2; by L it is twice that times L.
	var s, si mat.Dense
	s.Mul(weighted(x, wx).T(), x)
	var sy mat.Dense
	sy.Mul(weighted(white, wy).T(), white)
	s.Sub(&s, &sy)
	s.Scale(1/eps, &s)
	si.Mul(inverse.T(), inverse)
	si.Scale(total, &si)
	s.Add(&s, &si)
	var gl mat.Dense
	gl.Mul(&s, l.Root[c])
	for i := range d {
		for j := range i {
			g = append(g, gl.At(i, j))
		}
		g = append(g, gl.At(i, i)*l.Root[c].At(i, i))
	}
	return g
}

// weighted returns the rows of x times w.
func weighted(x *mat.Dense, w []float64) *mat.Dense {
	out := mat.DenseCopyOf(x)
	for i, v := range w {
		floats.Scale(v, out.RawRowView(i))
	}
	return out
}
