package sgd

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"coupling/data"
	"coupling/data/format"
	"coupling/lab/device"

	"gonum.org/v1/gonum/mat"
)

// Inputs are the records as a network's input: Pixels of images, Rows or Rows32 of numbers, Features of either, or a
// user's own type.
type Inputs interface {
	Len() int // N, the number of records
	// Batch copies records to a device: row k of the array is a function of record records[k]
	// alone.
	Batch(dev *device.Device, t device.DType, records []int) (*device.Array, error)
	// Digest writes all records, so that a resumed run detects other ones.
	Digest(w io.Writer) error
}

// Rows returns the rows of x, N×D, unchanged.
func Rows(x *mat.Dense) Inputs { return rows{x} }

type rows struct{ *mat.Dense }

func (r rows) Len() int {
	if r.Dense == nil {
		return 0
	}
	return r.RawMatrix().Rows
}

func (r rows) Batch(dev *device.Device, t device.DType, records []int) (*device.Array, error) {
	out := mat.NewDense(len(records), r.RawMatrix().Cols, nil)
	for k, i := range records {
		out.SetRow(k, r.RawRowView(i))
	}
	return dev.FromDense(t, out), nil
}

func (r rows) Digest(w io.Writer) error { return writeMatrix(w, r.Dense) }

// Rows32 are rows of float32, N×width, one after the other in x: half the memory of Rows. ReadRows reads them.
func Rows32(x []float32, width int) Inputs { return rows32{x, width} }

type rows32 struct {
	x     []float32
	width int
}

func (r rows32) Len() int {
	if r.width < 1 {
		return 0
	}
	return len(r.x) / r.width
}

func (r rows32) row(i int) []float32 { return r.x[i*r.width : (i+1)*r.width] }

func (r rows32) Batch(dev *device.Device, t device.DType, records []int) (*device.Array, error) {
	out := make([]float32, 0, len(records)*r.width)
	for _, i := range records {
		out = append(out, r.row(i)...)
	}
	return converted(dev.From32(out, len(records), r.width), t), nil
}

// Digest writes width and values.
func (r rows32) Digest(w io.Writer) error {
	err := writeAll(w, int64(r.width))
	for i := range r.Len() {
		err = cmp.Or(err, writeAll(w, r.row(i)))
	}
	return err
}

// converted returns x in another type.
func converted(x *device.Array, t device.DType) *device.Array {
	if t == device.Float32 {
		return x
	}
	y := x.Device().New(t, x.Shape()...)
	device.Convert(y, x)
	return y
}

// ReadRows reads the rows of a .npy file of float32, in order, of N×D, or of more dimensions, of which all but the
// first are a row. The error names the file.
func ReadRows(path string) (Inputs, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	m, err := format.ReadNPY[float32](f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(m.Shape) < 2 || len(m.Data) == 0 {
		return nil, bad("%s: shape %v: must be N×D, with N and D at least 1", path, m.Shape)
	}
	return Rows32(m.Data, len(m.Data)/m.Shape[0]), nil
}

// writeMatrix writes shape and values.
func writeMatrix(w io.Writer, m *mat.Dense) error {
	n, d := m.Dims()
	return writeAll(w, []int64{int64(n), int64(d)}, mat.DenseCopyOf(m).RawMatrix().Data)
}

// writeAll writes numbers one after the other.
func writeAll(w io.Writer, parts ...any) error {
	for _, part := range parts {
		if err := binary.Write(w, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return nil
}

// Pixels returns images, N×C×H×W, scaled from [Lo, Hi] to [−1, 1]; values outside are moved to the
// nearer end, and NaN to −1.
func Pixels(m *data.Images) Inputs { return pixels{m} }

type pixels struct{ *data.Images }

func (p pixels) Len() int {
	if p.Images == nil {
		return 0
	}
	return p.Images.Len()
}

func (p pixels) Batch(dev *device.Device, t device.DType, records []int) (*device.Array, error) {
	if !(p.Hi > p.Lo) {
		return nil, bad("images: Lo = %g, Hi = %g: must be increasing", p.Lo, p.Hi)
	}
	values := p.AppendRows(nil, records)
	by := 2 / (p.Hi - p.Lo)
	for i, v := range values {
		u := (v-p.Lo)*by - 1
		if !(u >= -1) {
			u = -1
		}
		values[i] = min(u, 1)
	}
	_, c, h, w := p.Shape()
	x := dev.From32(values, len(records), c, h, w)
	return converted(x, t), nil
}

// Digest writes shape, range, pixels and the images' labels.
func (p pixels) Digest(w io.Writer) error {
	n, c, h, wide := p.Shape()
	if err := writeAll(w, []int64{int64(n), int64(c), int64(h), int64(wide)}, []float32{p.Lo, p.Hi}); err != nil {
		return err
	}
	for i := range n { // not all at once, of which writing makes a copy
		if err := writeAll(w, p.Row(i)); err != nil {
			return err
		}
	}
	return writeAll(w, integers(p.Labels))
}

func integers(labels []int) []int64 {
	out := make([]int64, len(labels))
	for i, l := range labels {
		out[i] = int64(l)
	}
	return out
}
