package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"coupling/data/format"
	"coupling/lab"

	"gonum.org/v1/gonum/mat"
)

// maxNumbers bounds what a file may hold: 16 GiB of float64.
const maxNumbers = 1 << 31

// readMatrix reads a matrix of numbers: NPY (float64, float32 or int64) or CSV
// with one row a line and at most one header line. A vector is one column.
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

func parseNPY(b []byte) (*mat.Dense, error) {
	shape, x, err := numbers[float64](b)
	if err != nil {
		var other error
		if shape, x, other = numbers[float32](b); other != nil {
			if shape, x, other = numbers[int64](b); other != nil {
				return nil, err
			}
		}
	}
	switch {
	case len(shape) == 1:
		shape = []int{shape[0], 1}
	case len(shape) != 2:
		return nil, fmt.Errorf("shape %v: want a vector or a matrix", shape)
	}
	if len(x) == 0 {
		return nil, fmt.Errorf("shape %v: no numbers", shape)
	}
	return mat.NewDense(shape[0], shape[1], x), nil
}

func numbers[T format.Element](b []byte) ([]int, []float64, error) {
	a, err := format.ReadNPY[T](bytes.NewReader(b), maxNumbers)
	if err != nil {
		return nil, nil, err
	}
	x := make([]float64, len(a.Data))
	for i, v := range a.Data {
		x[i] = float64(v)
	}
	return a.Shape, x, nil
}

func parseCSV(b []byte) (*mat.Dense, error) {
	r := csv.NewReader(bytes.NewReader(b))
	r.Comment, r.TrimLeadingSpace, r.ReuseRecord = '#', true, true
	var x []float64
	rows, cols := 0, 0
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		row, err := parseRow(record)
		line, _ := r.FieldPos(0)
		switch {
		case err != nil && rows == 0 && cols == 0:
			cols = len(record) // a header
			continue
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		cols = len(row)
		rows++
		x = append(x, row...)
	}
	if rows == 0 {
		return nil, errors.New("no numbers")
	}
	return mat.NewDense(rows, cols, x), nil
}

func parseRow(record []string) ([]float64, error) {
	row := make([]float64, len(record))
	for i, field := range record {
		v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil {
			return nil, fmt.Errorf("column %d: %q is not a number", i+1, field)
		}
		row[i] = v
	}
	return row, nil
}

// writeNPY writes float64 numbers of the given shape.
func writeNPY(path string, shape []int, x []float64) error {
	return lab.WriteFile(path, func(w io.Writer) error { return format.WriteNPY(w, shape, x) })
}

func writeMatrix(path string, m *mat.Dense) error {
	r, c := m.Dims()
	return writeNPY(path, []int{r, c}, m.RawMatrix().Data)
}
