package cpu

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// Elements a second of one core, the best turn of each benchmark (machines are
// shared), by kernel, type, instruction set and size of
// a square matrix read row by row. 4096² in float64 is 128 MiB: outside every
// cache. Run a part of it with -bench 'Rows/RowLSE/float64/avx512'.

func BenchmarkRows(b *testing.B) {
	for name, kernel := range rowBenches[float64]() {
		b.Run(name+"/float64", func(b *testing.B) { benchRows(b, kernel) })
	}
	for name, kernel := range rowBenches[float32]() {
		b.Run(name+"/float32", func(b *testing.B) { benchRows(b, kernel) })
	}
}

// A bench holds what kernels on a row need.
type bench[T Float] struct {
	Kernels[T]
	h, t, col, top, x, y []T
}

func rowBenches[T Float]() map[string]func(k *bench[T], c []T) {
	return map[string]func(k *bench[T], c []T){
		"Exp":      func(k *bench[T], c []T) { k.Exp(k.t, c) },
		"Dot":      func(k *bench[T], c []T) { k.Dot(k.h, c) },
		"RowMax":   func(k *bench[T], c []T) { k.RowMax(k.h, c, 10) },
		"RowExp":   func(k *bench[T], c []T) { k.RowExp(k.t, k.h, c, 10) },
		"RowExpAt": func(k *bench[T], c []T) { k.RowExpAt(k.t, k.h, c, 10, 1) },
		"RowLSE":   func(k *bench[T], c []T) { k.RowLSE(k.h, c, 10) },
		"SemiDual": func(k *bench[T], c []T) { _, s := k.RowExp(k.t, k.h, c, 10); k.Axpy(k.col, 1/s, k.t) },
		"ColAdd":   func(k *bench[T], c []T) { k.ColAdd(k.top, k.col, c, 1, 10) },
		"PointExp2D": func(k *bench[T], c []T) {
			k.PointRowExp(k.t, k.h, k.x[:2], k.y[:2*len(c)], Cost[T]{Square: 1}, 10)
		},
		"PointExpAt2D": func(k *bench[T], c []T) {
			k.PointRowExpAt(k.t, k.h, k.x[:2], k.y[:2*len(c)], Cost[T]{Square: 1}, 10, 1)
		},
		"PointLSE2D": func(k *bench[T], c []T) {
			k.PointRowLSE(k.h, k.x[:2], k.y[:2*len(c)], Cost[T]{Square: 1}, 10)
		},
		"PointLSE3DMixed": func(k *bench[T], c []T) {
			k.PointRowLSE(k.h, k.x, k.y, Cost[T]{Square: 1, Abs: 1}, 10)
		},
	}
}

func benchRows[T Float](b *testing.B, kernel func(k *bench[T], c []T)) {
	for _, isa := range Available() {
		for _, n := range []int{256, 1024, 4096} {
			if isa == Generic && n > 256 {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d", isa, n), func(b *testing.B) {
				r := seeded(9)
				k := &bench[T]{Kernels[T]{isa}, random[T](r, n, 1), make([]T, n), make([]T, n), make([]T, n),
					make([]T, 3), random[T](r, 3*n, 1)}
				k.ColStart(k.top, k.col)
				c := make([]T, n*n)
				for i := range c {
					c[i] = T(4 * r.Float64())
				}
				bestTurn(b, n*n, "Gelem/s", func() {
					for i := range n {
						kernel(k, c[i*n:(i+1)*n])
					}
				})
			})
		}
	}
}

// bestTurn reports work over the shortest time of a turn, in 1e9 a second.
func bestTurn(b *testing.B, work int, unit string, turn func()) {
	shortest := time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		turn()
		shortest = min(shortest, time.Since(start))
	}
	b.ReportMetric(float64(work)/float64(shortest.Nanoseconds()), unit)
	b.ReportMetric(0, "ns/op")
}

func BenchmarkGemm(b *testing.B) {
	b.Run("float64", benchGemm[float64])
	b.Run("float32", benchGemm[float32])
}

func benchGemm[T Float](b *testing.B) {
	for _, isa := range Available() {
		for _, n := range []int{128, 512, 1024} {
			if isa == Generic && n > 128 {
				continue
			}
			r := seeded(14)
			g := &Gemm[T]{Kernels: Kernels[T]{isa}}
			x, y, c := view[T](r, n, n, false), view[T](r, n, n, false), Dense(make([]T, n*n), n, n)
			w := random[T](r, n, 1)
			b.Run(fmt.Sprintf("%s/Add/%d", isa, n), func(b *testing.B) {
				bestTurn(b, 2*n*n*n, "GFLOP/s", func() { g.Add(c, 1, x, y) })
			})
			b.Run(fmt.Sprintf("%s/AddGram/%d", isa, n), func(b *testing.B) {
				bestTurn(b, n*n*n, "GFLOP/s", func() { g.AddGram(c, w, x) })
			})
			b.Run(fmt.Sprintf("%s/AddSquares/%d", isa, n), func(b *testing.B) {
				bestTurn(b, 3*n*n*n, "GFLOP/s", func() { g.AddSquares(c, x, y) })
			})
		}
	}
}
