package geometry

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu"
	"coupling/lab/device/cpu/dense"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/rows"
)

// Cloud is the geometry of two clouds of points and a cost between points.
type Cloud struct {
	// Kind is the cost between points.
	Kind PointCost

	x, y       *mat.Dense
	n, m, d    int
	lengths    []float64 // 1/|y|, 0 for 0, of an Angle
	yt         []float64 // d×m: coordinate k of every target is contiguous, so that a row of costs is d streams
	matrixFree bool      // costs are computed for each row when asked
	frugal     bool      // solvers keep memory of the order of n + m
	invalid    error

	once  sync.Once
	held  []float64           // n×m, where held
	gemms []cpu.Gemm[float64] // scratch of hold

	roundOnce sync.Once
	rounded   *Rounded
}

// Symmetric reports whether both clouds are the same.
func (p *Cloud) Symmetric() bool { return p.x == p.y }

// MaxHeld is the number of costs (1 GiB of float64) above which Points stops holding its matrix.
const MaxHeld = 1 << 27

// quickDim is the dimension up to which the vector kernels compute a row of costs faster than
// memory delivers it.
const quickDim = 4

// Points is the geometry between the rows of x (n×d) and of y (m×d). The n×m cost matrix is
// computed at the first use and held, unless it exceeds 1 GiB, or the points have at most four
// dimensions and the cost is |x−y|², L1 or their sum, where computing costs is as fast as reading
// them. MatrixFree never holds it. x and y are read, not copied.
//
// Cost of the first use where held: n·m·d.
func Points(x, y *mat.Dense, c PointCost) *Cloud {
	return new(Cloud).Reset(x, y, c)
}

// Reset makes p the geometry Points(x, y, c), in the memory of the one before.
func (p *Cloud) Reset(x, y *mat.Dense, c PointCost) *Cloud {
	if p.set(x, y, c); p.invalid == nil {
		_, vector := p.Vector()
		p.frugal = p.n > MaxHeld/p.m
		p.matrixFree = p.frugal || vector && p.d <= quickDim
	}
	return p
}

// MatrixFree is Points that computes each row of costs when asked, at n·m·d more work a pass.
// Memory does not grow with n·m: beside vectors of n and m, solvers keep at most 170 MB of lists
// and kernels.
func MatrixFree(x, y *mat.Dense, c PointCost) *Cloud {
	return new(Cloud).set(x, y, c)
}

// set makes p the geometry MatrixFree(x, y, c).
func (p *Cloud) set(x, y *mat.Dense, c PointCost) *Cloud {
	*p = Cloud{
		Kind: c, x: x, y: y, matrixFree: true, frugal: true,
		yt: p.yt, lengths: p.lengths, held: p.held, gemms: p.gemms,
	}
	p.invalid = p.build()
	return p
}

func (p *Cloud) build() error {
	if p.x == nil || p.x.IsEmpty() {
		return fault.OT(fault.ErrShape, "Points: x is empty: must have a point")
	}
	if p.y == nil || p.y.IsEmpty() {
		return fault.OT(fault.ErrShape, "Points: y is empty: must have a point")
	}
	n, d := p.x.Dims()
	m, dy := p.y.Dims()
	if d != dy {
		return fault.OT(fault.ErrShape, "Points: x has %d columns and y has %d: must be equal", d, dy)
	}
	if p.Kind == nil {
		return fault.OT(fault.ErrParameter, "Points: cost is nil")
	}
	if c, ok := p.Kind.(interface{ Validate() error }); ok {
		if err := c.Validate(); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		name string
		v    *mat.Dense
	}{{"x", p.x}, {"y", p.y}} {
		rows, _ := c.v.Dims()
		for i := range rows {
			for k, v := range c.v.RawRowView(i) {
				if v-v != 0 {
					return fault.OT(fault.ErrCost, "Points: %s[%d,%d] = %g: must be finite", c.name, i, k, v)
				}
			}
		}
	}
	p.n, p.m, p.d = n, m, d
	p.yt = grow(p.yt, d*m)
	transpose(p.yt, p.y)
	if k, ok := p.Kind.(KernelCost); ok && k.Form().Angle {
		p.lengths = grow(p.lengths, m)
		for j := range p.lengths {
			y := p.y.RawRowView(j)
			if p.lengths[j] = 0; dot(y, y) > 0 {
				p.lengths[j] = 1 / math.Sqrt(dot(y, y))
			}
		}
	}
	return nil
}

