package scones

import (
	"coupling/lab/device/cpu/dense"
	"coupling/score/internal/adam"

	"gonum.org/v1/gonum/mat"
)

// QuadraticModel is a Quadratic whose parameters Ascent moves by Adam: S, b and c/λ, about a fixed centre. Between
// Gaussians it holds the exact potential.
type QuadraticModel struct {
	d      int
	centre []float64
	lambda float64
	w      []float64 // S row by row, b, c/λ
	opt    adam.Adam
	x      *mat.Dense // of the last Values
}

// NewQuadraticModel starts at zero, about a centre (nil: the origin), for Compatibility.Lambda =
// lambda and Adam's rate.
func NewQuadraticModel(d int, centre []float64, lambda, rate float64) (*QuadraticModel, error) {
	if centre == nil {
		centre = make([]float64, max(d, 0))
	}
	if d < 1 || len(centre) != d || !(rate > 0) || !(lambda > 0) {
		return nil, bad("d = %d, a centre of length %d, lambda = %g, rate = %g", d, len(centre),
			lambda, rate)
	}
	return &QuadraticModel{
		d:      d,
		centre: centre,
		lambda: lambda,
		w:      make([]float64, d*d+d+1),
		opt:    adam.Adam{Rate: rate},
	}, nil
}

// Potential returns the present potential.
func (q *QuadraticModel) Potential() *Quadratic {
	out := &Quadratic{M: append([]float64(nil), q.centre...), S: mat.NewSymDense(q.d, nil),
		C: q.lambda * q.w[q.d*q.d+q.d]}
	out.B = append(out.B, q.w[q.d*q.d:q.d*q.d+q.d]...)
	for i := range q.d {
		for j := range i + 1 {
			out.S.SetSym(i, j, (q.w[i*q.d+j]+q.w[j*q.d+i])/2)
		}
	}
	return out
}

// Values implements Model.
func (q *QuadraticModel) Values(x *mat.Dense) ([]float64, error) {
	n, _ := x.Dims()
	q.x = x
	out := make([]float64, n)
	return out, q.Potential().Eval(out, nil, x)
}

// Ascend implements Model: the gradients of S, b and c/λ are Σ w x̃x̃ᵀ, Σ w x̃ and λ Σ w. Cost 2·N·d².
func (q *QuadraticModel) Ascend(w []float64, factor float64) error {
	n, d := q.x.Dims()
	if len(w) != n {
		return misfit("%d weights of %d points", len(w), n)
	}
	x, wx := mat.NewDense(d, n, nil), mat.NewDense(n, d, nil)
	g := make([]float64, len(q.w))
	for i := range n {
		for k, v := range q.x.RawRowView(i) {
			v -= q.centre[k]
			x.Set(k, i, v)
			wx.Set(i, k, w[i]*v)
			g[d*d+k] += w[i] * v
		}
		g[d*d+d] += q.lambda * w[i]
	}
	dense.Multiply(mat.NewDense(d, d, g[:d*d]), x, wx)
	q.opt.Step(q.w, g, factor)
	return nil
}
