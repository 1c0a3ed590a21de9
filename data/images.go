package data

import (
	"fmt"
	"math"

	"coupling/data/batch"

	"gonum.org/v1/gonum/mat"
)

// Images is a set of N images of C channels, H rows and W columns, float32 in
// row-major N×C×H×W order, with a label for each. Those that loaders read from
// bytes stay bytes in memory, a quarter of it, and become float32 where they are used.
//
// Values normally lie in [Lo, Hi], black to white; transformations keep the two
// up to date, but nothing clamps the values.
type Images struct {
	Name    string   // data set and split, e.g. "mnist/train"
	Labels  []int    // [N], from 0; nil where there are none
	Classes []string // Classes[k] names label k; nil where there are none
	Lo, Hi  float32  // the values of black and white

	pixels     []float32 // [n, c, h, w]
	bytes      []uint8   // not nil: in place of pixels, whose values are unit[b]
	n, c, h, w int
}

// unit are the values of bytes, from 0 to 1.
var unit = levels(0, 1)

// levels are 256 values from lo to hi.
func levels(lo, hi float32) (table [256]float32) {
	for b := range table {
		table[b] = float32(float64(lo) + float64(b)*(float64(hi)-float64(lo))/255)
	}
	return table
}

// New returns n black images with Lo = 0 and Hi = 1 and no labels. It returns
// an error when n is negative, another size is not positive, or the product
// exceeds an int.
func New(n, c, h, w int) (*Images, error) {
	if err := checkShape(n, c, h, w); err != nil {
		return nil, err
	}
	return &Images{Hi: 1, pixels: make([]float32, n*c*h*w), n: n, c: c, h: h, w: w}, nil
}

func checkShape(n, c, h, w int) error {
	product := max(n, 1)
	for _, d := range []int{c, h, w} {
		if n < 0 || d < 1 || product > math.MaxInt/4/d {
			return fmt.Errorf("data: shape %d×%d×%d×%d: want n ≥ 0, other sizes ≥ 1, and a product that fits in memory",
				n, c, h, w)
		}
		product *= d
	}
	return nil
}

// FromPixels returns the n·c·h·w values of pixels, in row-major order, as images
// that share their memory. Black is lo, white is hi.
func FromPixels(pixels []float32, n, c, h, w int, lo, hi float32) (*Images, error) {
	if err := checkShape(n, c, h, w); err != nil {
		return nil, err
	}
	if len(pixels) != n*c*h*w {
		return nil, fmt.Errorf("data: %d pixels: want %d·%d·%d·%d = %d", len(pixels), n, c, h, w, n*c*h*w)
	}
	if err := checkRange(lo, hi); err != nil {
		return nil, err
	}
	return &Images{Lo: lo, Hi: hi, pixels: pixels, n: n, c: c, h: h, w: w}, nil
}

// FromMat returns a copy of the rows of x [n, c·h·w] as images, rounded to
// float32. Black is lo, white is hi.
func FromMat(x mat.Matrix, c, h, w int, lo, hi float32) (*Images, error) {
	n, d := x.Dims()
	m, err := New(n, c, h, w)
	if err != nil {
		return nil, err
	}
	if n > 0 && d != c*h*w {
		return nil, fmt.Errorf("data: x has %d columns: want %d·%d·%d = %d", d, c, h, w, c*h*w)
	}
	if err := checkRange(lo, hi); err != nil {
		return nil, err
	}
	m.Lo, m.Hi = lo, hi
	for i := range n {
		for j, row := 0, m.Row(i); j < d; j++ {
			row[j] = float32(x.At(i, j))
		}
	}
	return m, nil
}

func checkRange(lo, hi float32) error {
	if !(lo < hi) || math.IsInf(float64(hi-lo), 0) {
		return fmt.Errorf("data: range [%v, %v]: want finite lo < hi", lo, hi)
	}
	return nil
}

// Len returns the number of images N.
func (m *Images) Len() int { return m.n }

// Shape returns N, C, H and W.
func (m *Images) Shape() (n, c, h, w int) { return m.n, m.c, m.h, m.w }

// Dim returns the number of values of an image, C·H·W.
func (m *Images) Dim() int { return m.c * m.h * m.w }

// Row returns image i as a vector of C·H·W values to read: a copy of an image that is bytes, and the
// memory of others. To write to images, Clone them, unless they were made by New, FromPixels or FromMat.
func (m *Images) Row(i int) []float32 { return m.values(i*m.Dim(), (i+1)*m.Dim()) }

// Pixels returns all N·C·H·W values, as Row does those of an image.
func (m *Images) Pixels() []float32 { return m.values(0, m.n*m.Dim()) }

func (m *Images) values(from, to int) []float32 {
	if m.bytes == nil {
		return m.pixels[from:to:to]
	}
	return m.appendValues(make([]float32, 0, to-from), from, to)
}

func (m *Images) appendValues(dst []float32, from, to int) []float32 {
	if m.bytes == nil {
		return append(dst, m.pixels[from:to]...)
	}
	for _, b := range m.bytes[from:to] {
		dst = append(dst, unit[b])
	}
	return dst
}

// Clone returns a copy of float32, whose memory Row and Pixels share. Labels are shared.
func (m *Images) Clone() *Images {
	out := m.shaped(m.n, m.c, m.h, m.w)
	m.AppendRows(out.pixels[:0], batch.All(m.n))
	return out
}

// Mat returns a float64 copy [N, C·H·W] with an image in each row, as package
// ot takes points. It is empty when there are no images.
func (m *Images) Mat() *mat.Dense {
	if m.n == 0 {
		return &mat.Dense{}
	}
	values := make([]float64, m.n*m.Dim())
	for i, v := range m.Pixels() {
		values[i] = float64(v)
	}
	return mat.NewDense(m.n, m.Dim(), values)
}

// AppendRows appends the images with the given indices to dst, one after the
// other, and returns it: a training batch without an allocation.
func (m *Images) AppendRows(dst []float32, indices []int) []float32 {
	for _, i := range indices {
		dst = m.appendValues(dst, i*m.Dim(), (i+1)*m.Dim())
	}
	return dst
}

// shaped returns images of another shape with the name, classes and range of m
// and, when the number of images is the same, its labels (shared).
func (m *Images) shaped(n, c, h, w int) *Images {
	out := m.header(n, c, h, w)
	out.pixels = make([]float32, n*c*h*w)
	return out
}

// header is shaped without memory for pixels.
func (m *Images) header(n, c, h, w int) *Images {
	out := &Images{Name: m.Name, Classes: m.Classes, Lo: m.Lo, Hi: m.Hi, n: n, c: c, h: h, w: w}
	if n == m.n {
		out.Labels = m.Labels
	}
	return out
}
