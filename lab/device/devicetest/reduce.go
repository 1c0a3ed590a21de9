package devicetest

import (
	"fmt"
	"math"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

func reductions() []scenario {
	return []scenario{
		{"Reduce", reduce},
		{"Reduce extremes", reduceExtremes},
		{"Reduce long", reduceLong},
		{"ReduceDot", reduceDot},
		{"Normalise", normalise},
		{"Normalise, gradient", normaliseGradient},
	}
}

var reductionNames = [...]string{
	device.Sum: "Sum", device.Mean: "Mean", device.SumSquares: "SumSquares", device.Norm: "Norm",
	device.Largest: "Largest", device.LogSumExp: "LogSumExp",
}

// reduce reduces every subset of axes. Twice the roundings of a sum for squares and exponentials of terms.
func reduce(k *kit) {
	try := func(to, shape []int, f device.Reduction) {
		x := k.normals(ref.Len(shape), 2)
		dst := k.dst(to...)
		device.Reduce(dst, k.put(x, shape...), f)
		count := ref.Len(shape) / max(1, ref.Len(to))
		if f == device.Mean && count == 0 {
			return // 0/0 is not promised
		}
		k.near(fmt.Sprintf("%s %v to %v", reductionNames[f], shape, to), dst, 2*k.sumsOf(count),
			func() ref.Result { return ref.Reduce(to, shape, x, f) })
	}
	for rank := range 7 {
		for subset := range 1 << rank {
			if rank > 3 && k.rng.IntN(1<<rank) >= 8 {
				continue
			}
			for f := range reductionNames {
				shape := k.shape(rank, 1200)
				try(squash(shape, subset), shape, device.Reduction(f))
			}
		}
	}
	for f := range reductionNames {
		for _, n := range []int{1, 7, 33, 129, 1025, 4099} {
			try([]int{3, 1}, []int{3, n}, device.Reduction(f))
			try([]int{1, 3}, []int{n, 3}, device.Reduction(f))
			try([]int{1, 5, 1, 1}, []int{2, 5, 3, n}, device.Reduction(f))
			try([]int{2, 5, 1, 1}, []int{2, 5, 3, n}, device.Reduction(f))
		}
		for _, s := range [][2][]int{{{3, 1}, {3, 0}}, {{1, 3}, {0, 3}}, {{1}, {0}}, {{0, 1}, {0, 4}}, {{0, 1}, {0, 0}}} {
			try(s[0], s[1], device.Reduction(f))
		}
	}
}

// sumsOf counts the roundings of a sum of n: Reduce promises more for float32 than for float64.
func (k *kit) sumsOf(n int) float64 {
	if k.dtype == device.Float32 {
		return accurateSums(n)
	}
	return sums(n)
}

// reduceExtremes has a row for each trap; what is in one row must not reach another.
func reduceExtremes(k *kit) {
	const n = 37
	inf, nan := math.Inf(1), math.NaN()
	huge, small := k.pick(1e30, 1e200), k.pick(1e-30, 1e-200)
	with := func(fill float64, at int, v float64) []float64 {
		row := repeated(fill, n)
		row[at] = v
		return row
	}
	rows := [][]float64{
		k.normals(n, 1), repeated(-inf, n), with(-inf, 5, 2), with(-inf, n-1, -1e4), with(1, 3, nan), with(1, n-1, inf),
		repeated(-1e4, n), with(0, 7, 1e4), repeated(k.least(), n), repeated(0, n), with(1, 0, nan), k.normals(n, 1e-20),
	}
	check := func(f device.Reduction, rows [][]float64) {
		var x []float64
		for _, r := range rows {
			x = append(x, k.rounded(r)...)
		}
		shape, to := []int{len(rows), n}, []int{len(rows), 1}
		want := func() ref.Result {
			r := ref.Reduce(to, shape, x, f)
			for i, v := range r.Value {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					r.Scale[i] = 0
				}
			}
			return r
		}
		dst := k.dst(to...)
		device.Reduce(dst, k.put(x, shape...), f)
		k.near(reductionNames[f], dst, 2*k.sumsOf(n), want)
		_, turned := ref.Permute(shape, x, []int{1, 0})
		columns := k.dst(1, len(rows))
		device.Reduce(columns, k.put(turned, n, len(rows)), f)
		k.near(reductionNames[f]+" of columns", columns, 2*k.sumsOf(n), want)
	}
	for f := range reductionNames {
		check(device.Reduction(f), rows)
	}
	check(device.Norm, [][]float64{with(0, 3, k.most()), repeated(huge, n), repeated(small, n), with(small, 9, huge)})
	check(device.Largest, [][]float64{repeated(-k.most(), n), with(-inf, 0, -k.most())})
	check(device.Sum, [][]float64{repeated(huge, n), with(huge, 4, -huge)})
}

