package format

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ReadTable reads a table of numbers, one row a line, as a matrix in row-major order. Fields are separated by commas,
// semicolons, tabs or blanks, whichever of them the first line has, in this order. The first line may be a header, which
// it is where no field of it is a number: a line with one bad number is an error and not a header. Skipped are a byte
// order mark, empty lines, and lines that begin with #. The error names line and column.
func ReadTable(b []byte) (rows, cols int, x []float64, err error) {
	lines := bytes.Split(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), []byte("\n"))
	comma := separator(lines)
	if comma == ' ' {
		comma = ','
		for i, line := range lines {
			lines[i] = bytes.Join(bytes.Fields(line), []byte(","))
		}
	}
	r := csv.NewReader(bytes.NewReader(bytes.Join(lines, []byte("\n"))))
	r.Comma, r.Comment, r.TrimLeadingSpace, r.ReuseRecord = comma, '#', comma != '\t', true
	for first := true; ; first = false {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, 0, nil, badf("%w", err)
		}
		row, numbers, err := parseRow(record)
		if first && numbers == 0 {
			continue
		}
		if err != nil {
			line, _ := r.FieldPos(0)
			return 0, 0, nil, badf("line %d: %w", line, err)
		}
		cols = len(row)
		rows++
		x = append(x, row...)
	}
	if rows == 0 {
		return 0, 0, nil, badf("no numbers")
	}
	return rows, cols, x, nil
}

// separator returns what is between the fields of the first line that is neither empty nor a comment.
func separator(lines [][]byte) rune {
	for _, line := range lines {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		for _, comma := range ",;\t" {
			if bytes.ContainsRune(line, comma) {
				return comma
			}
		}
		return ' '
	}
	return ','
}

// parseRow returns the numbers of a line and how many of its fields are numbers; the error names the first that is not.
func parseRow(record []string) (row []float64, numbers int, err error) {
	row = make([]float64, len(record))
	for i, field := range record {
		v, bad := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if bad != nil && err == nil {
			err = fmt.Errorf("column %d: %s is not a number", i+1, clip(field))
		}
		if bad == nil {
			numbers++
		}
		row[i] = v
	}
	return row, numbers, err
}
