package devicetest

import (
	"fmt"
	"math"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

func layout() []scenario {
	return []scenario{
		{"Copies", copies},
		{"Convert", convert},
		{"Paste and Cut", pasteCut},
		{"Gather and Scatter", gatherScatter},
		{"Views", views},
	}
}

// copies come back as they went, bit for bit, NaN and infinities included.
func copies(k *kit) {
	for _, n := range []int{0, 1, 7, 257, 4099} {
		x := append(k.normals(n, 1), k.extremes()...)
		k.exact("copy", k.put(x, len(x)), x)
		c := k.put(x, 1, len(x)).Clone()
		k.exact("Clone", c, x)
		c.SetFloats(repeated(2, len(x)))
		k.exact("Set again", c, repeated(2, len(x)))
	}
	scalar := k.put([]float64{3})
	k.exact("rank 0", scalar, []float64{3})
	i := k.ints([]int32{math.MaxInt32, math.MinInt32, 0, -1}, 2, 2)
	k.exact("int32", i, []float64{math.MaxInt32, math.MinInt32, 0, -1})
}

// convert rounds to nearest, ties to even, and overflows to infinity.
func convert(k *kit) {
	x := append(k.extremes(), 1+0x1p-24, 1+3*0x1p-24, 0x1p-150, 0x1.8p-149, math.MaxFloat32*(1+0x1p-25), 1e300, 1e-300)
	for range 129 {
		x = append(x, k.rng.NormFloat64())
	}
	k.rounded(x)
	src := k.put(x, len(x))
	for _, to := range floats {
		dst := k.place(to, []int{len(x)})
		device.Convert(dst, src)
		k.exactBy("to "+to.String(), dst, func() []float64 {
			want := make([]float64, len(x))
			for i, v := range x {
				if want[i] = v; to == device.Float32 {
					want[i] = float64(float32(v))
				}
			}
			return want
		})
	}
	i := k.place(device.Int32, []int{3})
	device.Convert(i, k.ints([]int32{1, -2, math.MaxInt32}, 3))
	k.exact("int32 to int32", i, []float64{1, -2, math.MaxInt32})
}

func pasteCut(k *kit) {
	for rank := 1; rank <= 6; rank++ {
		for range 5 {
			shape := k.shape(rank, 2000)
			axis := k.rng.IntN(rank)
			n := k.rng.IntN(shape[axis] + 1)
			at := k.rng.IntN(shape[axis] - n + 1)
			x := k.normals(ref.Len(shape), 1)
			part, want := ref.Part(shape, x, axis, at, n)
			what := fmt.Sprintf("%v, %d to %d of axis %d", shape, at, at+n, axis)
			small := k.dst(part...)
			device.Cut(small, k.put(x, shape...), axis, at)
			k.exact("Cut "+what, small, want)
			big := k.dst(shape...)
			device.Paste(big, k.put(want, part...), axis, at)
			k.exactBy("Paste "+what, big, func() []float64 {
				all := repeated(math.Trunc(sentinel), len(x))
				ref.EachPart(shape, axis, at, n, func(b, s int) { all[b] = want[s] })
				return all
			})
		}
	}
}

// gatherScatter repeats indices; sums are taken in the order of the rows, so that their bits are known.
func gatherScatter(k *kit) {
	for _, size := range [][3]int{{1, 1, 1}, {3, 7, 129}, {67, 31, 33}, {257, 3, 5}, {2, 129, 251}, {7, 129, 32},
		{5, 0, 3}, {5, 3, 0}} {
		rows, n, d := size[0], size[1], size[2]
		index := make([]int32, n)
		for i := range index {
			index[i] = int32(k.rng.IntN(rows))
		}
		table, x := k.normals(rows*d, 1), k.normals(n*d, 1)
		what := fmt.Sprintf("%d of %d rows of %d", n, rows, d)
		dst, at, ai := k.dst(n, d), k.put(table, rows, d), k.ints(index, n)
		if d == 32 { // not within others: copied in runs of 16 bytes
			dst, at = dst.Clone(), at.Clone()
		}
		device.Gather(dst, at, ai)
		k.exactBy("Gather "+what, dst, func() []float64 {
			var want []float64
			for _, i := range index {
				want = append(want, table[int(i)*d:int(i+1)*d]...)
			}
			return want
		})
		device.Scatter(at, k.put(x, n, d), ai)
		k.exactBy("Scatter "+what, at, func() []float64 {
			want := append([]float64(nil), table...)
			for r, i := range index {
				for c := range d {
					want[int(i)*d+c] = k.round(want[int(i)*d+c] + x[r*d+c])
				}
			}
			return want
		})
	}
}

// views read and write the array that they view, in any chain of Rows and Reshape.
func views(k *kit) {
	x := k.normals(7*33*3, 1)
	a := k.put(x, 7, 33, 3)
	v := a.Rows(2, 5).Reshape(-1, 9).Rows(1, 10).Reshape(3, 27)
	lo := 2*99 + 9
	k.exact("view", v, x[lo:lo+81])
	device.Map(v, v, device.Neg, 0)
	k.exactBy("viewed", a, func() []float64 {
		want := append([]float64(nil), x...)
		for i := lo; i < lo+81; i++ {
			want[i] = -want[i]
		}
		return want
	})
	dst := k.dst(3, 1)
	device.Reduce(dst, a.Rows(6, 7).Reshape(3, 33), device.Sum)
	k.near("sums of views", dst, k.sumsOf(33),
		func() ref.Result { return ref.Reduce([]int{3, 1}, []int{3, 33}, x[6*99:], device.Sum) })
	k.exact("Rows of none", a.Rows(7, 7), nil)
}
