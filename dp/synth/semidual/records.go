package semidual

import (
	"math"

	"coupling/data"

	"gonum.org/v1/gonum/mat"
)

// grain is the step to which coefficients of records and atoms are rounded, share that of the
// weights, and part that of the factors of outer products. Sums of their products are then exact in
// float64, in any order, for up to mostRecords records: the sum over a data set with one record
// more differs by that record's part only.
const (
	grain = 0x1p-10
	share = 0x1p-17
	part  = 0x1p-7
)

// mostRecords is the largest number of records for which sums are exact. A coefficient is √(H·W) at
// most, so that Σ s(y−x), of multiples of grain·share, stays below 2⁵³ of them while n·√(H·W) ≤
// 2²⁵; Σ aaᵀ·min(1, clip/|a|²), whose entries are multiples of grain²·part and clip at most, while
// n·clip ≤ 2²⁶.
func mostRecords(h, w int, clip float64) int {
	return int(min(0x1p25/math.Sqrt(float64(h*w)), 0x1p26/clip, 0x1p50))
}

// records are the private images in the form that the mechanism uses: clamped to [0, 1], in the
// basis, rounded, by class.
type records struct {
	dim   int
	y     [][]float32 // rows of each class, of which float32 loses nothing: multiples of grain below 2¹⁴
	norm2 [][]float64
}

// newRecords encodes images. Each row is a function of its own image alone.
func newRecords(images *data.Images, classes int, b *Basis) *records {
	r := &records{
		dim: b.C * len(b.Frequencies()), y: make([][]float32, classes), norm2: make([][]float64, classes),
	}
	for l, at := range images.ByClass() {
		r.y[l] = make([]float32, 0, len(at)*r.dim)
	}
	b.Each(images, func(i int, row []float64) {
		l, norm2 := images.Labels[i], 0.
		for _, v := range row {
			v = roundTo(v, grain)
			r.y[l] = append(r.y[l], float32(v))
			norm2 += v * v
		}
		r.norm2[l] = append(r.norm2[l], norm2)
	})
	return r
}

// table returns the rows of a class that has any.
func (r *records) table(l int) *mat.Dense {
	y := mat.NewDense(len(r.norm2[l]), r.dim, nil)
	for i, v := range r.y[l] {
		y.RawMatrix().Data[i] = float64(v)
	}
	return y
}
