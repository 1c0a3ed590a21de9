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
	form  Form
	x, yt []float32 // the points less their middle, of length 1 for Angle, n×d and d×m
	cost  cpu.Cost[float32]
	Reach float64 // a bound on those costs
}

// MaxStored is the number of float32 (64 MiB) that solvers may store for a frugal geometry: reading
// half as many bytes is still faster.
const MaxStored = 1 << 24

// Float32 returns the points in float32 where passes that compute costs from them are the fastest,
// that is, where the cost has a form and n·m exceeds MaxStored; else nil.
func (p *Cloud) Float32() *Rounded {
	if !p.frugal || p.n <= MaxStored/p.m {
		return nil
	}
	return p.Round()
}

// Round returns the points less the middle of the targets in float32, nil where the cost has no
// form with a vector kernel. The shift changes no cost and keeps precision where clouds lie far from the origin.
func (p *Cloud) Round() *Rounded {
	s := &Rounded{d: p.d, form: p.form(), Reach: 1}
	c, vector := p.Vector()
	if s.form.Power == 1 {
		c.Square = 1
	} else if !vector && !s.form.Angle {
		return nil
	}
	p.roundOnce.Do(func() {
		s.cost = cpu.Cost[float32]{Square: float32(c.Square), Abs: float32(c.Abs)}
		s.x, s.yt = make([]float32, p.n*p.d), make([]float32, p.d*p.m)
		if p.rounded = s; s.form.Angle {
			round(s.x, p.from.RawMatrix().Data)
			round(s.yt, p.yt)
			return
		}
		x, y, reach := p.Centred()
		s.Reach = reach
		round(s.x, x)
		for j, v := range y {
			s.yt[j%p.d*p.m+j/p.d] = float32(v)
		}
	})
	return p.rounded
}

// round writes as much of x as goes into dst.
func round(dst []float32, x []float64) {
	for k := range dst {
		dst[k] = float32(x[k])
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

// ExpRow writes dst[j] = exp(h[j] − c_ij·inv − shift) and returns the sum. costs is scratch, of length m.
func (s *Rounded) ExpRow(dst, costs []float32, i int, h []float32, inv, shift float32) float32 {
	if s.form.Angle || s.form.Power == 1 {
		return kern32.RowExpAt(dst, h, s.costs(costs, i), inv, shift)
	}
	return kern32.PointRowExpAt(dst, h, s.row(i), s.yt, s.cost, inv, shift)
}

// ExpRowTop is ExpRow with the largest argument as the shift, which it returns.
func (s *Rounded) ExpRowTop(dst, costs []float32, i int, h []float32, inv float32) (top, sum float32) {
	return kern32.RowExp(dst, h, s.costs(costs, i), inv)
}

// row returns source i.
func (s *Rounded) row(i int) []float32 { return s.x[i*s.d : (i+1)*s.d] }

// costs writes the costs of source i.
func (s *Rounded) costs(dst []float32, i int) []float32 {
	if s.form.Angle {
		clear(dst)
		kern32.GemvT(dst, s.yt, len(dst), s.row(i))
		for j, v := range dst {
			dst[j] = 1 - v
		}
		return dst
	}
	if kern32.PointCosts(dst, s.row(i), s.yt, s.cost); s.form.Power == 1 {
		kern32.Sqrt(dst, dst)
	}
	return dst
}
