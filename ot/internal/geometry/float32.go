package geometry

import (
	"math"
	"slices"

	"coupling/lab/device/cpu"
)

// kern32 is kern for float32.
var kern32 cpu.Kernels[float32]

// Rounded is a cloud of points in float32.
type Rounded struct {
	d     int
	x, yt []float32 // the points less their middle, n×d and d×m
	cost  cpu.Cost[float32]
	Reach float64 // a bound on those costs
}

// MaxStored is the number of float32 (64 MiB) that solvers may store for a frugal geometry: reading
// half as many bytes is still faster.
const MaxStored = 1 << 24

// Float32 returns the points in float32 where passes that compute costs from them are the fastest,
// that is, where the cost has a vector kernel and n·m exceeds MaxStored; else nil.
func (p *Cloud) Float32() *Rounded {
	if !p.frugal || p.n <= MaxStored/p.m {
		return nil
	}
	return p.Round()
}

// Round returns the points less the middle of the targets in float32, nil where the cost has no
// vector kernel. The shift changes no cost and keeps precision where clouds lie far from the origin.
func (p *Cloud) Round() *Rounded {
	c, ok := p.Vector()
	if !ok {
		return nil
	}
	p.roundOnce.Do(func() {
		x, y, reach := p.Centred()
		s := &Rounded{d: p.d, cost: cpu.Cost[float32]{Square: float32(c.Square), Abs: float32(c.Abs)}, Reach: reach}
		s.x, s.yt = make([]float32, p.n*p.d), make([]float32, p.d*p.m)
		for i, v := range x {
			s.x[i] = float32(v)
		}
		for j, v := range y {
			s.yt[j%p.d*p.m+j/p.d] = float32(v)
		}
		p.rounded = s
	})
	return p.rounded
}

// Centred returns the points, n×d and m×d, less the middle of the targets, and a bound on their
// costs, which must have a vector kernel.
func (p *Cloud) Centred() (x, y []float64, reach float64) {
	c, _ := p.Vector()
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
	return x, y, float64(p.d) * side * (math.Abs(c.Square)*side + math.Abs(c.Abs))
}

// ExpRow writes dst[j] = exp(h[j] − c_ij·inv − shift) and returns the sum.
func (s *Rounded) ExpRow(dst []float32, i int, h []float32, inv, shift float32) float32 {
	return kern32.PointRowExpAt(dst, h, s.x[i*s.d:(i+1)*s.d], s.yt, s.cost, inv, shift)
}

// ExpRowTop is ExpRow with the largest argument as the shift, which it returns.
func (s *Rounded) ExpRowTop(dst []float32, i int, h []float32, inv float32) (top, sum float32) {
	return kern32.PointRowExp(dst, h, s.x[i*s.d:(i+1)*s.d], s.yt, s.cost, inv)
}
