package ot

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu"
)

// PointCloud is the geometry of two clouds of points and a cost between points.
type PointCloud struct {
	// Kind is the cost between points.
	Kind PointCost

	x, y       *mat.Dense
	n, m, d    int
	yt         []float64 // d×m: coordinate k of every target is contiguous, so that a row of costs is d streams
	matrixFree bool      // costs are computed for each row when asked
	frugal     bool      // solvers keep memory of the order of n + m
	invalid    error

	once   sync.Once
	held   []float64 // n×m, where held
	memory *memory   // of an Objective; nil for none

	storable   int // the n·m up to which kernels are stored, in float32
	narrowOnce sync.Once
	narrow     *narrowCloud
}

// symmetric reports whether both clouds are the same.
func (p *PointCloud) symmetric() bool { return p.x == p.y }

// holdLimit is the number of costs (1 GiB of float64) above which Points stops holding its matrix.
const holdLimit = 1 << 27

// quickDim is the dimension up to which the vector kernels compute a row of costs faster than
// memory delivers it.
const quickDim = 4

// Points is the geometry between the rows of x (n×d) and of y (m×d). The n×m cost matrix is
// computed at the first use and held, unless it exceeds 1 GiB, or the points have at most four
// dimensions and the cost is |x−y|², L1 or their sum, where computing costs is as fast as reading
// them. MatrixFree never holds it. x and y are read, not copied.
//
// Cost of the first use where held: n·m·d.
func Points(x, y *mat.Dense, c PointCost) *PointCloud {
	return points(x, y, c, nil)
}

// points is Points with the memory of an Objective.
func points(x, y *mat.Dense, c PointCost, of *memory) *PointCloud {
	p := MatrixFree(x, y, c)
	if p.memory = of; p.invalid == nil {
		_, vector := p.vector()
		p.frugal = p.n > holdLimit/p.m
		p.matrixFree = p.frugal || vector && p.d <= quickDim
	}
	return p
}

// MatrixFree is Points that computes each row of costs when asked, at n·m·d more work a pass.
// Memory does not grow with n·m: beside vectors of n and m, solvers keep at most 170 MB of lists
// and kernels.
func MatrixFree(x, y *mat.Dense, c PointCost) *PointCloud {
	p := &PointCloud{Kind: c, x: x, y: y, matrixFree: true, frugal: true, storable: storedFree}
	p.invalid = p.build()
	return p
}

func (p *PointCloud) build() error {
	if p.x == nil || p.x.IsEmpty() {
		return bad(ErrShape, "Points: x is empty: must have a point")
	}
	if p.y == nil || p.y.IsEmpty() {
		return bad(ErrShape, "Points: y is empty: must have a point")
	}
	n, d := p.x.Dims()
	m, dy := p.y.Dims()
	if d != dy {
		return bad(ErrShape, "Points: x has %d columns and y has %d: must be equal", d, dy)
	}
	if err := checkCost(p.Kind); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		v    *mat.Dense
	}{{"x", p.x}, {"y", p.y}} {
		rows, _ := c.v.Dims()
		for i := range rows {
			for k, v := range c.v.RawRowView(i) {
				if v-v != 0 {
					return bad(ErrCost, "Points: %s[%d,%d] = %g: must be finite", c.name, i, k, v)
				}
			}
		}
	}
	p.n, p.m, p.d = n, m, d
	p.yt = make([]float64, d*m)
	for j := range m {
		for k, v := range p.y.RawRowView(j) {
			p.yt[k*m+j] = v
		}
	}
	return nil
}

