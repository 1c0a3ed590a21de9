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
	units      []float64 // −x/|x|, n×d, 0 for 0, of an Angle, for which yt has y/|y|
	yt         []float64 // d×m: coordinate k of every target is contiguous; −y for Separable, whose kernels subtract it
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

// maxFrugal is the number of costs (45 MB) up to which a MatrixFree of a user's function holds its matrix: that is
// called once for each pair, not in every pass.
const maxFrugal = MaxStored / 3

// quickDim is the dimension up to which the vector kernels compute a row of costs faster than
// memory delivers it.
const quickDim = 4

// Points is the geometry between the rows of x (n×d) and of y (m×d). The n×m cost matrix is
// computed at the first use and held, unless it exceeds 1 GiB, or the points have at most four
// dimensions and the cost is |x−y|², L1 or their sum, where computing costs is as fast as reading
// them. x and y are read, not copied.
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
// and kernels, and up to 5.6 million pairs the costs where they are a user's function.
func MatrixFree(x, y *mat.Dense, c PointCost) *Cloud {
	return new(Cloud).set(x, y, c)
}

// set makes p the geometry MatrixFree(x, y, c).
func (p *Cloud) set(x, y *mat.Dense, c PointCost) *Cloud {
	*p = Cloud{
		Kind: c, x: x, y: y, matrixFree: true, frugal: true,
		yt: p.yt, units: p.units, held: p.held, gemms: p.gemms,
	}
	if p.invalid = p.build(); p.invalid == nil {
		k, known := c.(KernelCost)
		p.matrixFree = known && k.Form().users() == nil || p.n > maxFrugal/p.m
	}
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
	if p.form().Separable != nil {
		kern.Scale(p.yt, -1, p.yt)
	}
	if p.form().Angle {
		p.units = grow(p.units, (n+m)*(d+1))
		left := p.units
		allocate := func(k int) (v []float64) { v, left = left[:k:k], left[k:]; return v }
		x, _ := unit(p.x, allocate)
		y, _ := unit(p.y, allocate)
		x.Scale(-1, x)
		transpose(p.yt, y)
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
	if len(p.gemms) < rows.Workers(0) {
		p.gemms = make([]cpu.Gemm[float64], rows.Workers(0))
	}
	k := -1
	sweep := rows.NewSweep(p.n, p.m, 0, func() *cpu.Gemm[float64] { k++; return &p.gemms[k] })
	sweep.Each(func(gemm *cpu.Gemm[float64], _ int, s rows.Span) {
		block := held[s.Lo*p.m : s.Hi*p.m]
		multiplied := p.products(gemm, block, s)
		for i := s.Lo; i < s.Hi; i++ {
			if row := held[i*p.m : (i+1)*p.m]; multiplied {
				p.form().apply(row)
			} else {
				p.fill(row, i)
			}
		}
	})
	p.held = held
}

// form returns the form of the cost, of which everything is 0 where it has none.
func (p *Cloud) form() (f Form) {
	if k, ok := p.Kind.(KernelCost); ok {
		f = k.Form()
	}
	return f
}

// products writes |x−y|² or x·y for the pairs of a span of rows, where the cost is a function of it and that is faster
// by blocks of rows than one by one.
func (p *Cloud) products(gemm *cpu.Gemm[float64], block []float64, s rows.Span) bool {
	f := p.form()
	to, x := cpu.Dense(block, s.Hi-s.Lo, p.m), dense.View(p.x).Slice(s.Lo, s.Hi)
	switch {
	case p.d <= quickDim:
		return false
	case f.isInner():
		f.start(block)
		if f.Angle {
			x = cpu.Dense(p.units[s.Lo*p.d:s.Hi*p.d], s.Hi-s.Lo, p.d)
		}
		gemm.Add(to, 1, x, cpu.Dense(p.yt, p.d, p.m))
	case f.isRadial():
		clear(block)
		gemm.AddSquares(to, x, dense.View(p.y))
	default:
		return false
	}
	return true
}

// fill writes the costs of source i.
func (p *Cloud) fill(dst []float64, i int) {
	x, f := p.x.RawRowView(i), p.form()
	switch c, ok := p.Vector(); {
	case ok:
		kern.PointCosts(dst, x, p.yt, c)
	case f.Separable != nil:
		f.fillSeparable(dst, x, p.yt)
	case f.isInner():
		f.start(dst)
		if f.Angle {
			x = p.units[i*p.d : (i+1)*p.d]
		}
		kern.GemvT(dst, p.yt, len(dst), x)
		f.apply(dst)
	case f.isRadial():
		kern.PointCosts(dst, x, p.yt, cpu.Cost[float64]{Square: 1})
		f.apply(dst)
	default:
		for j := range dst {
			dst[j] = p.Kind.Cost(x, p.y.RawRowView(j))
		}
	}
}

// start writes what products are added to: 1 for Angle, whose products are −cosines.
func (f Form) start(dst []float64) {
	if clear(dst); f.Angle {
		rows.Subtract(dst, -1)
	}
}

// apply turns |x−y|² or x·y into costs.
func (f Form) apply(dst []float64) {
	switch {
	case f.Inner != nil:
		f.Inner.Value(dst)
	case f.Radial != nil:
		f.Radial.Value(dst)
	case f.Angle:
		for j, v := range dst { // rounding may carry the cosine of parallel vectors past 1
			if v < 0 {
				dst[j] = 0
			} else if v > 2 {
				dst[j] = 2
			}
		}
	case f.Power == 1:
		kern.Sqrt(dst, dst)
	case f.Power > 0:
		for j, v := range dst {
			dst[j] = math.Pow(v, f.Power/2)
		}
	case f.Square != 1:
		kern.Scale(dst, f.Square, dst)
	}
}

// separableBlock is how many differences a separable cost is called for at a time: they stay in cache.
const separableBlock = 512

// fillSeparable adds the costs of the coordinates.
func (f Form) fillSeparable(dst, x, minusYt []float64) {
	m := len(dst)
	buf := make([]float64, min(m, separableBlock))
	clear(dst)
	for lo := 0; lo < m; lo += len(buf) {
		hi := min(lo+len(buf), m)
		t := buf[:hi-lo]
		for k, v := range x {
			f.differences(t, v, minusYt[k*m+lo:k*m+hi], f.Separable.Value)
			kern.Axpy(dst[lo:hi], 1, t)
		}
	}
}

// differences writes a function of x less the elements of y, which are given negated.
func (f Form) differences(dst []float64, x float64, minusY []float64, of func(v []float64)) {
	rows.Less(dst, minusY, -x)
	of(dst)
}

// Vector returns the cost as the vector kernels know it.
func (p *Cloud) Vector() (cpu.Cost[float64], bool) {
	f := p.form()
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
