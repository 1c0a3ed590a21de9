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
		{3, 5, 1021}, {128, 33, 16}, {0, 5, 3}, {5, 0, 3}, {17, 9, 0},
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
	k.multiply(product{batch: 0, batchA: 0, batchB: 0, m: 3, n: 2, k: 5, alpha: 1})
}

// multiply compares one product. c holds NaN where beta is 0. Three roundings beyond the sum's:
// alpha, beta, and the sum of both.
func (k *kit) multiply(p product) {
	matrix := func(batch, rows, cols int, t bool) (ref.Matrix, device.Factor) {
		if t {
			rows, cols = cols, rows
		}
		m := ref.Matrix{Batch: max(1, batch), Rows: rows, Cols: cols, T: t}
		m.Data = k.normals(m.Batch*rows*cols, 1)
		shape := []int{m.Batch, rows, cols}
		if p.batch == 0 {
			shape = shape[1:]
		}
		return m, device.Factor{Array: k.put(m.Data, shape...), Transpose: t}
	}
	a, da := matrix(p.batchA, p.m, p.k, p.ta)
	b, db := matrix(p.batchB, p.k, p.n, p.tb)
	c, dc := matrix(p.batch, p.m, p.n, false)
	if p.beta == 0 {
		device.Fill(dc.Array, math.NaN())
	}
	device.Gemm(dc.Array, p.alpha, da, db, p.beta)
	k.near(fmt.Sprintf("Gemm %+v", p), dc.Array, 3+sums(p.k),
		func() ref.Result { return ref.Gemm(p.alpha, a, b, p.beta, c) })
}

// gemmExtremes: NaN and infinities stay in their row of a and their column of b, whatever pads a
// tile; large numbers swallow small ones.
func gemmExtremes(k *kit) {
	const m, n, inner = 33, 35, 19
	a, b := k.normals(m*inner, 1), k.normals(inner*n, 1)
	a[7*inner+3], a[32*inner+18], b[5*n+34] = math.NaN(), math.Inf(1), math.NaN()
	k.times("NaN", ref.Matrix{Rows: m, Cols: inner, Data: a}, ref.Matrix{Rows: inner, Cols: n, Data: b})
	big, small := k.pick(1e18, 1e150), k.pick(1e-18, 1e-150)
	x := repeated(k.round(big), 9)
	x[4] = k.round(small)
	k.times("large", ref.Matrix{Rows: 3, Cols: 3, Data: x}, ref.Matrix{Rows: 3, Cols: 3, T: true, Data: x})
}

// times compares a·b, of matrices that are not batched.
func (k *kit) times(what string, a, b ref.Matrix) {
	factor := func(m *ref.Matrix) device.Factor {
		m.Batch = 1
		return device.Factor{Array: k.put(m.Data, m.Rows, m.Cols), Transpose: m.T}
	}
	rows, inner, cols := a.Rows, a.Cols, b.Cols
	if a.T {
		rows, inner = inner, rows
	}
	if b.T {
		cols = b.Rows
	}
	dst := k.dst(rows, cols)
	device.Gemm(dst, 1, factor(&a), factor(&b), 0)
	c := ref.Matrix{Batch: 1, Rows: rows, Cols: cols, Data: make([]float64, rows*cols)}
	k.near(what, dst, 3+sums(inner), func() ref.Result { return ref.Gemm(1, a, b, 0, c) })
}
