package kit

import (
	"fmt"
	"io"
	"os"

	"coupling/data/format"
	"coupling/lab"
	"coupling/lab/durable"

	"gonum.org/v1/gonum/mat"
)

// Write leaves m as the artifact called name, an NPY file of float32: what a drawing needs and a
// JSON record should not carry.
func Write(c *lab.Cell, name string, m mat.Matrix) error {
	path, err := c.Artifact(name)
	if err != nil {
		return err
	}
	n, d := m.Dims()
	x := make([]float32, 0, n*d)
	for i := range n {
		for j := range d {
			x = append(x, float32(m.At(i, j)))
		}
	}
	return durable.WriteFile(path, 0o666, func(w io.Writer) error { return format.WriteNPY(w, []int{n, d}, x) })
}

// maxBytes bounds what Matrix will take into memory.
const maxBytes = 1 << 32

// Matrix returns the matrix that [Write] left, for drawings. open is the Open of a [lab.Result].
// Where it cannot be read, the study ends with the error.
func Matrix(open func(name string) (*os.File, error), name string) *mat.Dense {
	f := lab.Must(open(name))
	defer f.Close()
	a, err := format.ReadNPY[float32](f, maxBytes)
	if err == nil && len(a.Shape) != 2 {
		err = fmt.Errorf("shape %v: want a matrix", a.Shape)
	}
	if err != nil {
		lab.Check(fmt.Errorf("%s: %w", name, err))
	}
	x := make([]float64, len(a.Data))
	for i, v := range a.Data {
		x[i] = float64(v)
	}
	return mat.NewDense(a.Shape[0], a.Shape[1], x)
}
