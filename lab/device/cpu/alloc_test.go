package cpu

import "testing"

func TestNoAllocation(t *testing.T) { onAll(t, noAllocation[float64], noAllocation[float32]) }

// noAllocation: kernels leave the heap alone, and a Gemm that has its buffers
// does.
func noAllocation[T Float](t *testing.T, k Kernels[T]) {
	const n = 40
	h, c, dst, y := make([]T, n), make([]T, n), make([]T, n), make([]T, 2*n)
	g, m := &Gemm[T]{Kernels: k}, Dense(make([]T, n), 8, 5)
	square := Dense(make([]T, 64), 8, 8)
	cost := Cost[T]{Square: 1}
	for name, f := range map[string]func(){
		"Exp": func() { k.Exp(dst, h) }, "LogSumExp": func() { k.LogSumExp(h) },
		"RowExp": func() { k.RowExp(dst, h, c, 1) }, "RowLSE": func() { k.RowLSE(h, c, 1) },
		"PointRowExp": func() { k.PointRowExp(dst, h, y[:2], y, cost, 1) },
		"PointRowLSE": func() { k.PointRowLSE(h, y[:2], y, cost, 1) },
		"ColAdd":      func() { k.ColAdd(dst, h, c, 0, 1) },
		"Gemm":        func() { g.Add(square, 1, m, m.T()) },
		"local slice": func() {
			var local [7]T
			k.Exp(local[:], local[:])
		},
	} {
		if allocs := testing.AllocsPerRun(20, f); allocs != 0 {
			t.Errorf("%s allocates %v times", name, allocs)
		}
	}
}
