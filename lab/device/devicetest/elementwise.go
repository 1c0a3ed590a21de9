package devicetest

import (
	"fmt"
	"math"
	"slices"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

func elementwise() []scenario {
	return []scenario{
		{"Fill", fill},
		{"Map", maps},
		{"MapVJP", mapVJPs},
		{"Broadcast", broadcasts},
		{"Combine extremes", combineExtremes},
		{"Axpby", axpby},
	}
}

// unaryNames are the functions of Map, by number.
var unaryNames = [...]string{
	device.Identity: "Identity", device.Neg: "Neg", device.Abs: "Abs", device.Square: "Square", device.Sqrt: "Sqrt",
	device.Rsqrt: "Rsqrt", device.Recip: "Recip", device.Exp: "Exp", device.Log: "Log", device.Sin: "Sin",
	device.Cos: "Cos", device.ReLU: "ReLU", device.LeakyReLU: "LeakyReLU", device.ELU: "ELU",
	device.Softplus: "Softplus", device.Tanh: "Tanh", device.Sigmoid: "Sigmoid", device.SiLU: "SiLU",
	device.AddConst: "AddConst", device.Clamp: "Clamp", device.Step: "Step",
}

// unaries calls f for every function, with parameters that matter to it.
func unaries(f func(what string, u device.Unary, p float64)) {
	for i, name := range unaryNames {
		switch u := device.Unary(i); u {
		case device.LeakyReLU, device.ELU, device.Clamp, device.Step, device.AddConst:
			f(name+" 0.25", u, 0.25)
			f(name+" 1.5", u, 1.5)
		default:
			f(name, u, 0)
		}
	}
}

func fill(k *kit) {
	for _, v := range []float64{0, 1.0 / 3, -1e30, k.least(), math.Inf(1), math.NaN()} {
		for _, n := range []int{0, 1, 33, 256, 1025} {
			a := k.dst(n)
			device.Fill(a, v)
			k.exact(fmt.Sprintf("Fill %v", v), a, repeated(v, n))
		}
	}
	z := k.dev.Zeros(k.dtype, 3, 7)
	k.exact("Zeros", z, make([]float64, 21))
	for _, n := range []int{7, 256} {
		i := k.place(device.Int32, []int{n})
		device.Fill(i, -3)
		k.exact("Fill int32", i, repeated(-3, n))
	}
}

func repeated(v float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}

// extremes are numbers that arithmetic trips over.
func (k *kit) extremes() []float64 {
	x := []float64{
		0, math.Copysign(0, -1), 1, -1, k.least(), -k.least(), k.normal(), -k.normal(), 3 * k.normal() / 4,
		1e30, -1e30, 1e-30, -1e-30, k.most(), -k.most(), 88, -87, -103, 100, -745, 17, -17, 1e4, -1e4,
		math.Inf(1), math.Inf(-1), math.NaN(),
	}
	return k.rounded(x)
}

// maps takes every function at extremes, at its kinks and at numbers of three sizes, also in place. An elementary
// function may err by 4 units in the last place; the composed ones, SiLU and softplus, have two of them.
func maps(k *kit) {
	unaries(func(what string, f device.Unary, p float64) {
		x := append(k.extremes(), ref.Kinks(f, p)...)
		for _, sigma := range []float64{1e-3, 1, 12} {
			x = append(x, k.normals(67, sigma)...)
		}
		if f == device.Step { // of NaN it is 0 or NaN
			x = slices.DeleteFunc(x, math.IsNaN)
		}
		want := func() ref.Result {
			r := mapped(f, x, p)
			for i, v := range x {
				if (f == device.Sin || f == device.Cos) && math.Abs(v) > 1e5 && !math.IsInf(v, 0) {
					r.Scale[i] = 1 // next to a multiple of π that large, the library's own digits run out
				}
				if f == device.SiLU && math.IsInf(v, -1) {
					r.Value[i] = 0 // the limit, not −Inf·0
				}
			}
			return r
		}
		dst, src := k.dst(len(x)), k.put(x, len(x))
		device.Map(dst, src, f, p)
		k.near(what, dst, 8, want)
		device.Map(src, src, f, p)
		k.near(what+" in place", src, 8, want)
	})
	for _, n := range []int{0, 1, 2, 3, 7, 31, 33, 127, 129, 257, 4099} {
		x := k.normals(n, 3)
		dst := k.dst(n)
		device.Map(dst, k.put(x, n), device.Exp, 0)
		k.near(fmt.Sprintf("Exp of %d", n), dst, 8, func() ref.Result { return mapped(device.Exp, x, 0) })
	}
}

func mapped(f device.Unary, x []float64, p float64) ref.Result {
	r := ref.NewResult(len(x))
	for i, v := range x {
		r.Value[i] = ref.Unary(f, v, p)
		r.Scale[i] = math.Abs(r.Value[i])
	}
	return r
}

// sloped is f'(x)·dy.
func sloped(f device.Unary, x []float64, p float64, dy []float64) ref.Result {
	r := ref.NewResult(len(x))
	for i, v := range x {
		slope, scale := ref.Slope(f, v, p)
		r.Value[i], r.Scale[i] = slope*dy[i], scale*math.Abs(dy[i])
	}
	return r
}

// domain is arguments at which f and its derivative are finite numbers, kinks among them.
func (k *kit) domain(f device.Unary, p float64, n int) []float64 {
	x := k.normals(n, 3)
	for i, v := range x {
		switch f {
		case device.Sqrt, device.Rsqrt, device.Log:
			x[i] = k.round(math.Abs(v) + 0.01)
		case device.Recip:
			x[i] = k.round(v + math.Copysign(0.01, v))
		}
	}
	return append(x, ref.Kinks(f, p)...)
}

// mapVJPs compares f'(x)·dy with its formula, which package ref holds to finite differences, in place too. 12: y is
// rounded and enters cubed, f' has up to four operations and an elementary function.
func mapVJPs(k *kit) {
	unaries(func(what string, f device.Unary, p float64) {
		x := k.domain(f, p, 129)
		if f != device.Sqrt && f != device.Rsqrt && f != device.Log && f != device.Recip {
			x = append(x, 50, -50, 80, -80, 1e4, -1e4)
			if f == device.Exp {
				x = x[:len(x)-2]
			}
		}
		n := len(x)
		y := k.rounded(mapped(f, x, p).Value)
		dy := k.normals(n, 1)
		want := func() ref.Result { return sloped(f, x, p, dy) }
		dx, ax, ay, ady := k.dst(n), k.put(x, n), k.put(y, n), k.put(dy, n)
		device.MapVJP(dx, ax, ay, ady, f, p)
		k.near(what, dx, 12, want)
		device.MapVJP(ady, ax, ay, ady, f, p)
		k.near(what+" in place", ady, 12, want)
	})
}

// binary is an operation of two arguments and what it does to numbers.
type binary struct {
	name string
	do   func(dst, a, b *device.Array)
	of   func(a, b float64) float64
}

var binaries = [...]binary{
	{"Add", device.Add, func(a, b float64) float64 { return a + b }},
	{"Sub", device.Sub, func(a, b float64) float64 { return a - b }},
	{"Mul", device.Mul, func(a, b float64) float64 { return a * b }},
	{"Div", device.Div, func(a, b float64) float64 { return a / b }},
	{"Max", device.Max, func(a, b float64) float64 { return max(a, b) }},
	{"Min", device.Min, func(a, b float64) float64 { return min(a, b) }},
}

// broadcasts squashes every subset of the axes of either argument, for every rank, and works in place. Single
// operations of IEEE 754 are exact: float64 has more than twice the digits of float32, so that rounding twice is
// rounding once.
func broadcasts(k *kit) {
	for rank := range 7 {
		subsets := 1 << rank
		for subset := range subsets {
			if rank > 3 && k.rng.IntN(subsets) >= 8 {
				continue
			}
			op := binaries[(subset+rank)%len(binaries)]
			shape := k.shape(rank, 1500)
			sa, sb := squash(shape, subset), squash(shape, k.rng.IntN(subsets))
			if subset%2 == 1 {
				sa, sb = sb, sa
			}
			k.combine(op, shape, sa, sb)
		}
	}
	for _, op := range binaries { // plain and by rows and columns, at sizes around vectors
		for _, n := range []int{1, 7, 33, 257} {
			k.combine(op, []int{n}, []int{n}, []int{n})
			k.combine(op, []int{3, n}, []int{3, n}, []int{1, n})
			k.combine(op, []int{n, 3}, []int{n, 1}, []int{n, 3})
			k.combine(op, []int{2, 3, n}, []int{2, 3, n}, []int{1, 3, 1})
			k.combine(op, []int{5, n}, []int{1, 1}, []int{5, 1})
		}
	}
}

func squash(shape []int, axes int) []int {
	s := append([]int(nil), shape...)
	for i := range s {
		if axes>>i&1 == 1 {
			s[i] = 1
		}
	}
	return s
}

func (k *kit) combine(op binary, shape, sa, sb []int) {
	a, b := k.normals(ref.Len(sa), 2), k.normals(ref.Len(sb), 2)
	want := func() []float64 {
		wa, wb := ref.Spread(shape, sa, a), ref.Spread(shape, sb, b)
		for i := range wa {
			wa[i] = op.of(wa[i], wb[i])
		}
		return wa
	}
	what := fmt.Sprintf("%s %v of %v, %v", op.name, shape, sa, sb)
	dst, aa, ab := k.dst(shape...), k.put(a, sa...), k.put(b, sb...)
	op.do(dst, aa, ab)
	k.exactBy(what, dst, want)
	switch n := ref.Len(shape); {
	case ref.Len(sa) == n && fmt.Sprint(sa) == fmt.Sprint(shape):
		op.do(aa, aa, ab)
		k.exactBy(what+" into the first", aa, want)
	case ref.Len(sb) == n && fmt.Sprint(sb) == fmt.Sprint(shape):
		op.do(ab, aa, ab)
		k.exactBy(what+" into the second", ab, want)
	}
}

// combineExtremes takes every pair of extremes: denormals, overflow, signed zeros apart, NaN through each.
func combineExtremes(k *kit) {
	x := k.extremes()
	n := len(x)
	for _, op := range binaries {
		dst := k.dst(n, n)
		op.do(dst, k.put(x, n, 1), k.put(x, 1, n))
		k.exactBy(op.name, dst, func() []float64 {
			var all []float64
			for _, a := range x {
				for _, b := range x {
					all = append(all, op.of(a, b))
				}
			}
			return all
		})
	}
}

// axpby has two products and a sum: three roundings of its terms, or two where it is fused.
func axpby(k *kit) {
	for _, n := range []int{0, 1, 2, 3, 31, 129, 1025} {
		x, y := k.normals(n, 1), k.normals(n, 1e3)
		a, b := k.scaled(-2, 2), k.scaled(-2, 2)
		want := func(x, y []float64, b float64) func() ref.Result {
			return func() ref.Result {
				r := ref.NewResult(n)
				for i := range x {
					r.Value[i], r.Scale[i] = a*x[i]+b*y[i], math.Abs(a*x[i])+math.Abs(b*y[i])
				}
				return r
			}
		}
		dst, ax, ay := k.dst(n), k.put(x, n), k.put(y, n)
		device.Axpby(dst, a, ax, b, ay)
		k.near("Axpby", dst, 3, want(x, y, b))
		device.Axpby(dst, a, ax, b, ax)
		k.near("Axpby twice the same", dst, 3, want(x, x, b))
		device.Axpby(ay, a, ax, b, ay)
		k.near("Axpby into y", ay, 3, want(x, y, b))
		device.Axpby(ax, a, ax, 0, k.put(repeated(math.NaN(), n), n))
		k.near("Axpby into x over NaN, beta = 0", ax, 3, want(x, x, 0))
	}
	x := []float64{k.least(), -k.normal(), k.most(), math.Inf(-1), math.NaN(), 3}
	dst := k.dst(len(x))
	device.Scale(dst, -0.5, k.put(x, len(x)))
	k.exact("Scale", dst,
		[]float64{-0.5 * x[0], -0.5 * x[1], -0.5 * x[2], -0.5 * x[3], x[4], -1.5})
}
