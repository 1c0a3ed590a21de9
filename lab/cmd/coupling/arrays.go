package main

import (
	"fmt"
	"io"

	"coupling/data/format"
	"coupling/lab/durable"

	"gonum.org/v1/gonum/mat"
)

// readVector reads weights: a row or a column of numbers. There are none in no file.
func readVector(path string) ([]float64, error) {
	if path == "" {
		return nil, nil
	}
	m := orUsage(readInput(path))
	r, c := m.Dims()
	if r != 1 && c != 1 {
		return nil, fmt.Errorf("%s: %d×%d: want one row or one column", path, r, c)
	}
	return m.RawMatrix().Data, nil
}

// writeNPY writes float64 numbers of the given shape.
func writeNPY(path string, shape []int, x []float64) error {
	return durable.WriteFile(path, 0o666, func(w io.Writer) error { return format.WriteNPY(w, shape, x) })
}

func writeMatrix(path string, m *mat.Dense) error {
	r, c := m.Dims()
	return writeNPY(path, []int{r, c}, m.RawMatrix().Data)
}