// reduceLong sums a million numbers: float32 must not lose digits to their count.
func reduceLong(k *kit) {
	n := 1_000_003
	if k.dtype == device.Float64 {
		n = 100_003
	}
	x := k.uniforms(n, 0, 1)
	a := k.put(x, 1, n)
	for f := range reductionNames {
		dst := k.dst(1, 1)
		device.Reduce(dst, a, device.Reduction(f))
		k.near(fmt.Sprintf("%s of %d", reductionNames[f], n), dst, k.sumsOf(n), func() ref.Result {
			v, scale := ref.ReduceAll(x, device.Reduction(f))
			return ref.Result{Value: []float64{v}, Scale: []float64{scale}}
		})
	}
	column := k.dst(1)
	device.Reduce(column, a.Reshape(n), device.Sum)
	k.near("Sum of a vector", column, k.sumsOf(n), func() ref.Result {
		return ref.Reduce([]int{1}, []int{n}, x, device.Sum)
	})
	tall := k.dst(1, 3)
	m := n / 3
	device.Reduce(tall, a.Reshape(n).Rows(0, 3*m).Reshape(m, 3), device.Mean)
	k.near("Mean of long columns", tall, k.sumsOf(m), func() ref.Result {
		return ref.Reduce([]int{1, 3}, []int{m, 3}, x[:3*m], device.Mean)
	})
}

func reduceDot(k *kit) {
	for rank := range 7 {
		for range 6 {
			shape := k.shape(rank, 1500)
			to := squash(shape, k.rng.IntN(1<<rank))
			x, y := k.normals(ref.Len(shape), 1), k.normals(ref.Len(shape), 3)
			dst := k.dst(to...)
			device.ReduceDot(dst, k.put(x, shape...), k.put(y, shape...))
			k.near(fmt.Sprintf("ReduceDot %v to %v", shape, to), dst, 1+k.sumsOf(ref.Len(shape)/max(1, ref.Len(to))),
				func() ref.Result { return ref.ReduceDot(to, shape, x, y) })
		}
	}
	const n = 300_007
	x, y := k.normals(n, 1), k.uniforms(n, 0, 1)
	dst := k.dst(1)
	device.ReduceDot(dst, k.put(x, n), k.put(y, n))
	k.near("ReduceDot, long", dst, 1+k.sumsOf(n), func() ref.Result { return ref.ReduceDot([]int{1}, []int{n}, x, y) })
}

// norms are what is normalised in networks: batch, instance, layer, group, and one for all.
var norms = [...][2][]int{
	{{3, 5, 4, 7}, {1, 5, 1, 1}},
	{{3, 5, 4, 7}, {3, 5, 1, 1}},
	{{9, 33}, {9, 1}},
	{{9, 33}, {1, 33}},
	{{2, 3, 129}, {2, 3, 1}},
	{{7, 31}, {1, 1}},
	{{7, 31}, {7, 31}},
	{{0, 31}, {1, 31}},
}

