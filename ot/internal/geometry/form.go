package geometry

import (
	"cmp"
	"math"
)

// Form is a cost that has vector kernels,
//
//	Square·|x−y|² + Abs·|x−y|₁,
//
// or a function of |x−y|², of x·y, or of each xₖ−yₖ, summed over k, where one is not nil.
type Form struct {
	Square, Abs              float64
	Radial, Inner, Separable *Function

	// Power > 0 marks the Radial |x−y|^Power, and Angle the Inner 1 − x·y, of points divided by their lengths:
	// other functions are the user's.
	Power float64
	Angle bool
}

// Cosine is 1 − x·y/(|x||y|).
var Cosine = Form{Angle: true, Inner: &Function{Value: func(v []float64) {
	for j, c := range v { // rounding may carry the cosine of parallel vectors past 1
		if c = 1 - c; c < 0 {
			c = 0
		} else if c > 2 {
			c = 2
		}
		v[j] = c
	}
}}}

// PowerOf is |x−y|ᵖ.
func PowerOf(p float64) Form {
	if p == 2 {
		return Form{Square: 1}
	}
	return Form{Power: p, Radial: &Function{
		Value: func(v []float64) {
			if p == 1 {
				kern.Sqrt(v, v)
				return
			}
			for j, s := range v {
				v[j] = math.Pow(s, p/2)
			}
		},
		Slope: func(v []float64) {
			if p == 1 {
				kern.Sqrt(v, v)
			}
			for j, s := range v {
				if v[j] = 0.5 / s; p != 1 {
					v[j] = p / 2 * math.Pow(s, p/2-1)
				}
			}
		},
	}}
}

// Function is a function of a number and its derivative, for many numbers at once.
type Function struct {
	// Value replaces every element of v by the function of it, and Slope by the derivative; nil for none.
	Value, Slope func(v []float64)
}

// users returns the user's function, nil where there is none.
func (f Form) users() *Function {
	if f.Power > 0 || f.Angle {
		return nil
	}
	return cmp.Or(f.Radial, f.Inner, f.Separable)
}

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
	case f.Angle:
		xy, xx, yy := products(x, y)
		if xx == 0 || yy == 0 {
			return 1
		}
		return at(f.Inner.Value, xy/(xx*yy))
	case f.Inner != nil:
		return at(f.Inner.Value, dot(x, y))
	}
	var square, abs float64
	for k, v := range x {
		d := v - y[k]
		if f.Separable != nil {
			abs += at(f.Separable.Value, d)
			continue
		}
		square += f.Square * d * d
		abs += f.Abs * math.Abs(d)
	}
	return square + abs
}

// Grad adds w times the gradients to dx and dy, which may be nil: 0 where a distance or a length is 0.
func (f Form) Grad(dx, dy []float64, w float64, x, y []float64) {
	var byX, byY, across float64 // the gradients of an Inner are byX·x + across·y and byY·y + across·x
	square := 2 * f.Square
	switch {
	case f.Radial != nil:
		if s := (Form{Square: 1}).Cost(x, y); s > 0 {
			square = 2 * at(f.Radial.Slope, s)
		}
	case f.Angle:
		if xy, xx, yy := products(x, y); xx > 0 && yy > 0 {
			across = -1 / (xx * yy)
			byX, byY = -across*xy/(xx*xx), -across*xy/(yy*yy)
		}
	case f.Inner != nil:
		across = at(f.Inner.Slope, dot(x, y))
	}
	for k, v := range x {
		gx, gy := byX*v+across*y[k], byY*y[k]+across*v
		if f.Inner == nil {
			d := v - y[k]
			if gx = square*d + f.Abs*sign(d); f.Separable != nil {
				gx = at(f.Separable.Slope, d)
			}
			gy = -gx
		}
		if dx != nil {
			dx[k] += w * gx
		}
		if dy != nil {
			dy[k] += w * gy
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