// checkCost reports a cost whose parameter is out of range.
func checkCost(c PointCost) error {
	switch c := c.(type) {
	case nil:
		return bad(ErrParameter, "Points: cost is nil")
	case Metric:
		if c < SqEuclidean || c > Cosine {
			return bad(ErrParameter, "Points: cost = Metric(%d): unknown", int(c))
		}
	case Power:
		if !(c > 0) || math.IsInf(float64(c), 0) {
			return bad(ErrParameter, "Points: cost = Power(%g): must be > 0 and finite", float64(c))
		}
	case SqEuclideanL1:
		if math.IsNaN(float64(c)) || math.IsInf(float64(c), 0) {
			return bad(ErrParameter, "Points: cost = SqEuclideanL1(%g): must be finite", float64(c))
		}
	case CostFunc:
		if c.Value == nil {
			return bad(ErrParameter, "Points: cost = CostFunc with a nil Value")
		}
	}
	return nil
}

// Frugal reports whether solvers are to keep memory of the order of n + m.
func (p *PointCloud) Frugal() bool { return p.frugal }

// Quick reports whether a vector kernel computes the costs of each pass.
func (p *PointCloud) Quick() bool {
	_, ok := p.vector()
	return ok && p.matrixFree
}

func (p *PointCloud) cloud() *PointCloud { return p }

func (p *PointCloud) validate() error {
	if p == nil {
		return bad(ErrShape, "geometry is a nil *PointCloud")
	}
	return p.invalid
}

// Dims returns the number of sources and of targets.
func (p *PointCloud) Dims() (n, m int) { return p.n, p.m }

// X returns the sources, n×d.
func (p *PointCloud) X() *mat.Dense { return p.x }

// Y returns the targets, m×d.
func (p *PointCloud) Y() *mat.Dense { return p.y }

// Row returns the costs from source i to every target.
func (p *PointCloud) Row(i int, buf []float64) []float64 {
	if !p.matrixFree {
		p.once.Do(p.hold)
		return p.held[i*p.m : (i+1)*p.m : (i+1)*p.m]
	}
	p.fill(buf[:p.m], i)
	return buf[:p.m]
}

func (p *PointCloud) hold() {
	held := p.memory.floats(p.n * p.m)
	sw := newSweep(p, 0)
	square, ok := p.vector()
	sw.each(func(w *worker, _ int, s span) {
		if ok && square.Abs == 0 && p.d > quickDim {
			block := held[s.Lo*p.m : s.Hi*p.m]
			clear(block)
			w.gemm.AddSquares(cpu.Dense(block, s.Hi-s.Lo, p.m), denseOf(p.x).Slice(s.Lo, s.Hi), denseOf(p.y))
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
func (p *PointCloud) fill(dst []float64, i int) {
	x := p.x.RawRowView(i)
	if c, ok := p.vector(); ok {
		kern.PointCosts(dst, x, p.yt, c)
		return
	}
	if k, ok := p.Kind.(kernelCost); ok && k.form().Power > 0 {
		kern.PointCosts(dst, x, p.yt, cpu.Cost[float64]{Square: 1})
		for j, v := range dst {
			if power := k.form().Power; power == 1 {
				dst[j] = math.Sqrt(v)
			} else {
				dst[j] = math.Pow(v, power/2)
			}
		}
		return
	}
	for j := range dst {
		dst[j] = p.Kind.Cost(x, p.y.RawRowView(j))
	}
}

// vector returns the cost as the vector kernels know it.
func (p *PointCloud) vector() (cpu.Cost[float64], bool) {
	k, ok := p.Kind.(kernelCost)
	if !ok {
		return cpu.Cost[float64]{}, false
	}
	f := k.form()
	return cpu.Cost[float64]{Square: f.Square, Abs: f.Abs}, f.Square != 0 || f.Abs != 0
}

// ExpRow computes a row of exponentials, with the costs in registers if a kernel can, else from
// stored costs.
func (p *PointCloud) ExpRow(dst, cost []float64, i int, h []float64, inv, shift float64) float64 {
	if p.matrixFree {
		if c, ok := p.vector(); ok {
			return kern.PointRowExpAt(dst, h, p.x.RawRowView(i), p.yt, c, inv, shift)
		}
	}
	return kern.RowExpAt(dst, h, p.Row(i, cost), inv, shift)
}
