package devicetest

import (
	"fmt"
	"math"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

func normalisations() []scenario {
	return []scenario{{"Affine", affine}, {"Moments", moments}, {"Moments VJP", momentsVJP}}
}

// norms are the normalisations of networks: batch, instance, layer, group, and one for all; and longer than a chunk.
var norms = [...][2][]int{
	{{3, 5, 4, 7}, {1, 5, 1, 1}},
	{{3, 5, 4, 7}, {3, 5, 1, 1}},
	{{9, 33}, {9, 1}},
	{{9, 33}, {1, 33}},
	{{2, 3, 129}, {2, 3, 1}},
	{{7, 31}, {1, 1}},
	{{7, 31}, {7, 31}},
	{{0, 31}, {1, 31}},
	{{2, 2, 20011}, {1, 2, 1}},
	{{5003, 7}, {1, 7}},
}

// eighths is n multiples of 1/8, whose sums and products with powers of two are exact: no device
// lands on the other side of a kink.
func (k *kit) eighths(n int) []float64 {
	x := k.normals(n, 12)
	for i, v := range x {
		x[i] = math.Round(v) / 8
	}
	return x
}

// affine compares f(scale·(x − center) + shift) and its derivative with their formulas, in place
// too and with parts that are absent.
func affine(k *kit) {
	unaries(func(_ string, f device.Unary, p float64) { // far arguments
		k.bend([]int{9, 33}, []int{9, 1}, 0, f, p, k.far(f, 9*33))
		k.bend([]int{33, 9}, []int{1, 9}, 0, f, p, k.far(f, 9*33))
	})
	functions := []struct {
		f device.Unary
		p float64
	}{
		{device.Identity, 0}, {device.ReLU, 0}, {device.LeakyReLU, .25}, {device.ELU, 1}, {device.SiLU, 0},
		{device.Softplus, 0},
		{device.Tanh, 0}, {device.Sigmoid, 0}, {device.AddConst, .5},
	}
	for i, s := range norms {
		for parts := range 8 {
			if testing.Short() && ref.Len(s[0]) > 1<<14 && parts%7 != 0 { // of long ones none and all
				continue
			}
			f := functions[(i+parts)%len(functions)]
			k.affine(s[0], s[1], parts, f.f, f.p)
		}
	}
	for _, f := range functions {
		k.affine([]int{3, 5, 4, 7}, []int{3, 5, 1, 1}, 7, f.f, f.p)
	}
	k.affine([]int{512, 32}, []int{1, 32}, 7, device.ReLU, 0) // in eight parts
}

// far are multiples of 1/8 to 72 either side of 0, where results are normal numbers, and two at which e^x is Inf or 0.
func (k *kit) far(f device.Unary, n int) []float64 {
	x := k.uniforms(n, -576, 576)
	x[5], x[17] = 8000, -8000
	for i, v := range x {
		switch f {
		case device.Sqrt, device.Rsqrt, device.Log, device.Recip:
			v = 1 + math.Abs(v)
		}
		x[i] = math.Round(v) / 8
	}
	return x
}

func (k *kit) affine(shape, small []int, parts int, f device.Unary, p float64) {
	k.bend(shape, small, parts, f, p, k.eighths(ref.Len(shape)))
}

// bend is affine at the given arguments. An elementary function may err by 4 units in the last place (maps).
func (k *kit) bend(shape, small []int, parts int, f device.Unary, p float64, x []float64) {
	n, m := ref.Len(shape), ref.Len(small)
	dy, z := k.normals(n, 1), make([]float64, n)
	if n > 10_000 { // long sums are larger than what their rounding allows for
		for i, v := range x {
			dy[i] = math.Abs(dy[i]) * (1 + math.Copysign(.5, v))
		}
	}
	scale, center, shift := repeated(1, m), repeated(0, m), repeated(0, m)
	a := device.Affine{Func: f, P: p}
	if parts&1 != 0 {
		for i := range scale {
			scale[i] = []float64{1, -2, .5, 4}[k.rng.IntN(4)]
		}
		a.Scale = k.put(scale, small...)
	}
	if parts&2 != 0 {
		center = k.eighths(m)
		a.Center = k.put(center, small...)
	}
	if parts&4 != 0 {
		shift = k.eighths(m)
		a.Shift = k.put(shift, small...)
	}
	ws, wc, wb := ref.Spread(shape, small, scale), ref.Spread(shape, small, center), ref.Spread(shape, small, shift)
	for i, v := range x {
		z[i] = ws[i]*(v-wc[i]) + wb[i]
	}
	value := mapped(f, z, p)
	slopes := func() ref.Result { return sloped(f, z, p, dy) }
	what := fmt.Sprintf("Affine %v by %v, function %d, parts %d", shape, small, f, parts)
	y, ax, ady := k.dst(shape...), k.put(x, shape...), k.put(dy, shape...)
	a.Apply(y, ax)
	k.nearTo(what, y, 8, value)
	ay := k.put(k.rounded(mapped(f, z, p).Value), shape...)
	dz, sum, along := k.dst(shape...), k.dst(small...), k.dst(small...)
	a.VJP(dz, sum, along, ax, ay, ady)
	k.near(what+", VJP", dz, 12, slopes)
	count := n / max(1, m)
	k.near(what+", sum", sum, 12+sums(count),
		func() ref.Result { return summed(small, shape, slopes(), repeated(1, n), repeated(1, n)) })
	k.near(what+", along", along, 12+sums(count), func() ref.Result {
		d, size := make([]float64, n), make([]float64, n)
		for i, v := range x {
			d[i], size[i] = v-wc[i], math.Abs(v)+math.Abs(wc[i])
		}
		return summed(small, shape, slopes(), d, size)
	})
	a.VJP(ady, sum, nil, ax, ay, ady)
	k.near(what+", VJP in place", ady, 12, slopes)
	a.Apply(ax, ax)
	k.nearTo(what+" in place", ax, 8, value)
}

// summed is Σ r·by over the axes where to has size 1, whose terms have the size r.Scale·size.
func summed(to, shape []int, r ref.Result, by, size []float64) ref.Result {
	sums, out := make([]ref.Sum, ref.Len(to)), ref.NewResult(ref.Len(to))
	ref.Each(shape, to, func(flat, at int) {
		sums[at].AddProduct(r.Value[flat], by[flat])
		out.Scale[at] += r.Scale[flat] * size[flat]
	})
	for i := range sums {
		out.Value[i] = sums[i].Value()
	}
	return out
}

// moments has means that are a thousand deviations away from 0, at which float32 loses all of a variance that is the
// difference of two means. float64 rounds deviations like the mean.
func moments(k *kit) {
	for i, s := range norms {
		shape, small, lost, eps := s[0], s[1], i%2, k.round(1e-5)
		n, m := ref.Len(shape), ref.Len(small)
		count := n / max(1, m)
		if count == 0 || count == lost {
			continue
		}
		x := k.normals(n, 1)
		for i, v := range ref.Spread(shape, small, k.normals(m, 1000)) {
			x[i] = k.round(x[i] + v)
		}
		x[0] = 0 // deviations are taken from the first element
		mean := ref.Reduce(small, shape, x, device.Mean)
		variance, rstd := ref.NewResult(m), ref.NewResult(m)
		sums := make([]ref.Sum, m)
		ref.Each(shape, small, func(flat, at int) {
			d := x[flat] - mean.Value[at]
			sums[at].AddProduct(d, d)
		})
		for i := range sums {
			v := sums[i].Value() / float64(count-lost)
			variance.Value[i], variance.Scale[i] = v, v
			if k.dtype == device.Float64 {
				variance.Scale[i] += math.Sqrt(v) * math.Abs(mean.Value[i])
			}
			rstd.Value[i] = 1 / math.Sqrt(v+eps)
			rstd.Scale[i] = rstd.Value[i] * (1 + variance.Scale[i]/(v+eps))
		}
		what := fmt.Sprintf("Moments %v to %v", shape, small)
		am, av, ar := k.dst(small...), k.dst(small...), k.dst(small...)
		device.Moments(am, av, ar, k.put(x, shape...), eps, lost)
		k.nearTo(what+", mean", am, k.sumsOf(count), mean)
		k.nearTo(what+", variance", av, 2+k.sumsOf(count), variance)
		k.nearTo(what+", rstd", ar, 4+k.sumsOf(count), rstd)
	}
}

// momentsVJP has nine operations on three terms and another.
func momentsVJP(k *kit) {
	for i, s := range norms {
		shape, small, lost := s[0], s[1], i%2
		n, m := ref.Len(shape), ref.Len(small)
		count := n / max(1, m)
		dz, x := k.normals(n, 1), k.normals(n, 2)
		v := make([][]float64, 6)
		arrays := make([]*device.Array, 6)
		for j := range v {
			v[j] = k.normals(m, 1)
			arrays[j] = k.put(v[j], small...)
		}
		norm := device.Normalised{
			Mean:  arrays[0],
			Rstd:  arrays[1],
			Scale: arrays[2],
			Sum:   arrays[3],
			Along: arrays[4],
			More:  arrays[5],
		}
		if i%3 == 0 {
			norm.More, v[5] = nil, repeated(0, m)
		}
		want := func() ref.Result {
			r := ref.NewResult(n)
			ref.Each(shape, small, func(flat, at int) {
				mean, rstd, scale, sum, along, more := v[0][at], v[1][at], v[2][at], v[3][at], v[4][at], v[5][at]
				by := rstd * rstd * along / float64(max(1, count-lost))
				sum /= float64(max(1, count))
				r.Value[flat] = scale*(dz[flat]-sum-(x[flat]-mean)*by) + more
				r.Scale[flat] = math.Abs(scale)*(math.Abs(dz[flat])+math.Abs(
					sum)+(math.Abs(x[flat])+math.Abs(mean))*math.Abs(by)) + math.Abs(more)
			})
			return r
		}
		dx, adz := k.dst(shape...), k.put(dz, shape...)
		what := fmt.Sprintf("Moments VJP %v by %v", shape, small)
		norm.VJP(dx, adz, k.put(x, shape...), lost)
		k.near(what, dx, 9, want)
		norm.VJP(adz, adz, k.put(x, shape...), lost)
		k.near(what+" in place", adz, 9, want)
	}
}
