package geometry

import (
	"cmp"
	"math"
)

// Form is a cost that has vector kernels:
//
//	Square·|x−y|² + Abs·|x−y|₁,   or |x−y|^Power where Power > 0,   or 1 − x·y/(|x||y|) where Angle is true,
//
// or a user's function of |x−y|², of x·y, or of each xₖ−yₖ, summed over k, where one is not nil.
type Form struct {
	Square, Abs, Power float64
	Angle              bool

	Radial, Inner, Separable *Function
}

// Function is a function of a number and its derivative, for many numbers at once.
type Function struct {
	// Value replaces every element of v by the function of it, and Slope by the derivative; nil for none.
	Value, Slope func(v []float64)
}

// users returns the user's function, nil where there is none.
func (f Form) users() *Function { return cmp.Or(f.Radial, f.Inner, f.Separable) }

// isInner reports whether the cost is a function of x·y, and isRadial whether it is one of |x−y|².
func (f Form) isInner() bool  { return f.Inner != nil || f.Angle }
func (f Form) isRadial() bool { return f.Radial != nil || f.Power > 0 || f.Square != 0 && f.Abs == 0 }

// Differentiable reports whether the form has a derivative.
func (f Form) Differentiable() bool { return f.users() == nil || f.users().Slope != nil }

// at returns a function of one number.
func at(f func(v []float64), x float64) float64 {
	v := [1]float64{x}
	f(v[:])
	return v[0]
}

// KernelCost is a point cost that has a form; other costs are called for every pair.
type KernelCost interface {
	PointCost
	Form() Form
}

// Cost returns the cost between two points.
func (f Form) Cost(x, y []float64) float64 {
	switch {
	case f.Radial != nil:
		return at(f.Radial.Value, Form{Square: 1}.Cost(x, y))
	case f.Inner != nil:
		return at(f.Inner.Value, dot(x, y))
	case f.Separable != nil:
		var sum float64
		for k, v := range x {
			sum += at(f.Separable.Value, v-y[k])
		}
		return sum
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
	if f.Inner != nil {
		slope := w * at(f.Inner.Slope, dot(x, y))
		if dx != nil {
			axpy(dx, y, slope)
		}
		if dy != nil {
			axpy(dy, x, slope)
		}
		return
	}
	square := 2 * f.Square
	if s := (Form{Square: 1}).Cost(x, y); f.Radial != nil && s > 0 {
		square = 2 * at(f.Radial.Slope, s)
	}
	if r := distance(x, y); f.Power > 0 && r > 0 {
		square = f.Power * math.Pow(r, f.Power-2)
	}
	for k, v := range x {
		d := v - y[k]
		by := w * (square*d + f.Abs*sign(d))
		if f.Separable != nil {
			by = w * at(f.Separable.Slope, d)
		}
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
	if k, ok := c.(KernelCost); ok && k.Form().Separable == nil {
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
