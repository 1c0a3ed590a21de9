package semidual

import (
	"math"

	"coupling/data"
	"coupling/dp/synth"
	"coupling/lab/device"

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
	n     int
	y     []*mat.Dense // of each class; nil where it has none
	norm2 [][]float64
	at    [][]int // place of each record in the data set, so that a batch is a set of records
}

// newRecords encodes images. Each row is a function of its own image alone.
func newRecords(images *data.Images, classes int, b *Basis) *records {
	r := &records{n: images.Len(), y: make([]*mat.Dense, classes), norm2: make([][]float64, classes), at: make([][]int, classes)}
	m := b.matrix()
	for i, l := range images.Labels {
		r.at[l] = append(r.at[l], i)
	}
	for l, at := range r.at {
		if len(at) == 0 {
			continue
		}
		rows := mat.NewDense(len(at), images.Dim(), nil)
		for k, i := range at {
			synth.Unit(rows.RawRowView(k), images, i)
		}
		r.y[l] = b.apply(rows, m)
		r.norm2[l] = make([]float64, len(at))
		for k := range at {
			for j, v := range r.y[l].RawRowView(k) {
				v = roundTo(v, grain)
				r.y[l].RawRowView(k)[j] = v
				r.norm2[l][k] += v * v
			}
		}
	}
	return r
}

// table puts the records of each class on a device.
func (r *records) table(dev *device.Device) []*device.Array {
	out := make([]*device.Array, len(r.y))
	for l, y := range r.y {
		if y != nil {
			out[l] = dev.FromDense(device.Float64, y)
		}
	}
	return out
}
