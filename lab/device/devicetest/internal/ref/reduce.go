package ref

import (
	"math"

	"coupling/lab/device"
)

// Reduce reduces x, of a shape, over the axes where to has size 1.
func Reduce(to, shape []int, x []float64, f device.Reduction) Result {
	groups := make([][]float64, Len(to))
	Each(shape, to, func(flat, at int) { groups[at] = append(groups[at], x[flat]) })
	r := NewResult(len(groups))
	for i, g := range groups {
		r.Value[i], r.Scale[i] = ReduceAll(g, f)
	}
	return r
}

// ReduceAll reduces one set of numbers.
func ReduceAll(x []float64, f device.Reduction) (value, scale float64) {
	switch f {
	case device.Sum, device.Mean, device.SumSquares:
		return reduceSum(x, f)
	case device.Norm:
		v := norm(x)
		return v, v
	case device.Largest:
		top := math.Inf(-1)
		for _, v := range x {
			top = max(top, v)
		}
		return top, 0
	}
	v, top := lse(x)
	return v, 1 + math.Abs(v) + math.Abs(top)
}

func reduceSum(x []float64, f device.Reduction) (value, scale float64) {
	var s Sum
	for _, v := range x {
		if f == device.SumSquares {
			s.AddProduct(v, v)
		} else {
			s.Add(v)
		}
	}
	if f == device.Mean {
		return s.Value() / float64(len(x)), s.Size() / float64(len(x))
	}
	return s.Value(), s.Size()
}

// norm is √Σ x², scaled by the largest power of two.
func norm(x []float64) float64 {
	top := 0.0
	for _, v := range x {
		top = max(top, math.Abs(v))
	}
	if top == 0 || math.IsInf(top, 0) || math.IsNaN(top) {
		return top
	}
	_, e := math.Frexp(top)
	var s Sum
	for _, v := range x {
		w := math.Ldexp(v, -e)
		s.AddProduct(w, w)
	}
	return math.Ldexp(math.Sqrt(s.Value()), e)
}

// lse is log Σ eˣ, and the largest x.
func lse(x []float64) (value, top float64) {
	top = math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	if math.IsInf(top, 0) || math.IsNaN(top) {
		return top, top
	}
	var s Sum
	for _, v := range x {
		s.Add(math.Exp(v - top))
	}
	return top + math.Log(s.Value()), top
}

// ReduceDot is Σ x·y over the axes where to has size 1.
func ReduceDot(to, shape []int, x, y []float64) Result {
	sums := make([]Sum, Len(to))
	Each(shape, to, func(flat, at int) { sums[at].AddProduct(x[flat], y[flat]) })
	r := NewResult(len(sums))
	for i := range sums {
		r.set(i, &sums[i])
	}
	return r
}
