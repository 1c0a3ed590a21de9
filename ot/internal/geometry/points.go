package geometry

import (
	"cmp"
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
	from       *mat.Dense // the sources as costs are made from them: x, or x/|x| for an Angle
	n, m, d    int
	unit       [2]*mat.Dense // x/|x| and y/|y|, 0 for 0, for an Angle
	length     [2][]float64  // |x| and |y|
	units      []float64     // the memory of both
	yt         []float64     // y, or y/|y|, d×m: coordinate k is contiguous; −y for Separable, which is added
	matrixFree bool          // costs are computed for each row when asked
	frugal     bool          // solvers keep memory of the order of n + m
	invalid    error

	once  sync.Once
	held  []float64           // n×m, where held
	gemms []cpu.Gemm[float64] // scratch of hold
}

// Symmetric reports whether both clouds are the same.
func (p *Cloud) Symmetric() bool { return p.x == p.y }

// MaxHeld is the number of costs (1 GiB of float64) above which Points stops holding its matrix.
const MaxHeld = 1 << 27

// MaxStored is the number of float32 (64 MiB) that solvers may store for a frugal geometry.
const MaxStored = 1 << 24

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
		p.matrixFree = p.Finite() || p.n > maxFrugal/p.m
	}
	return p
}

func (p *Cloud) build() error {
	for k, c := range [...]*mat.Dense{p.x, p.y} {
		name := "xy"[k : k+1]
		if c == nil || c.IsEmpty() {
			return fault.OT(fault.ErrShape, "Points: %s is empty: must have a point", name)
		}
		n, _ := c.Dims()
		for i := range n {
			for k, v := range c.RawRowView(i) {
				if v-v != 0 {
					return fault.OT(fault.ErrCost, "Points: %s[%d,%d] = %g: must be finite", name, i, k, v)
				}
			}
		}
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
	p.n, p.m, p.d, p.from = n, m, d, p.x
	p.yt = grow(p.yt, d*m)
	transpose(p.yt, p.y)
	if p.form().Separable != nil {
		kern.Scale(p.yt, -1, p.yt)
	}
	if p.form().Angle {
		p.units = grow(p.units, (n+m)*(d+1))
		p.unit[0], p.length[0] = unit(p.x, p.units[:n*(d+1)])
		p.unit[1], p.length[1] = unit(p.y, p.units[n*(d+1):])
		transpose(p.yt, p.unit[1])
		p.from = p.unit[0]
	}
	return nil
}

// unit returns the rows of a divided by their lengths, and the lengths, in the given memory; rows of zeros stay.
func unit(a *mat.Dense, memory []float64) (*mat.Dense, []float64) {
	n, d := a.Dims()
	out, length := mat.NewDense(n, d, memory[:n*d]), memory[n*d:]
	out.Copy(a)
	for i := range length {
		row := out.RawRowView(i)
		if length[i] = math.Sqrt(dot(row, row)); length[i] > 0 {
			for k, v := range row {
				row[k] = v / length[i]
			}
		}
	}
	return out, length
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
	to, x := cpu.Dense(block, s.Hi-s.Lo, p.m), dense.View(p.from).Slice(s.Lo, s.Hi)
	clear(block)
	switch {
	case p.d <= quickDim:
		return false
	case f.Inner != nil:
		gemm.Add(to, 1, x, cpu.Dense(p.yt, p.d, p.m))
	case f.Radial != nil || f.Square != 0 && f.Abs == 0:
		gemm.AddSquares(to, x, dense.View(p.y))
	default:
		return false
	}
	return true
}

// fill writes the costs of source i.
func (p *Cloud) fill(dst []float64, i int) {
	x, f := p.from.RawRowView(i), p.form()
	switch c, ok := p.Vector(); {
	case ok:
		kern.PointCosts(dst, x, p.yt, c)
	case f.Separable != nil:
		f.fillSeparable(dst, x, p.yt)
	case f.Inner != nil:
		clear(dst)
		kern.GemvT(dst, p.yt, len(dst), x)
		f.apply(dst)
	case f.Radial != nil:
		kern.PointCosts(dst, x, p.yt, cpu.Cost[float64]{Square: 1})
		f.apply(dst)
	default:
		for j := range dst {
			dst[j] = p.Kind.Cost(x, p.y.RawRowView(j))
		}
	}
}

// apply turns |x−y|² or x·y into costs.
func (f Form) apply(dst []float64) {
	if of := cmp.Or(f.Inner, f.Radial); of != nil {
		of.Value(dst)
	} else if f.Square != 1 {
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
		to := dst[lo:min(lo+len(buf), m)]
		for k, v := range x {
			t := buf[:len(to)]
			rows.Less(t, minusYt[k*m+lo:][:len(to)], -v)
			f.Separable.Value(t)
			kern.Axpy(to, 1, t)
		}
	}
}

// Centred returns the points, n×d and m×d, less the middle of the targets, and a bound on their
// costs, which must have a vector kernel or be |x−y|.
func (p *Cloud) Centred() (x, y []float64, reach float64) {
	x, y = make([]float64, p.n*p.d), make([]float64, p.m*p.d)
	var side float64 // the largest difference of a coordinate between two points
	for k := range p.d {
		row := p.yt[k*p.m : (k+1)*p.m]
		lo, hi := slices.Min(row), slices.Max(row)
		mid := lo + (hi-lo)/2
		far := hi - mid
		for i := range p.n {
			x[i*p.d+k] = p.x.At(i, k) - mid
			far = max(far, math.Abs(x[i*p.d+k]))
		}
		for j, v := range row {
			y[j*p.d+k] = v - mid
		}
		side = max(side, far+(hi-mid))
	}
	f := p.form()
	return x, y, float64(p.d) * side * (math.Abs(f.Square)*side + math.Abs(f.Abs) + f.Power)
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
	dst.Kind, dst.x, dst.from, dst.n, dst.d, dst.matrixFree = p.Kind, p.x, p.from, p.n, p.d, true
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
