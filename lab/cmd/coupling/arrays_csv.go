package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// parseCSV reads one row a line. The first line may be a header, which is one where no field is a number: a line with a
// slip of the pen is an error and not a header. A byte order mark is skipped, and so are lines that begin with #.
func parseCSV(b []byte) (*mat.Dense, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))))
	r.Comment, r.TrimLeadingSpace, r.ReuseRecord = '#', true, true
	var x []float64
	rows, cols := 0, 0
	for first := true; ; first = false {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		row, numbers, err := parseRow(record)
		if first && numbers == 0 {
			continue
		}
		if err != nil {
			line, _ := r.FieldPos(0)
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

// parseRow returns the numbers of a line and how many of its fields are numbers; the error names the first that is not.
func parseRow(record []string) (row []float64, numbers int, err error) {
	row = make([]float64, len(record))
	for i, field := range record {
		v, bad := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if bad != nil && err == nil {
			err = fmt.Errorf("column %d: %q is not a number", i+1, field)
		}
		if bad == nil {
			numbers++
		}
		row[i] = v
	}
	return row, numbers, err
}