// normalise: a difference of terms of size |x|+|mean| and a product; the gradient has two products more.
func normalise(k *kit) {
	for _, s := range norms {
		shape, small := s[0], s[1]
		n := ref.Len(shape)
		x, dy := k.normals(n, 2), k.normals(n, 1)
		mean, m1, m2 := k.normals(ref.Len(small), 1), k.normals(ref.Len(small), 0.5), k.normals(ref.Len(small), 0.5)
		rstd := k.uniforms(ref.Len(small), 0.3, 3)
		spread := func(v []float64) []float64 { return ref.Spread(shape, small, v) }
		forward := func() ref.Result {
			r, mean, rstd := ref.NewResult(n), spread(mean), spread(rstd)
			for i, v := range x {
				r.Value[i] = (v - mean[i]) * rstd[i]
				r.Scale[i] = (math.Abs(v) + math.Abs(mean[i])) * rstd[i]
			}
			return r
		}
		backward := func() ref.Result { // x stands for y: any numbers will do
			r, rstd, m1, m2 := ref.NewResult(n), spread(rstd), spread(m1), spread(m2)
			for i, y := range x {
				r.Value[i] = rstd[i] * (dy[i] - m1[i] - y*m2[i])
				r.Scale[i] = rstd[i] * (math.Abs(dy[i]) + math.Abs(m1[i]) + math.Abs(y*m2[i]))
			}
			return r
		}
		what := fmt.Sprintf(" %v by %v", shape, small)
		dst, ax, amean, arstd := k.dst(shape...), k.put(x, shape...), k.put(mean, small...), k.put(rstd, small...)
		device.Normalise(dst, ax, amean, arstd)
		k.near("Normalise"+what, dst, 3, forward)
		dx, ady, am1, am2 := k.dst(shape...), k.put(dy, shape...), k.put(m1, small...), k.put(m2, small...)
		device.NormaliseVJP(dx, ady, ax, arstd, am1, am2)
		k.near("NormaliseVJP"+what, dx, 5, backward)
		device.NormaliseVJP(ady, ady, ax, arstd, am1, am2)
		k.near("NormaliseVJP in place"+what, ady, 5, backward)
		device.Normalise(ax, ax, amean, arstd)
		k.near("Normalise in place"+what, ax, 3, forward)
	}
}

// normaliseGradient puts the pieces together as a layer does and compares with central differences of
// Σ w·Normalise(x), mean and variance being those of x.
func normaliseGradient(k *kit) {
	if k.dtype != device.Float64 {
		return
	}
	shape, small := []int{3, 2, 4}, []int{1, 2, 1}
	x, w := k.normals(24, 1), k.normals(24, 1)
	forward := func(x []float64) (ax, y, rstd *device.Array) {
		ax, y, rstd = k.put(x, shape...), k.dst(shape...), k.dst(small...)
		mean, centred := k.dst(small...), k.dst(shape...)
		device.Reduce(mean, ax, device.Mean)
		device.Sub(centred, ax, mean)
		device.Reduce(rstd, centred, device.SumSquares)
		device.Scale(rstd, 1.0/12, rstd)
		device.Map(rstd, rstd, device.Rsqrt, 0)
		device.Normalise(y, ax, mean, rstd)
		return ax, y, rstd
	}
	total := func(x []float64) float64 {
		_, y, _ := forward(x)
		v, _ := k.take("y", y)
		t := 0.0
		for i := range v {
			t += w[i] * v[i]
		}
		return t
	}
	_, y, rstd := forward(x)
	dy, dx, m1, m2 := k.put(w, shape...), k.dst(shape...), k.dst(small...), k.dst(small...)
	device.Reduce(m1, dy, device.Mean)
	device.ReduceDot(m2, dy, y)
	device.Scale(m2, 1.0/12, m2)
	device.NormaliseVJP(dx, dy, y, rstd, m1, m2)
	got, _ := k.take("dx", dx)
	const h = 1e-5
	for i := range x {
		up, down := append([]float64(nil), x...), append([]float64(nil), x...)
		up[i] += h
		down[i] -= h
		if want := (total(up) - total(down)) / (2 * h); math.Abs(got[i]-want) > 1e-8 { // h² and u/h, times a hundred
			k.Errorf("NormaliseVJP at %d: %v, finite difference %v", i, got[i], want)
		}
	}
}
