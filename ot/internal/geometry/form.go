package geometry

import "math"

// Form is a cost that has vector kernels:
//
//	Square·|x−y|² + Abs·|x−y|₁,   or |x−y|^Power where Power > 0,   or 1 − x·y/(|x||y|) where Angle is true.
type Form struct {
	Square, Abs, Power float64
	Angle              bool
}

// KernelCost is a point cost that has a form, which is symmetric; other costs are called for every
// pair.
type KernelCost interface {
	PointCost
	Form() Form
}

// Cost returns the cost between two points.
func (f Form) Cost(x, y []float64) float64 {
	switch {
	case f.Angle:
		xy, xx, yy := products(x, y)
		if xx == 0 || yy == 0 {
			return 1
		}
		// Rounding may carry the cosine of parallel vectors past 1.
		return 1 - max(-1, min(1, xy/(xx*yy)))
	case f.Power > 0:
		return math.Pow(distance(x, y), f.Power)
	}
	var square, abs float64
	for k, v := range x {
		d := v - y[k]
		square += f.Square * d * d
		abs += math.Abs(d)
	}
	return square + f.Abs*abs
}

// Grad adds w times the gradients to dx and dy, which may be nil: 0 where a distance or a length is 0.
func (f Form) Grad(dx, dy []float64, w float64, x, y []float64) {
	if f.Angle {
		gradCosine(dx, dy, w, x, y)
		return
	}
	square := 2 * f.Square
	if r := distance(x, y); f.Power > 0 && r > 0 {
		square = f.Power * math.Pow(r, f.Power-2)
	}
	for k, v := range x {
		d := v - y[k]
		by := w * (square*d + f.Abs*sign(d))
		if dx != nil {
			dx[k] += by
		}
		if dy != nil {
			dy[k] -= by
		}
	}
}

func gradCosine(dx, dy []float64, w float64, x, y []float64) {
	xy, xx, yy := products(x, y)
	if xx == 0 || yy == 0 {
		return
	}
	inv, cos := 1/(xx*yy), xy/(xx*yy)
	for k := range x {
		if dx != nil {
			dx[k] += w * (cos*x[k]/(xx*xx) - y[k]*inv)
		}
		if dy != nil {
			dy[k] += w * (cos*y[k]/(yy*yy) - x[k]*inv)
		}
	}
}

// products returns x·y, |x| and |y|.
func products(x, y []float64) (xy, nx, ny float64) {
	for k, v := range x {
		xy += v * y[k]
		nx += v * v
		ny += y[k] * y[k]
	}
	return xy, math.Sqrt(nx), math.Sqrt(ny)
}

func distance(x, y []float64) float64 {
	var s float64
	for k, v := range x {
		d := v - y[k]
		s += d * d
	}
	return math.Sqrt(s)
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// Reversed returns the cost c(y, x).
func Reversed(c PointCost) PointCost {
	if _, symmetric := c.(KernelCost); symmetric {
		return c
	}
	return Reverse{c}
}

// Reverse is the cost c(y, x).
type Reverse struct{ Of PointCost }

// Cost returns c(y, x).
func (r Reverse) Cost(x, y []float64) float64 { return r.Of.Cost(y, x) }

// Grad adds the gradients of c(y, x).
func (r Reverse) Grad(dx, dy []float64, w float64, x, y []float64) { r.Of.Grad(dy, dx, w, y, x) }