// grow returns v with n elements, which are not cleared.
func grow(v []float64, n int) []float64 {
	return slices.Grow(v[:0], n)[:n]
}

// transpose writes aᵀ, row after row.
func transpose(dst []float64, a *mat.Dense) {
	n, _ := a.Dims()
	for i := range n {
		for k, v := range a.RawRowView(i) {
			dst[k*n+i] = v
		}
	}
}

// Frugal reports whether solvers are to keep memory of the order of n + m.
func (p *Cloud) Frugal() bool { return p.frugal }

// Quick reports whether a vector kernel computes the costs of each pass.
func (p *Cloud) Quick() bool {
	_, ok := p.Vector()
	return ok && p.matrixFree
}

// Finite reports whether a cost of +Inf is one that overflowed: for the costs of this package.
func (p *Cloud) Finite() bool {
	k, known := p.Kind.(KernelCost)
	return known && k.Form().users() == nil
}

// Points returns p.
func (p *Cloud) Points() *Cloud { return p }

// Validate reports points or a cost that cannot be used.
func (p *Cloud) Validate() error {
	if p == nil {
		return fault.OT(fault.ErrShape, "geometry is a nil *cost.Cloud")
	}
	return p.invalid
}

// Dims returns the number of sources and of targets.
func (p *Cloud) Dims() (n, m int) { return p.n, p.m }

// X returns the sources, n×d.
func (p *Cloud) X() *mat.Dense { return p.x }

// Y returns the targets, m×d.
func (p *Cloud) Y() *mat.Dense { return p.y }

// Row returns the costs from source i to every target.
func (p *Cloud) Row(i int, buf []float64) []float64 {
	if !p.matrixFree {
		p.once.Do(p.hold)
		return p.held[i*p.m : (i+1)*p.m : (i+1)*p.m]
	}
	p.fill(buf[:p.m], i)
	return buf[:p.m]
}

func (p *Cloud) hold() {
	held := grow(p.held, p.n*p.m)
	square, ok := p.Vector()
	if len(p.gemms) < rows.Workers(0) {
		p.gemms = make([]cpu.Gemm[float64], rows.Workers(0))
	}
	k := -1
	sweep := rows.NewSweep(p.n, p.m, 0, func() *cpu.Gemm[float64] { k++; return &p.gemms[k] })
	sweep.Each(func(gemm *cpu.Gemm[float64], _ int, s rows.Span) {
		if ok && square.Abs == 0 && p.d > quickDim {
			block := held[s.Lo*p.m : s.Hi*p.m]
			clear(block)
			gemm.AddSquares(cpu.Dense(block, s.Hi-s.Lo, p.m), dense.View(p.x).Slice(s.Lo, s.Hi), dense.View(p.y))
			if square.Square != 1 {
				kern.Scale(block, square.Square, block)
			}
			return
		}
		for i := s.Lo; i < s.Hi; i++ {
			p.fill(held[i*p.m:(i+1)*p.m], i)
		}
	})
	p.held = held
}

// fill writes the costs of source i.
func (p *Cloud) fill(dst []float64, i int) {
	x := p.x.RawRowView(i)
	if c, ok := p.Vector(); ok {
		kern.PointCosts(dst, x, p.yt, c)
		return
	}
	if k, ok := p.Kind.(KernelCost); ok {
		k.Form().fill(dst, x, p.yt, p.lengths)
		return
	}
	for j := range dst {
		dst[j] = p.Kind.Cost(x, p.y.RawRowView(j))
	}
}

