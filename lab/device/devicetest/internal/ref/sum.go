package ref

import "math"

// Sum adds numbers with an error of two roundings of the result, and remembers Σ|terms|.
type Sum struct{ s, c, size float64 }

// Add adds v.
func (a *Sum) Add(v float64) {
	a.size += math.Abs(v)
	a.add(v)
}

func (a *Sum) add(v float64) {
	t := a.s + v
	switch {
	case math.IsInf(t, 0) || math.IsNaN(t):
		a.c = 0
	case math.Abs(a.s) >= math.Abs(v):
		a.c += (a.s - t) + v
	default:
		a.c += (v - t) + a.s
	}
	a.s = t
}

// AddProduct adds x·y, unrounded.
func (a *Sum) AddProduct(x, y float64) {
	p := x * y
	a.size += math.Abs(p)
	a.add(p)
	if e := math.FMA(x, y, -p); e != 0 && !math.IsNaN(e) && !math.IsInf(p, 0) {
		a.add(e)
	}
}

// Value is the sum.
func (a *Sum) Value() float64 { return a.s + a.c }

// Size is Σ|terms|.
func (a *Sum) Size() float64 { return a.size }

// Result is the reference of an operation: values, and the size of the terms of each.
type Result struct{ Value, Scale []float64 }

// NewResult returns a result of n zeros.
func NewResult(n int) Result { return Result{make([]float64, n), make([]float64, n)} }

func (r Result) set(i int, s *Sum) { r.Value[i], r.Scale[i] = s.Value(), s.Size() }
