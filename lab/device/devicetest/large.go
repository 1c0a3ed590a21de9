package devicetest

import (
	"math"
	"os"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

const largerThanGrids = "Larger than grids" // which some devices do not play

// large are calls that no chunk, block, grid or tile holds at once: where pieces are put together.
func large() []scenario {
	return []scenario{
		{"Large maps", largeMaps}, {"Large products", largeProducts}, {"Large problems", largeProblems},
		{largerThanGrids, huge},
	}
}

// huge are sizes from which on blocks of a GPU take several tiles and grids go around. Processors
// have no such seam, and the emulator takes the same loops for small sizes (internal/cuda,
// TestConformanceLarge): they do this if COUPLING_THOROUGH is 1.
func huge(k *kit) {
	if !goesAround(k.dev) {
		return
	}
	for i, d := range []int{2, 16, 64} {
		k.point(3, 70_001, d, costKinds[i], 1, 0)
	}
	k.costs(1041, 1037, 3, costKinds[2]) // tiles of 64 pairs
	k.multiply(product{m: 1537, n: 1409, k: 67, alpha: 1, beta: 1})
	const batch = 65_637
	k.multiply(product{batch: batch, batchA: batch, batchB: 1, m: 2, n: 3, k: 2, alpha: 1})
	k.halfStep(batch, 2, 3, 2, false)
	const length = 1<<22 + 1031
	v, dst := k.normals(length, 1), k.dst(length)
	device.Map(dst, k.put(v, length), device.Square, 0)
	k.near("Map", dst, 2, func() ref.Result { return mapped(device.Square, v, 0) })
}

// goesAround reports whether a device plays what is larger than grids.
func goesAround(d *device.Device) bool {
	info := d.Info()
	gpu := info.Kind == "cuda" && !strings.HasPrefix(info.Name, "Emulator")
	return !testing.Short() && (gpu || os.Getenv("COUPLING_THOROUGH") == "1")
}

func largeMaps(k *kit) {
	const n = 200_003
	x, y := k.normals(n, 2), k.normals(n, 1)
	ax, ay, dst := k.put(x, n), k.put(y, n), k.dst(n)
	device.Map(dst, ax, device.Tanh, 0)
	k.near("Map", dst, 8, func() ref.Result { return mapped(device.Tanh, x, 0) })
	device.Add(dst, ax, ay)
	k.exactBy("Add", dst, func() []float64 {
		want := make([]float64, n)
		for i := range x {
			want[i] = x[i] + y[i]
		}
		return want
	})
	s := k.dev.Stream(99)
	defer s.Free()
	s.Normal(dst, 0, 1)
	k.exactBy("Normal", dst, func() []float64 { return drawn(99, 0, n, philoxNormal, 0, 1) })

	shape, channels := []int{7, 9, 31, 67}, []int{1, 9, 1, 1} // a layer's bias and its gradient
	size := ref.Len(shape)
	images, bias := ax.Rows(0, size).Reshape(shape...), k.put(y[:9], channels...)
	sum := k.dst(shape...)
	device.Mul(sum, images, bias)
	k.exactBy("Mul by channels", sum, func() []float64 {
		b, want := ref.Spread(shape, channels, y[:9]), make([]float64, size)
		for i := range want {
			want[i] = x[i] * b[i]
		}
		return want
	})
	device.Reduce(bias, images, device.Sum)
	k.near("Sum to channels", bias, k.sumsOf(size/9),
		func() ref.Result { return ref.Reduce(channels, shape, x[:size], device.Sum) })
	for _, c := range [][2]int{{257, 777}, {515, 33}} { // four parts, of more columns than a grid joins at once; eight
		wide, columns := ax.Rows(0, c[0]*c[1]).Reshape(c[0], c[1]), k.dst(1, c[1])
		for f := range device.Reduction(len(reductionNames)) {
			device.Reduce(columns, wide, f)
			k.near(reductionNames[f]+" of columns", columns, 2*k.sumsOf(c[0]),
				func() ref.Result { return ref.Reduce([]int{1, c[1]}, c[:], x[:c[0]*c[1]], f) })
		}
	}
	k.convolution(plane{13, 5, 33, 35, device.SquareWindow(4, 2, 1)}, 3)
}

func largeProducts(k *kit) {
	k.multiply(product{m: 521, n: 263, k: 131, alpha: 1})
	k.multiply(product{m: 131, n: 263, k: 521, ta: true, tb: true, alpha: -0.5, beta: 1})
	k.multiply(product{m: 1, n: 2053, k: 257, alpha: 1})
	k.multiply(product{m: 2053, n: 1, k: 257, ta: true, alpha: 1, beta: 1})
	k.multiply(product{batch: 70, batchA: 1, batchB: 70, m: 17, n: 16, k: 67, alpha: 1})
	k.multiply(product{batch: 5, batchA: 5, batchB: 1, m: 65, n: 67, k: 129, tb: true, alpha: 1})
}

func largeProblems(k *kit) {
	k.halfStep(0, 131, 1201, 3, false)
	k.halfStep(0, 1201, 131, 3, false)
	k.halfStep(300, 9, 11, 3, false)
	k.point(131, 1201, 2, costKinds[0], 5, 0)
	k.point(611, 67, 33, costKinds[2], 0.3, 0)

	k.plan(131, 1201, 5, false, 3)
	k.plan(131, 1201, 0, false, 3) // nothing to weigh
	k.crossEntropy(3001, 10, 3)
	k.clip(k.normals(71*3001, 1), 3001, math.Sqrt(3001))
}