// fill writes the costs from x to the targets, given by coordinates, d×m, and for Angle the inverses of their lengths.
func (f Form) fill(dst, x, yt, inverse []float64) {
	switch {
	case f.Separable != nil:
		f.fillSeparable(dst, x, yt)
	case f.Inner != nil || f.Angle:
		clear(dst)
		kern.GemvT(dst, yt, len(dst), x)
		if f.Inner != nil {
			f.Inner.Value(dst)
			return
		}
		f.angles(dst, math.Sqrt(dot(x, x)), inverse)
	default:
		kern.PointCosts(dst, x, yt, cpu.Cost[float64]{Square: 1})
		switch {
		case f.Radial != nil:
			f.Radial.Value(dst)
		case f.Power == 1:
			for j, v := range dst {
				dst[j] = math.Sqrt(v)
			}
		default:
			for j, v := range dst {
				dst[j] = math.Pow(v, f.Power/2)
			}
		}
	}
}

// angles turns products with a point of length norm into 1 − the cosines, 1 where a length is 0.
func (f Form) angles(dst []float64, norm float64, inverse []float64) {
	if norm == 0 {
		norm = math.Inf(1)
	}
	kern.Mul(dst, dst, inverse)
	for j, v := range dst {
		dst[j] = 1 - max(-1, min(1, v/norm)) // rounding may carry the cosine of parallel vectors past 1
	}
}

// separableBlock is how many differences a separable cost is called for at a time: they stay in cache.
const separableBlock = 512

// fillSeparable adds the costs of the coordinates.
func (f Form) fillSeparable(dst, x, yt []float64) {
	var buf [separableBlock]float64
	m := len(dst)
	clear(dst)
	for lo := 0; lo < m; lo += len(buf) {
		hi := min(lo+len(buf), m)
		t := buf[:hi-lo]
		for k, v := range x {
			f.differences(t, v, yt[k*m+lo:k*m+hi], f.Separable.Value)
			axpy(dst[lo:hi], t, 1)
		}
	}
}

// differences writes a function of x less the elements of y.
func (f Form) differences(dst []float64, x float64, y []float64, of func(v []float64)) {
	for j, v := range y {
		dst[j] = x - v
	}
	of(dst)
}

// Vector returns the cost as the vector kernels know it.
func (p *Cloud) Vector() (cpu.Cost[float64], bool) {
	k, ok := p.Kind.(KernelCost)
	if !ok {
		return cpu.Cost[float64]{}, false
	}
	f := k.Form()
	return cpu.Cost[float64]{Square: f.Square, Abs: f.Abs}, f.Square != 0 || f.Abs != 0
}

// ExpRow computes a row of exponentials, with the costs in registers if a kernel can, else from
// stored costs.
func (p *Cloud) ExpRow(dst, cost []float64, i int, h []float64, inv, shift float64) float64 {
	if p.matrixFree {
		if c, ok := p.Vector(); ok {
			return kern.PointRowExpAt(dst, h, p.x.RawRowView(i), p.yt, c, inv, shift)
		}
	}
	return kern.RowExpAt(dst, h, p.Row(i, cost), inv, shift)
}

// Ordered returns the cloud with its sources and targets in the given orders, computing costs when asked.
func (p *Cloud) Ordered(sources, targets []int) *Cloud {
	o := MatrixFree(ordered(p.x, sources), ordered(p.y, targets), p.Kind)
	o.frugal = p.frugal
	return o
}

func ordered(x *mat.Dense, order []int) *mat.Dense {
	_, d := x.Dims()
	out := mat.NewDense(len(order), d, nil)
	for k, i := range order {
		out.SetRow(k, x.RawRowView(i))
	}
	return out
}

// Only makes dst the cloud with the targets in the given ranges only, without their matrix.
func (p *Cloud) Only(dst *Cloud, targets []rows.Span) {
	dst.Kind, dst.x, dst.n, dst.d, dst.matrixFree = p.Kind, p.x, p.n, p.d, true
	dst.yt, dst.m = dst.yt[:0], 0
	for k := range p.d {
		for _, r := range targets {
			dst.yt = append(dst.yt, p.yt[k*p.m+r.Lo:k*p.m+r.Hi]...)
		}
	}
	for _, r := range targets {
		dst.m += r.Hi - r.Lo
	}
}
