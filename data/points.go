package data

import (
	"bytes"
	"fmt"
	"math"
	"os"

	"coupling/data/format"

	"gonum.org/v1/gonum/mat"
)

// ReadPoints reads a matrix of numbers, a point in each row, from an NPY file or
// from text: CSV, TSV, or columns between semicolons or blanks, as [format.ReadTable]
// and [format.ReadNPYMatrix] take them. A vector is one column. Which of them a
// file is shows in its first bytes; its name does not matter. The error names the
// file and, for text, line and column; it wraps [ErrCorrupt] where the content is
// wrong. The file is read into memory.
func ReadPoints(path string) (*mat.Dense, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	var rows, cols int
	var x []float64
	switch {
	case bytes.HasPrefix(b, []byte("\x93NUMPY")):
		rows, cols, x, err = format.ReadNPYMatrix(bytes.NewReader(b), math.MaxInt/8)
	case bytes.HasPrefix(b, []byte("PK\x03\x04")):
		err = fmt.Errorf("%w: it is a zip archive such as .npz; fix: unzip it and give one of the .npy files in it", ErrCorrupt)
	default:
		rows, cols, x, err = format.ReadTable(b)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", path, err)
	}
	return mat.NewDense(rows, cols, x), nil
}
