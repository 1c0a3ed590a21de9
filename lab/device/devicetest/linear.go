package devicetest

import (
	"fmt"
	"math"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

func products() []scenario {
	return []scenario{{"Gemm", gemm}, {"Gemm batched", gemmBatched}, {"Gemm extremes", gemmExtremes}}
}

// product is one call of Gemm.
type product struct {
	batch, batchA, batchB int // 0 for rank 2
	m, n, k               int
	ta, tb                bool
	alpha, beta           float64
}

// gemm takes every transpose at sizes around those of tiles.
func gemm(k *kit) {
	sizes := [][3]int{
		{1, 1, 1}, {1, 1, 2}, {1, 5, 1}, {5, 1, 1}, {2, 3, 1}, {1, 257, 31}, {257, 1, 33}, {7, 129, 127}, {33, 31, 257},
		{129, 67, 33}, {64, 64, 64},
		{3, 5, 1021}, {1, 1, 3001}, {130, 3, 20}, {128, 33, 16}, {0, 5, 3}, {5, 0, 3}, {17, 9, 0},
	}
	for range 4 {
		sizes = append(sizes, [3]int{k.size(1, 129), k.size(1, 129), k.size(1, 64)})
	}
	for i, s := range sizes {
		for t := range 4 {
			p := product{m: s[0], n: s[1], k: s[2], ta: t&1 > 0, tb: t&2 > 0, alpha: 1}
			switch (i + t) % 3 {
			case 1:
				p.alpha, p.beta = k.scaled(-2, 2), 1
			case 2:
				p.alpha, p.beta = k.scaled(-2, 2), k.scaled(-2, 2)
			}
			k.multiply(p)
		}
	}
}

func gemmBatched(k *kit) {
	for t := range 4 {
		for _, share := range [][2]int{{3, 3}, {1, 3}, {3, 1}, {1, 1}} {
			p := product{
				batch:  3,
				batchA: share[0],
				batchB: share[1],
				m:      k.size(1, 33),
				n:      k.size(1, 67),
				k:      k.size(1, 33),
				ta:     t&1 > 0,
				tb:     t&2 > 0,
				alpha:  k.scaled(0.5, 2),
			}
			if t%2 == 0 {
				p.beta = k.scaled(-1, 1)
			}
			k.multiply(p)
		}
	}
	k.multiply(product{batch: 1, batchA: 1, batchB: 1, m: 5, n: 7, k: 3, alpha: 1})
	k.multiply(product{batch: 65, batchA: 65, batchB: 65, m: 3, n: 2, k: 5, tb: true, alpha: 1})
	k.multiply(product{batch: 70, batchA: 1, batchB: 70, m: 8, n: 49, k: 32, alpha: 1})
	k.multiply(product{batch: 9, batchA: 9, batchB: 1, m: 1, n: 300, k: 40, alpha: 1}) // vectors
	k.multiply(product{batch: 9, batchA: 1, batchB: 9, m: 300, n: 1, k: 40, ta: true, alpha: 1})
	k.multiply(product{batch: 0, batchA: 0, batchB: 0, m: 3, n: 2, k: 5, alpha: 1})
}

// multiply compares one product. c holds NaN where beta is 0. Three roundings beyond the sum's:
// alpha, beta, and the sum of both.
func (k *kit) multiply(p product) { k.multiplyOf(p, func(_, _ []float64) {}) }

// multiplyOf is multiply of factors that change changes.
func (k *kit) multiplyOf(p product, change func(a, b []float64)) {
	matrix := func(batch, rows, cols int, t bool) ref.Matrix {
		if t {
			rows, cols = cols, rows
		}
		m := ref.Matrix{Batch: max(1, batch), Rows: rows, Cols: cols, T: t}
		m.Data = k.normals(m.Batch*rows*cols, 1)
		return m
	}
	put := func(m ref.Matrix) device.Factor {
		shape := []int{m.Batch, m.Rows, m.Cols}
		if p.batch == 0 {
			shape = shape[1:]
		}
		return device.Factor{Array: k.put(m.Data, shape...), Transpose: m.T}
	}
	a, b, c := matrix(p.batchA, p.m, p.k, p.ta), matrix(p.batchB, p.k, p.n, p.tb), matrix(p.batch, p.m, p.n, false)
	change(a.Data, b.Data)
	da, db, dst := put(a), put(b), put(c).Array
	if p.beta == 0 {
		device.Fill(dst, math.NaN())
	}
	device.Gemm(dst, p.alpha, da, db, p.beta)
	k.near(fmt.Sprintf("Gemm %+v", p), dst, 3+sums(p.k),
		func() ref.Result { return ref.Gemm(p.alpha, a, b, p.beta, c) })
}

// gemmExtremes: NaN and infinities stay in their row of a and their column of b, whatever pads a
// tile; large numbers swallow small ones.
func gemmExtremes(k *kit) {
	const inner, n = 19, 35
	k.multiplyOf(product{m: 33, n: n, k: inner, alpha: 1}, func(a, b []float64) {
		a[7*inner+3], a[32*inner+18], b[5*n+34] = math.NaN(), math.Inf(1), math.NaN()
	})
	k.multiplyOf(product{m: 3, n: 3, k: 3, tb: true, alpha: 1}, func(a, b []float64) {
		copy(a, repeated(k.round(k.pick(1e18, 1e150)), 9))
		a[4] = k.round(k.pick(1e-18, 1e-150))
		copy(b, a)
	})
}
