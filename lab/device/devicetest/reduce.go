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
	}
}

var reductionNames = [...]string{
	device.Sum: "Sum", device.Mean: "Mean", device.SumSquares: "SumSquares", device.Norm: "Norm",
	device.Largest: "Largest", device.LogSumExp: "LogSumExp",
}

// reduced reduces random numbers. Twice the roundings of a sum for squares and exponentials of terms.
func (k *kit) reduced(to, shape []int, f device.Reduction) {
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

// allReduced is reduced by every function.
func (k *kit) allReduced(to, shape []int) {
	for f := range reductionNames {
		k.reduced(to, shape, device.Reduction(f))
	}
}

// reduce reduces every subset of axes.
func reduce(k *kit) {
	for rank := range 7 {
		for subset := range 1 << rank {
			if rank > 3 && k.rng.IntN(1<<rank) >= 8 {
				continue
			}
			for f := range reductionNames {
				shape := k.shape(rank, 1200)
				k.reduced(squash(shape, subset), shape, device.Reduction(f))
			}
		}
	}
	for _, n := range []int{1, 7, 33, 129, 1025, 4099} {
		k.allReduced([]int{3, 1}, []int{3, n})
		k.allReduced([]int{1, 3}, []int{n, 3})
		k.allReduced([]int{1, 5, 1, 1}, []int{2, 5, 3, n})
		k.allReduced([]int{2, 5, 1, 1}, []int{2, 5, 3, n})
	}
	for _, s := range [][2][]int{{{3, 1}, {3, 0}}, {{1, 3}, {0, 3}}, {{1}, {0}}, {{0, 1}, {0, 4}}, {{0, 1}, {0, 0}}} {
		k.allReduced(s[0], s[1])
	}
}

// sumsOf counts the roundings of a sum of n: Reduce promises more for float32 than for float64.
func (k *kit) sumsOf(n int) float64 {
	if k.dtype == device.Float32 {
		return accurateSums(n)
	}
	return sums(n)
}

// reduceExtremes has a row for each trap; numbers of one row must not reach another.
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
		repeated(-1e4, n), with(0, 7, 1e4), repeated(k.least(), n), repeated(0, n), with(1, 0, nan),
		k.normals(n, 1e-20),
	}
	check := func(f device.Reduction, rows [][]float64) {
		var x []float64
		for _, r := range rows {
			x = append(x, k.rounded(r)...)
		}
		shape, to := []int{len(rows), n}, []int{len(rows), 1}
		want := func() ref.Result { return ref.Reduce(to, shape, x, f) }
		dst := k.dst(to...)
		device.Reduce(dst, k.put(x, shape...), f)
		k.near(reductionNames[f], dst, 2*k.sumsOf(n), want)
		turned := make([]float64, len(x))
		for i, v := range x {
			turned[i%n*len(rows)+i/n] = v
		}
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
	k.allReduced([]int{3, 1}, []int{3, 20_000})
	k.allReduced([]int{1, 3}, []int{20_000, 3})
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
