package ot

import (
	"math"
	"sync"

	"coupling/lab/device/cpu"
)

// kern32 is kern for float32.
var kern32 cpu.Kernels[float32]

// Single is a geometry in float32: half the memory for costs that are held, and passes over the costs with twice the
// elements to a vector for as long as that is good enough. InFloat32 and DenseFloat32 make it.
//
// What is rounded. Costs that are held are rounded to float32, once, by at most δ = 2⁻²⁴·max|c|; the problem that is
// solved is the one of the rounded costs. Its plan T differs from the T° of the costs as they were by
//
//	Σ |T − T°| ≤ δ/ε,
//
// since the entropy is strongly convex in that norm. Points are not rounded for good: where costs are made on the way
// they are the float64 ones whenever it counts, and T is no less exact than without float32.
//
// What is not. Potentials, weights, row and column sums and the stopping rule are float64. Evaluations go on in float64
// when the L1 error comes down to what float32 can see, some 2e-6·(8 + 2·max|c|/ε), so any Tol that float64 reaches
// is reached, and no plan is returned but with the marginal error of a float64 pass over all the costs.
type Single struct {
	of      Geometry // nil for DenseFloat32
	n, m    int
	invalid error

	points *PointCloud // where costs are made on the way, from
	x, yt  []float32   // the points less their middle, n×d and d×m, and
	cost   cpu.Cost[float32]
	reach  float64 // a bound on those costs

	once sync.Once
	held []float32 // n×m, where held
}

// InFloat32 is g in float32. A geometry of points that makes its costs on the way (see Points and MatrixFree) goes on
// making them if they are |x−y|², L1 or their sum. Of any other geometry the n×m costs are held in float32 from the
// first use on, 4 bytes each, and PointCloud's never in float64.
func InFloat32(g Geometry) *Single {
	if err := checkGeometry("InFloat32: geometry", g); err != nil {
		return &Single{invalid: err}
	}
	s := &Single{of: g}
	s.n, s.m = g.Dims()
	if p, ok := g.(*PointCloud); ok && p.matrixFree {
		if c, ok := p.vector(); ok {
			s.points = p
			s.cost = cpu.Cost[float32]{Square: float32(c.Square), Abs: float32(c.Abs)}
			s.roundPoints(c)
		}
	}
	return s
}

// DenseFloat32 is the geometry of a given n×m matrix, row after row, which is read, not copied.
func DenseFloat32(n, m int, cost []float32) *Single {
	if n < 1 || m < 1 || len(cost) != n*m {
		return &Single{invalid: bad(ErrShape, "DenseFloat32: %d costs for %d×%d: must be as many", len(cost), n, m)}
	}
	return &Single{n: n, m: m, held: cost}
}

// roundPoints fills x and yt: points less the middle of the targets, which changes no cost, and is what float32 needs
// where clouds lie far from the origin.
func (s *Single) roundPoints(c cpu.Cost[float64]) {
	p := s.points
	s.x, s.yt = make([]float32, p.n*p.d), make([]float32, p.d*p.m)
	var side float64 // the largest distance that any coordinate can be apart
	for k := range p.d {
		y := p.yt[k*p.m : (k+1)*p.m]
		lo, hi := -kern.Max(negated(y)), kern.Max(y)
		mid := lo + (hi-lo)/2
		far := hi - mid
		for i := range p.n {
			v := p.x.At(i, k) - mid
			s.x[i*p.d+k] = float32(v)
			far = max(far, math.Abs(v))
		}
		for j, v := range y {
			s.yt[k*p.m+j] = float32(v - mid)
		}
		side = max(side, far+(hi-mid))
	}
	s.reach = float64(p.d) * side * (math.Abs(c.Square)*side + math.Abs(c.Abs))
}

func negated(v []float64) []float64 {
	out := make([]float64, len(v))
	kern.Scale(out, -1, v)
	return out
}

func (s *Single) validate() error {
	if s == nil {
		return bad(ErrShape, "geometry is a nil *Single")
	}
	return s.invalid
}

// Dims returns the number of sources and of targets.
func (s *Single) Dims() (n, m int) { return s.n, s.m }

// Row fills buf with the costs of source i: those that are held, or the float64 ones of points.
func (s *Single) Row(i int, buf []float64) []float64 {
	if s.points != nil {
		return s.points.Row(i, buf)
	}
	mixed.Widen(buf[:s.m], s.row(i))
	return buf[:s.m]
}

// cloud is the points that costs are of, nil where there are none.
func (s *Single) cloud() *PointCloud {
	p, _ := s.of.(*PointCloud)
	return p
}

// Frugal is that of the points, where costs are made on the way.
func (s *Single) Frugal() bool { return s.points != nil && s.points.frugal }

// Quick reports whether costs are made on the way.
func (s *Single) Quick() bool { return s.points != nil }

// row returns the costs of source i as they are held.
func (s *Single) row(i int) []float32 {
	s.once.Do(s.hold)
	return s.held[i*s.m : (i+1)*s.m]
}

