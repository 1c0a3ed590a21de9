package semidual

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/logspace"
	"coupling/ot/internal/geometry"
)

// resample adds up the values on a grid for the grid with half as many along each axis, with the weights ¾ and ¼
// of linear interpolation; where not down it is that interpolation, the adjoint. shape is of the finer grid; each
// value may be a row of several.
func resample(v []float64, shape []int, down bool) []float64 {
	outer := 1
	for _, n := range shape {
		half := (n + 1) / 2
		from, to := half, n
		if down {
			from, to = n, half
		}
		inner := len(v) / outer / from
		out := make([]float64, outer*to*inner)
		for o := range outer {
			for i := range n {
				other := min(max(0, i/2+i%2*2-1), half-1)
				fine, near, far := (o*n+i)*inner, (o*half+i/2)*inner, (o*half+other)*inner
				for r := range inner {
					if down {
						out[near+r] += 0.75 * v[fine+r]
						out[far+r] += 0.25 * v[fine+r]
					} else {
						out[fine+r] = 0.75*v[near+r] + 0.25*v[far+r]
					}
				}
			}
		}
		v, outer = out, outer*to
	}
	return v
}

// ladder is the part of an approximate inverse of the Hessian that acts on coarser grids of targets, Σ_k P_k
// Diag(scales[k]) P_kᵀ, where P_k interpolates from the k-th (Bramble, Pasciak and Xu 1990). By TᵀDiag(1/a)T mass goes
// few steps of the grid, so that ε/b, the inverse for what varies from one target to the next, is far too little for
// what is smooth.
type ladder struct {
	scales [][]float64
	shapes [][]int // of the targets, and of each coarser grid
	eps    float64
	evals  int // when it was made
}

// ladderSteps is the number of evaluations after which a ladder is made again.
const ladderSteps = 25

// updateLadder makes the ladder of a separable geometry at β, which was evaluated last, where there is none for the
// present ε or it is old. The scale of a hat of 2^k steps is ε·4^k over twice its Σ b r², where r² is the mean squared
// distance, in steps of the grid, to the next target.
func (s *Function) updateLadder(beta []float64) {
	if s.ladder.eps == s.Eps && s.Evals <= s.ladder.evals+ladderSteps {
		return
	}
	var shape []int
	for _, x := range s.grid.Axes(true) {
		n, _ := x.Cost().Dims()
		shape = append(shape, n)
	}
	weight, scale := s.distances(beta, shape), s.Eps/2
	s.ladder = ladder{eps: s.Eps, evals: s.Evals, shapes: [][]int{shape}}
	for slices.Min(shape) >= minHalved/4 {
		weight, scale = resample(weight, shape, true), 4*scale
		next := make([]int, len(shape))
		for k, n := range shape {
			next[k] = (n + 1) / 2
		}
		shape = next
		inverse := make([]float64, len(weight))
		for j, v := range weight {
			if v > 0 {
				inverse[j] = scale / v
			}
		}
		s.ladder.scales, s.ladder.shapes = append(s.ladder.scales, inverse), append(s.ladder.shapes, shape)
	}
}

// distances returns bⱼ times the mean squared distance along an axis from each target to the next of TᵀDiag(1/a)T.
func (s *Function) distances(beta []float64, shape []int) []float64 {
	next := func(v []float64) []float64 {
		s.Evals++ // as many passes
		_, v = Expect(s.grid, beta, v, s.Eps, false, false, len(s.Rows.Scratch))
		_, v = Expect(s.grid, s.Alpha, v, s.Eps, true, false, len(s.Rows.Scratch))
		return v
	}
	out, squares, stride := make([]float64, s.M), make([]float64, s.M), 1
	for _, n := range slices.Backward(shape) {
		at := make([]float64, s.M)
		for j := range at {
			at[j] = float64(j / stride % n)
			squares[j] += at[j] * at[j]
		}
		for j, to := range next(at) {
			out[j] += at[j] * (at[j] - 2*to)
		}
		stride *= n
	}
	for j, to := range next(squares) {
		out[j] = s.B[j] / float64(len(shape)) * max(leastDistance, out[j]+to)
	}
	return out
}

// leastDistance is the least mean squared distance that a ladder counts, in steps of the grid.
const leastDistance = 1e-3

// Precondition writes the approximate inverse of the Hessian times v to dst, which may be v: Diag(metric), and the
// ladder where the geometry is separable. β was evaluated last.
func (s *Function) Precondition(dst, v, metric, beta []float64) {
	if s.grid.Separable == nil || s.Marginals != nil {
		kern.Mul(dst, metric, v)
		return
	}
	s.updateLadder(beta)
	coarse := s.ladder.mul(v, 0)
	kern.Mul(dst, metric, v)
	kern.Axpy(dst, 1, coarse)
	for _, j := range s.ZeroB {
		dst[j] = 0
	}
}

// mul returns the parts of the product with v, a vector on grid k, of all coarser grids.
func (l *ladder) mul(v []float64, k int) []float64 {
	if k == len(l.scales) {
		return make([]float64, len(v))
	}
	down := resample(v, l.shapes[k], true)
	out := l.mul(down, k+1)
	kern.Mul(down, down, l.scales[k])
	kern.Axpy(out, 1, down)
	return resample(out, l.shapes[k], false)
}

// Halved is a separable problem with neighbours along each axis joined, and what potentials of it say of the
// whole.
type Halved struct {
	Axes []*mat.Dense
	A, B []float64

	mixed []*geometry.Axis // targets of the whole by sources of the halves
}

// Halved returns the halved problem, nil where the cost is not separable, grids are small, or costs
// curve so much within two neighbours that the potentials at eps would not be near.
func (s *Function) Halved(eps float64) *Halved {
	if s.grid.Separable == nil {
		return nil
	}
	h := &Halved{}
	var curve float64
	var sources, targets []int
	for _, x := range s.grid.Axes(false) {
		n, m := x.Cost().Dims()
		if min(n, m) < minHalved {
			return nil
		}
		half := averaged(x.Cost())
		curve += x.Curve()
		h.mixed = append(h.mixed, geometry.NewAxis(half))
		h.Axes = append(h.Axes, averaged(half))
		sources, targets = append(sources, n), append(targets, m)
	}
	if curve > 2*eps {
		return nil
	}
	h.A, h.B = resample(s.A, sources, true), resample(s.B, targets, true)
	return h
}

// minHalved is the least length of an axis that is halved.
const minHalved = 16

// averaged returns the transpose of the means of neighbouring rows.
func averaged(c *mat.Dense) *mat.Dense {
	n, m := c.Dims()
	count := make([]float64, n)
	for i := range count {
		count[i] = 1
	}
	count = resample(count, []int{n}, true)
	sums := mat.NewDense(len(count), m, resample(c.RawMatrix().Data, []int{n}, true))
	out := mat.NewDense(m, len(count), nil)
	out.Apply(func(_, i int, v float64) float64 { return v / count[i] }, sums.T())
	return out
}

// Extend returns β at the present ε for the potentials f of the halved problem's sources.
func (h *Halved) Extend(s *Function, f []float64) []float64 {
	u := make([]float64, len(f))
	for i, a := range h.A {
		u[i] = f[i]/s.Eps + logspace.Log(a)
	}
	lse, _ := geometry.Expect(h.mixed, u, nil, 1/s.Eps, false, len(s.Rows.Scratch))
	kern.Scale(lse, -s.Eps, lse)
	return s.Start(lse)
}
