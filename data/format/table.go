package format

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Table is a matrix of numbers in row-major order, under the names of its columns if the text has them.
type Table struct {
	Header     []string // nil: the first line has numbers
	Rows, Cols int
	Values     []float64
}

// ReadTable reads a table of numbers, one row a line. Fields are separated by commas, semicolons,
// tabs or blanks, whichever of them the first line has, in this order. The first line is a header
// if it is all words: none of its fields is empty, a number or begins as one, and not all are marks
// of missing values such as NA. Skipped are a byte order mark, empty lines, and lines that begin
// with #. The error names line and column, and how to write the table instead.
func ReadTable(b []byte) (Table, error) {
	if err := checkText(b); err != nil {
		return Table{}, err
	}
	b = bytes.ReplaceAll(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	lines := bytes.Split(bytes.ReplaceAll(b, []byte("\r"), []byte("\n")), []byte("\n"))
	comma := separator(lines)
	if comma == ' ' {
		comma = ','
		for i, line := range lines {
			lines[i] = bytes.Join(bytes.Fields(line), []byte(","))
		}
	}
	r := csv.NewReader(bytes.NewReader(bytes.Join(lines, []byte("\n"))))
	r.Comma, r.Comment, r.TrimLeadingSpace, r.ReuseRecord = comma, '#', comma != '\t', true
	var t Table
	for first := true; ; first = false {
		record, err := r.Read()
		switch {
		case errors.Is(err, io.EOF) && t.Rows == 0:
			return Table{}, badf("no numbers")
		case errors.Is(err, io.EOF):
			return t, nil
		case errors.Is(err, csv.ErrFieldCount):
			line, _ := r.FieldPos(0)
			return Table{}, badf("line %d: wrong number of fields: %d, the first line has %d",
				line, len(record), r.FieldsPerRecord)
		case err != nil:
			return Table{}, badf("%w", err)
		case first && isHeader(record):
			t.Header = slices.Clone(record)
			continue
		}
		row, err := parseRow(record, first)
		if err != nil {
			line, _ := r.FieldPos(0)
			return Table{}, badf("line %d: %w", line, err)
		}
		t.Rows, t.Cols, t.Values = t.Rows+1, len(row), append(t.Values, row...)
	}
}

// checkText returns an error if the bytes are not text in an encoding that has ASCII in it.
func checkText(b []byte) error {
	switch head := b[:min(len(b), 1<<10)]; {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return badf("the text is UTF-16: fix: save it as UTF-8")
	case bytes.ContainsRune(head, 0):
		return badf("no text, which has no zero bytes, and no NPY file (UTF-16 must be saved as UTF-8)")
	}
	return nil
}

var (
	beginsAsNumber = regexp.MustCompile(`^[-+−–]?[.,]?[0-9]`)
	isMissing      = regexp.MustCompile(`(?i)^(n/?a|#n/a|null|none|nil|missing|\?|-+)$`)
	decimalComma   = regexp.MustCompile(`^[-+]?[0-9]+,[0-9]+$|^[-+]?[0-9]+[;\t ][-+]?[0-9]+$`)
)

// isHeader reports whether a first line is names of columns. An empty name is none: pandas and R
// write one over row numbers, which are no coordinate.
func isHeader(record []string) bool {
	missing := 0
	for _, field := range record {
		field = strings.TrimSpace(field)
		_, err := strconv.ParseFloat(field, 64)
		if err == nil || field == "" || beginsAsNumber.MatchString(field) {
			return false
		}
		if isMissing.MatchString(field) {
			missing++
		}
	}
	return missing < len(record)
}

// separator returns the separator of the fields of the first line that is neither empty nor a comment.
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

// parseRow returns the numbers of a line; the error names the first field that is not one.
func parseRow(record []string, first bool) ([]float64, error) {
	row := make([]float64, len(record))
	for i, field := range record {
		v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err == nil {
			row[i] = v
			continue
		}
		remedy := ""
		switch {
		case field == "" && first:
			remedy = ": a header names each column; pandas names that of its row numbers \"\": " +
				"fix: to_csv(…, index=False)"
		case decimalComma.MatchString(strings.TrimSpace(field)):
			remedy = ": fix: write decimal points, and commas only between numbers"
		}
		return nil, fmt.Errorf("column %d: %s is not a number%s", i+1, clip(field), remedy)
	}
	return row, nil
}
