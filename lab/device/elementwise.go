package device

import "coupling/lab/device/internal/backend"

// Unary is an elementwise function of x, some with a parameter p.
type Unary = backend.Unary

// The elementwise functions.
const (
	Identity  = backend.Identity  // x
	Neg       = backend.Neg       // −x
	Abs       = backend.Abs       // |x|
	Square    = backend.Square    // x²
	Sqrt      = backend.Sqrt      // √x
	Rsqrt     = backend.Rsqrt     // 1/√x
	Recip     = backend.Recip     // 1/x
	Exp       = backend.Exp       // eˣ
	Log       = backend.Log       // log x
	Sin       = backend.Sin       // sin x
	Cos       = backend.Cos       // cos x
	ReLU      = backend.ReLU      // max(x, 0)
	LeakyReLU = backend.LeakyReLU // x for x > 0, p·x otherwise
	ELU       = backend.ELU       // x for x > 0, p(eˣ − 1) otherwise
	Softplus  = backend.Softplus  // log(1 + eˣ)
	Tanh      = backend.Tanh      // tanh x
	Sigmoid   = backend.Sigmoid   // 1/(1 + e^−x)
	SiLU      = backend.SiLU      // x/(1 + e^−x)
	AddConst  = backend.AddConst  // x + p
	Clamp     = backend.Clamp     // min(max(x, −p), p)
	Step      = backend.Step      // 1 for x ≥ p, 0 otherwise
)

// Binary is an elementwise function of two arguments.
type Binary = backend.Binary

// Fill sets every element.
func Fill(dst *Array, value float64) {
	check("Fill", dst).do(func() { dst.ops().Fill(dst.t, value) })
}

// Map is dst = f(x) with parameter p; dst may be x. NaN passes through every function but Step, where it may become 0.
func Map(dst, x *Array, f Unary, p float64) {
	c := check("Map", dst).float(x).like(x).over(x)
	if f >= backend.NumUnary {
		c.fail("f = %d: no such function", f)
	}
	c.do(func() { dst.ops().Map(dst.t, x.t, f, p) })
}

// MapVJP is dx = f'(x)·dy, where y = f(x); dx may be an argument. At a kink the derivative is the one from the left.
func MapVJP(dx, x, y, dy *Array, f Unary, p float64) {
	c := check("MapVJP", dx).float(x, y, dy).like(x, y, dy).over(x, y, dy)
	if f >= backend.NumUnary {
		c.fail("f = %d: no such function", f)
	}
	c.do(func() { dx.ops().MapVJP(dx.t, x.t, y.t, dy.t, f, p) })
}

// Add is dst = a + b. Like the others of its kind it broadcasts: a and b have dst's rank, each size dst's or 1. dst may
// be an argument of its own shape.
func Add(dst, a, b *Array) { combine("Add", dst, a, b, backend.Add) }

// Sub is dst = a − b.
func Sub(dst, a, b *Array) { combine("Sub", dst, a, b, backend.Sub) }

// Mul is dst = a·b, elementwise.
func Mul(dst, a, b *Array) { combine("Mul", dst, a, b, backend.Mul) }

// Div is dst = a/b.
func Div(dst, a, b *Array) { combine("Div", dst, a, b, backend.Div) }

// Max is the larger of a and b; NaN if either is.
func Max(dst, a, b *Array) { combine("Max", dst, a, b, backend.Max) }

// Min is the smaller of a and b; NaN if either is.
func Min(dst, a, b *Array) { combine("Min", dst, a, b, backend.Min) }

func combine(op string, dst, a, b *Array, f Binary) {
	check(op, dst).float(a, b).spread(dst, a, b).over(a, b).
		do(func() { dst.ops().Combine(dst.t, a.t, b.t, f) })
}

// Axpby is dst = alpha·x + beta·y; dst may be x or y. With beta = 0 the contents of y do not matter.
func Axpby(dst *Array, alpha float64, x *Array, beta float64, y *Array) {
	check("Axpby", dst).float(x, y).like(x, y).over(x, y).
		do(func() { dst.ops().Axpby(dst.t, alpha, x.t, beta, y.t) })
}

// Scale is dst = alpha·x.
func Scale(dst *Array, alpha float64, x *Array) { Axpby(dst, alpha, x, 0, x) }
