package ref

import (
	"math"

	"coupling/lab/device"
)

// Unary is f(x) with parameter p.
func Unary(f device.Unary, x, p float64) float64 {
	switch f {
	case device.Identity:
		return x
	case device.Neg:
		return -x
	case device.Abs:
		return math.Abs(x)
	case device.Square:
		return x * x
	case device.Sqrt:
		return math.Sqrt(x)
	case device.Rsqrt:
		return 1 / math.Sqrt(x)
	case device.Recip:
		return 1 / x
	case device.Exp:
		return math.Exp(x)
	case device.Log:
		return logOf(x)
	case device.Sin:
		return math.Sin(x)
	case device.Cos:
		return math.Cos(x)
	case device.ReLU:
		return max(x, 0)
	case device.LeakyReLU:
		if x > 0 {
			return x
		}
		return p * x
	case device.ELU:
		if x > 0 {
			return x
		}
		return p * math.Expm1(x)
	case device.Softplus:
		return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
	case device.Tanh:
		return math.Tanh(x)
	case device.Sigmoid:
		return sigmoid(x)
	case device.SiLU:
		return x * sigmoid(x)
	case device.AddConst:
		return x + p
	case device.Clamp:
		return min(max(x, -p), p)
	case device.Step:
		switch {
		case math.IsNaN(x):
			return x
		case x >= p:
			return 1
		}
		return 0
	}
	return math.NaN()
}

// Slope is f'(x), from the left at a kink, and the size of the terms that it is the sum of.
func Slope(f device.Unary, x, p float64) (slope, scale float64) {
	one := func(v float64) (float64, float64) { return v, math.Abs(v) }
	gate := func(open bool, closed float64) (float64, float64) {
		if open {
			return 1, 1
		}
		return one(closed)
	}
	s := sigmoid(x)
	switch f {
	case device.Identity, device.AddConst:
		return 1, 1
	case device.Neg:
		return -1, 1
	case device.Abs:
		return gate(x > 0, -1)
	case device.Square:
		return one(2 * x)
	case device.Sqrt:
		return one(0.5 / math.Sqrt(x))
	case device.Rsqrt:
		return one(-0.5 / (x * math.Sqrt(x)))
	case device.Recip:
		return one(-1 / (x * x))
	case device.Exp:
		return one(math.Exp(x))
	case device.Log:
		return one(1 / x)
	case device.Sin:
		return one(math.Cos(x))
	case device.Cos:
		return one(-math.Sin(x))
	case device.ReLU:
		return gate(x > 0, 0)
	case device.LeakyReLU:
		return gate(x > 0, p)
	case device.ELU: // p·eˣ, which is also y + p
		if x > 0 {
			return 1, 1
		}
		return p * math.Exp(x), math.Abs(p)
	case device.Softplus:
		return one(s)
	case device.Tanh: // 1 − y²
		c := math.Cosh(x)
		return 1 / (c * c), 1
	case device.Sigmoid: // y(1 − y)
		return s * sigmoid(-x), s
	case device.SiLU: // s + x·s(1 − s)
		return s + x*s*sigmoid(-x), s + math.Abs(x)*s
	case device.Clamp:
		return gate(x > -p && x <= p, 0)
	}
	return 0, 0 // Step
}

// logOf is log x; math.Log errs for denormal numbers on amd64.
func logOf(x float64) float64 {
	if frac, exp := math.Frexp(x); exp < -1000 && x > 0 {
		return math.Log(frac) + float64(exp)*math.Ln2
	}
	return math.Log(x)
}

func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// Kinks are the points where f has no derivative.
func Kinks(f device.Unary, p float64) []float64 {
	switch f {
	case device.Abs, device.ReLU, device.LeakyReLU, device.ELU:
		return []float64{0}
	case device.Clamp:
		return []float64{-p, p}
	case device.Step:
		return []float64{p}
	}
	return nil
}