func (s *Single) hold() {
	if s.held != nil {
		return
	}
	held := make([]float32, s.n*s.m)
	newSweep(s, 0).each(func(w *worker, _ int, r span) {
		for i := r.lo; i < r.hi; i++ {
			var c []float64
			if p, ok := s.of.(*PointCloud); ok {
				c = w.cost
				p.fill(c, i) // Row would hold them
			} else {
				c = s.of.Row(i, w.cost)
			}
			for j, v := range c {
				held[i*s.m+j] = float32(v)
			}
		}
	})
	s.held = held
}

// expRow writes dst[j] = exp(h[j] − c_ij·inv − shift) and returns the sum.
func (s *Single) expRow(dst []float32, i int, h []float32, inv, shift float32) float32 {
	if p := s.points; p != nil {
		return kern32.PointRowExpAt(dst, h, s.x[i*p.d:(i+1)*p.d], s.yt, s.cost, inv, shift)
	}
	return kern32.RowExpAt(dst, h, s.row(i), inv, shift)
}

// expRowTop is expRow with the largest argument for the shift, which it returns.
func (s *Single) expRowTop(dst []float32, i int, h []float32, inv float32) (top, sum float32) {
	if p := s.points; p != nil {
		return kern32.PointRowExp(dst, h, s.x[i*p.d:(i+1)*p.d], s.yt, s.cost, inv)
	}
	return kern32.RowExp(dst, h, s.row(i), inv)
}

const (
	// singleSafe bounds the sums that singlePass accepts: entries of a row under 1e-38 are 0, and these count for
	// nothing as long as they are under 1e-34 of the sum.
	singleSafe = 1e4
	// singleScale bounds ε and the costs, so that both and their quotients are ordinary float32.
	singleScale = 1e15
	// singleWorth is the L1 error down to which float32 must see for singlePass to be worth beginning with.
	singleWorth = stageTol
)

// singleFits reports whether the geometry asks for float32, and there is use in it at s.eps.
func (s *semidual) singleFits() bool {
	g, ok := s.g.(*Single)
	if !ok {
		return false
	}
	s.hMax = max(math.Abs(s.cost.max), math.Abs(s.cost.min)) / s.eps // until there is a better guess
	size := max(g.reach, math.Abs(s.cost.max), math.Abs(s.cost.min))
	return s.eps > 1/singleScale && s.eps < singleScale && size < singleScale && 20*s.singleNoise() < singleWorth
}

// singleNoise is noise for singlePass: arguments β/ε − c/ε are rounded to 2⁻²⁴ of what they are made from.
func (s *semidual) singleNoise() float64 {
	size := max(math.Abs(s.cost.max), math.Abs(s.cost.min))
	if g, ok := s.g.(*Single); ok {
		size = max(size, g.reach)
	}
	return 0x1p-23 * (8 + size/s.eps + s.hMax)
}

// prepareSingle rounds β/ε, less its middle, to float32.
func (s *semidual) prepareSingle(beta []float64) (mid float64) {
	s.prepare(beta)
	if s.h32 == nil {
		s.h32 = make([]float32, s.m)
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for j, v := range s.h {
		if s.b[j] > 0 {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	mid = lo + (hi-lo)/2
	s.hMax = hi - mid
	for j, v := range s.h {
		s.h32[j] = float32(v - mid)
	}
	return mid
}

// evalSingle is evalFull in float32: the exponentials are, what they are added up in is not.
func (s *semidual) evalSingle(beta []float64, relax float64, store bool) float64 {
	s.full = false
	g := s.g.(*Single)
	mid := s.prepareSingle(beta)
	var kernel *storedKernel
	if store {
		kernel = s.newKernel(beta)
	}
	s.columns(func(w *worker, k int, r span, part []float64) {
		if kernel != nil {
			kernel.room(k, (r.hi-r.lo)*s.m)
		} else if w.exp32 == nil {
			w.exp32 = make([]float32, s.m)
		}
		e := w.exp32
		for i := r.lo; i < r.hi; i++ {
			if s.a[i] == 0 {
				s.alpha[i] = math.Inf(-1)
				continue
			}
			if kernel != nil {
				e = kernel.data32[k][(i-r.lo)*s.m : (i-r.lo+1)*s.m]
			}
			sum, shift := s.singleRow(g, e, i, mid)
			ref := s.eps * (shift + mid)
			mass := s.setAlpha(k, i, ref+s.eps*math.Log(sum), relax)
			mixed.Axpy(part, mass/sum, e)
			if kernel != nil {
				kernel.ref[i] = ref
			}
		}
	})
	err := s.rowError() + s.reduce(nil)
	if kernel != nil {
		s.judge(kernel)
	}
	return err
}

// singleRow writes row i of T up to a factor and returns its sum and the shift of its arguments.
func (s *semidual) singleRow(g *Single, dst []float32, i int, mid float64) (sum, shift float64) {
	inv, at := float32(1/s.eps), float32(s.shift[i]-mid)
	var total float32
	if at == at {
		total = g.expRow(dst, i, s.h32, inv, at)
	}
	if !(total > 1/singleSafe && total < singleSafe) {
		at, total = g.expRowTop(dst, i, s.h32, inv)
	}
	sum, shift = float64(total), float64(at)
	s.shift[i] = mid + shift + math.Log(sum)
	return sum, shift
}
