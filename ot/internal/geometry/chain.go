package geometry

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu"
	"coupling/lab/device/cpu/dense"
	"coupling/ot/internal/rows"
)

// Chain carries ∂ℓ/∂c, given by blocks of rows, to the points: ∂ℓ/∂xᵢ = Σⱼ G_ij ∂c_ij/∂xᵢ and the same for y, by matrix
// products where the cost has a form.
//
// For |x−y|², Σⱼ G_ij·2(xᵢ−yⱼ) = 2((G1)ᵢ xᵢ − (G y)ᵢ). Points are taken relative to the mean of the
// targets, so that cancellation depends on the size of the clouds and not on their distance from
// the origin.
type Chain struct {
	cost   PointCost
	form   Form
	known  bool
	x, y   *mat.Dense   // centred, or of length 1 for Angle, where the cost has a form
	length [2][]float64 // of the points, for Angle
	xt, yt []float64    // the same, coordinate by coordinate, for Abs
	reach  float64      // the largest distance from the centre, for Radial
}

// NewChain returns the chain rule of a cloud, whose vectors allocate makes; they need not be zeros.
func NewChain(p *Cloud, allocate func(n int) []float64) *Chain {
	c := &Chain{cost: p.Kind, form: p.form(), x: p.x, y: p.y, yt: p.yt}
	if _, c.known = p.Kind.(KernelCost); c.form.Angle {
		c.x, c.y, c.length = p.unit[0], p.unit[1], p.length
	}
	if !c.known || c.form.Inner != nil || c.form.Separable != nil { // x·y depends on the origin, differences need none
		return c
	}
	mid := allocate(p.d)
	for k := range mid {
		mid[k] = kern.Sum(p.yt[k*p.m:(k+1)*p.m]) / float64(p.m)
	}
	c.x, c.y = centred(p.x, mid, allocate), centred(p.y, mid, allocate)
	if c.form.Abs != 0 {
		c.xt, c.yt = allocate(p.n*p.d), allocate(p.m*p.d)
		transpose(c.xt, c.x)
		transpose(c.yt, c.y)
	}
	if c.form.Radial != nil {
		c.reach = max(mat.Norm(c.x, math.Inf(1)), mat.Norm(c.y, math.Inf(1)))
	}
	return c
}

// centred returns the rows of a less mid.
func centred(a *mat.Dense, mid []float64, allocate func(n int) []float64) *mat.Dense {
	n, d := a.Dims()
	out := mat.NewDense(n, d, allocate(n*d))
	out.Copy(a)
	for i := range n {
		axpy(out.RawRowView(i), mid, -1)
	}
	return out
}

// Add adds the contribution of the rows [lo, hi) of G to dx (n×d) and dy (m×d); either may be nil.
// It may overwrite the rows. The multiplier w and col, of length m, are scratch.
func (c *Chain) Add(w *cpu.Gemm[float64], col []float64, dx, dy *mat.Dense, g []float64, lo, hi int) {
	block := cpu.Dense(g, hi-lo, len(g)/(hi-lo))
	switch {
	case !c.known:
		c.eachPair(dx, dy, g, lo, hi)
	case c.form.Angle:
		// −Σⱼ G_ij ŷⱼ; Finish subtracts the part along x̂ and divides by the lengths.
		c.products(w, dx, dy, block, lo, hi, 1)
	case c.form.Inner != nil:
		c.slopes(w, dx, dy, g, lo, hi)
		c.products(w, dx, dy, block, lo, hi, -1)
	case c.form.Radial != nil:
		c.slopes(w, dx, dy, g, lo, hi)
		c.squares(w, col, dx, dy, block, lo, hi, 2)
	case c.form.Separable != nil:
		c.separable(col, dx, dy, g, lo, hi)
	default:
		if c.form.Abs != 0 {
			c.signs(col, dx, dy, g, lo, hi)
		}
		if c.form.Square != 0 {
			c.squares(w, col, dx, dy, block, lo, hi, 2*c.form.Square)
		}
	}
}

// slopes multiplies G by a derivative, of |x−y|² for Radial and of x·y for Inner.
func (c *Chain) slopes(w *cpu.Gemm[float64], dx, dy *mat.Dense, g []float64, lo, hi int) {
	m := len(g) / (hi - lo)
	buf := make([]float64, len(g))
	base := cpu.Dense(buf, hi-lo, m)
	if c.form.Inner != nil {
		w.Add(base, 1, dense.View(c.x).Slice(lo, hi), dense.View(c.y).T())
		c.form.Inner.Slope(buf)
		kern.Mul(g, g, buf)
		return
	}
	w.AddSquares(base, dense.View(c.x).Slice(lo, hi), dense.View(c.y))
	limit := closePair * c.reach
	for k, s := range buf {
		if s <= limit*limit {
			i, j := lo+k/m, k%m
			c.cost.Grad(rowOf(dx, i), rowOf(dy, j), g[k], c.x.RawRowView(i), c.y.RawRowView(j))
			g[k], buf[k] = 0, 1
		}
	}
	c.form.Radial.Slope(buf)
	kern.Mul(g, g, buf)
}

