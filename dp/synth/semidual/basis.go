package semidual

import (
	"math"
	"slices"

	"coupling/data"
	"coupling/dp/synth"

	"gonum.org/v1/gonum/mat"
)

// Basis is the low frequencies of images of C channels and H×W pixels: the orthonormal discrete
// cosine transform of each channel, of which the Size pairs of frequencies (u, v) nearest to zero
// are kept. It does not depend on the data. Since strokes are smooth, the frequencies that it drops
// hold mostly noise.
type Basis struct {
	C, H, W int
	Size    int // coefficients a channel; 0 or more than H·W: all

	at   [][2]int // kept frequencies, lowest first
	wave *mat.Dense
}

func (b *Basis) choose() {
	if b.at != nil {
		return
	}
	for u := range b.H {
		for v := range b.W {
			b.at = append(b.at, [2]int{u, v})
		}
	}
	slices.SortStableFunc(b.at, func(p, q [2]int) int {
		return p[0]*p[0]*b.W*b.W + p[1]*p[1]*b.H*b.H - q[0]*q[0]*b.W*b.W - q[1]*q[1]*b.H*b.H
	})
	if b.Size > 0 && b.Size < len(b.at) {
		b.at = b.at[:b.Size]
	}
}

// Frequencies returns the pairs (u, v) of a channel's coefficients, in half periods over the height and the width.
func (b *Basis) Frequencies() [][2]int {
	b.choose()
	return slices.Clone(b.at)
}

// matrix is one channel's H·W × Size basis.
func (b *Basis) matrix() *mat.Dense {
	b.choose()
	if b.wave != nil {
		return b.wave
	}
	wave := func(n, u, x int) float64 {
		if u == 0 {
			return math.Sqrt(1 / float64(n))
		}
		return math.Sqrt(2/float64(n)) * math.Cos(math.Pi*float64(u)*(float64(x)+.5)/float64(n))
	}
	m := mat.NewDense(b.H*b.W, len(b.at), nil)
	for k, f := range b.at {
		for y := range b.H {
			for x := range b.W {
				m.Set(y*b.W+x, k, wave(b.H, f[0], y)*wave(b.W, f[1], x))
			}
		}
	}
	b.wave = m
	return m
}

// apply multiplies each channel of rows by m: H·W × Size to encode, its transpose to decode.
func (b *Basis) apply(rows *mat.Dense, m mat.Matrix) *mat.Dense {
	n, d := rows.Dims()
	in, out := m.Dims()
	if d != b.C*in {
		panic("semidual: rows do not have the basis's shape")
	}
	r := mat.NewDense(n, b.C*out, nil)
	for c := range b.C {
		r.Slice(0, n, c*out, (c+1)*out).(*mat.Dense).Mul(rows.Slice(0, n, c*in, (c+1)*in), m)
	}
	return r
}

// Encode returns the coefficients of images, one a row.
func (b *Basis) Encode(images *mat.Dense) *mat.Dense { return b.apply(images, b.matrix()) }

// Each calls see with the coefficients of each image in turn, of values in [0, 1] as synth.Unit has them. They are a
// function of that image alone: a product always has as many rows.
func (b *Basis) Each(images *data.Images, see func(i int, row []float64)) {
	const some = 500
	_ = synth.Each(images, some, func(rows *mat.Dense) (*mat.Dense, error) { return b.Encode(rows), nil }, see)
}

// Decode returns the images of coefficients, one a row.
func (b *Basis) Decode(coefficients *mat.Dense) *mat.Dense {
	return b.apply(coefficients, b.matrix().T())
}

// lowest lists the lowest size coefficients of every channel.
func (b *Basis) lowest(size int) []int {
	b.choose()
	var out []int
	for c := range b.C {
		for k := range min(size, len(b.at)) {
			out = append(out, c*len(b.at)+k)
		}
	}
	return out
}
