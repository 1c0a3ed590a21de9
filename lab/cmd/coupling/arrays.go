package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"coupling/data/format"
	"coupling/lab"

	"gonum.org/v1/gonum/mat"
)

// readMatrix reads a matrix of numbers from NPY or CSV. A vector is one column.
func readMatrix(path string) (*mat.Dense, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var m *mat.Dense
	if strings.EqualFold(filepath.Ext(path), ".npy") {
		m, err = parseNPY(b)
	} else {
		m, err = parseCSV(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// readVector reads weights: a row or a column of numbers.
func readVector(path string) ([]float64, error) {
	m, err := readMatrix(path)
	if err != nil {
		return nil, err
	}
	r, c := m.Dims()
	if r != 1 && c != 1 {
		return nil, fmt.Errorf("%s: %d×%d: want one row or one column", path, r, c)
	}
	return m.RawMatrix().Data, nil
}

// writeNPY writes float64 numbers of the given shape.
func writeNPY(path string, shape []int, x []float64) error {
	return lab.WriteFile(path, func(w io.Writer) error { return format.WriteNPY(w, shape, x) })
}

func writeMatrix(path string, m *mat.Dense) error {
	r, c := m.Dims()
	return writeNPY(path, []int{r, c}, m.RawMatrix().Data)
}