// separable is Add for a function of the differences of coordinates.
func (c *Chain) separable(sum []float64, dx, dy *mat.Dense, g []float64, lo, hi int) {
	m := len(g) / (hi - lo)
	buf := make([]float64, m)
	for k := range c.x.RawMatrix().Cols {
		clear(sum)
		for i := lo; i < hi; i++ {
			rows.Less(buf, c.yt[k*m:(k+1)*m], -c.x.At(i, k))
			c.form.Separable.Slope(buf)
			kern.Mul(buf, buf, g[(i-lo)*m:(i-lo+1)*m])
			kern.Axpy(sum, 1, buf)
			if dx != nil {
				dx.RawRowView(i)[k] += kern.Sum(buf)
			}
		}
		if dy != nil {
			for j, v := range sum {
				dy.RawRowView(j)[k] -= v
			}
		}
	}
}

// products subtracts weight·G y from dx and weight·Gᵀx from dy.
func (c *Chain) products(w *cpu.Gemm[float64], dx, dy *mat.Dense, block cpu.Matrix[float64], lo, hi int,
	weight float64) {
	if dx != nil {
		w.Add(dense.View(dx).Slice(lo, hi), -weight, block, dense.View(c.y))
	}
	if dy != nil {
		w.Add(dense.View(dy), -weight, block.T(), dense.View(c.x).Slice(lo, hi))
	}
}

// squares is Add for weight·½|x−y|².
func (c *Chain) squares(w *cpu.Gemm[float64], col []float64, dx, dy *mat.Dense, block cpu.Matrix[float64], lo, hi int,
	weight float64) {
	c.products(w, dx, dy, block, lo, hi, weight)
	m := block.Cols
	if dx != nil {
		for i := lo; i < hi; i++ {
			axpy(dx.RawRowView(i), c.x.RawRowView(i), weight*kern.Sum(block.Data[(i-lo)*m:(i-lo+1)*m]))
		}
	}
	if dy != nil {
		clear(col)
		for i := range hi - lo {
			axpy(col, block.Data[i*m:(i+1)*m], weight)
		}
		for j, s := range col {
			axpy(dy.RawRowView(j), c.y.RawRowView(j), s)
		}
	}
}

// signs is Add for Abs·|x−y|₁.
func (c *Chain) signs(col []float64, dx, dy *mat.Dense, g []float64, lo, hi int) {
	n, d := c.x.Dims()
	m := len(g) / (hi - lo)
	if dx != nil {
		for i := lo; i < hi; i++ {
			row, x := dx.RawRowView(i), c.x.RawRowView(i)
			for k := range d {
				row[k] += c.form.Abs * kern.DotSign(g[(i-lo)*m:(i-lo+1)*m], c.yt[k*m:(k+1)*m], x[k])
			}
		}
	}
	if dy == nil {
		return
	}
	col = grow(col, hi-lo)
	for j := range m {
		for i := range hi - lo {
			col[i] = g[i*m+j]
		}
		row, y := dy.RawRowView(j), c.y.RawRowView(j)
		for k := range d {
			row[k] += c.form.Abs * kern.DotSign(col, c.xt[k*n+lo:k*n+hi], y[k])
		}
	}
}

// closePair is a distance between two points, relative to their distance from the centre. Below it
// the gradient of a Radial is formed from x−y itself, since the matrix products would give it a
// relative error of 2⁻⁵²/closePair.
const closePair = 0x1p-12

// rowOf is row i, nil of nil.
func rowOf(a *mat.Dense, i int) []float64 {
	if a == nil {
		return nil
	}
	return a.RawRowView(i)
}

// eachPair is Add by the cost's own gradient.
func (c *Chain) eachPair(dx, dy *mat.Dense, g []float64, lo, hi int) {
	m := len(g) / (hi - lo)
	for i := lo; i < hi; i++ {
		for j, v := range g[(i-lo)*m : (i-lo+1)*m] {
			if v != 0 {
				c.cost.Grad(rowOf(dx, i), rowOf(dy, j), v, c.x.RawRowView(i), c.y.RawRowView(j))
			}
		}
	}
}

// Finish completes gradients after all rows were added.
func (c *Chain) Finish(dx, dy *mat.Dense) {
	if c.form.Angle {
		project(dx, c.x, c.length[0])
		project(dy, c.y, c.length[1])
	}
}

// project removes from each row of d the part along the unit vector and divides by the length; the
// row is 0 where the length is 0.
func project(d, unit *mat.Dense, length []float64) {
	if d == nil {
		return
	}
	for i, l := range length {
		row, u := d.RawRowView(i), unit.RawRowView(i)
		if l == 0 {
			clear(row)
			continue
		}
		axpy(row, u, -dot(row, u))
		for k, v := range row {
			row[k] = v / l
		}
	}
}

func axpy(dst, x []float64, w float64) { kern.Axpy(dst, w, x) }

func dot(x, y []float64) float64 { return kern.Dot(x, y) }
