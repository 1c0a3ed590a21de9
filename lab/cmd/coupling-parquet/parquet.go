package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"

	"coupling/lab"

	"github.com/parquet-go/parquet-go"
)

// writeParquet writes rows as one row group with an optional column for each of
// [lab.Columns]: INT64, DOUBLE, BOOLEAN, or else text. A column whose rows
// disagree on the type is DOUBLE if all are numbers, else text.
func writeParquet(w io.Writer, rows []lab.Row) error {
	cols := lab.Columns(rows)
	sort.Strings(cols) // the order in which Parquet lays out the fields of a group
	group := parquet.Group{}
	kinds := make([]kind, len(cols))
	for i, c := range cols {
		kinds[i] = columnKind(rows, c)
		group[c] = parquet.Optional(kinds[i].node())
	}
	out := parquet.NewWriter(w, parquet.NewSchema("cells", group), parquet.Compression(&parquet.Zstd))
	for _, r := range rows {
		row := make(parquet.Row, len(cols))
		for i, c := range cols {
			if r[c] == nil {
				row[i] = parquet.NullValue().Level(0, 0, i)
			} else {
				row[i] = kinds[i].value(r[c]).Level(0, 1, i)
			}
		}
		if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
			return fmt.Errorf("parquet: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return nil
}

// kind is the type of a column, ordered so that the wider one is larger.
type kind int

const (
	unknown kind = iota
	boolean
	integer
	double
	text
)

func columnKind(rows []lab.Row, col string) kind {
	k := unknown
	for _, r := range rows {
		have := cellKind(r[col])
		if have == boolean && k > boolean || k == boolean && have > boolean {
			return text
		}
		k = max(k, have)
	}
	if k == unknown {
		return text
	}
	return k
}

func cellKind(v any) kind {
	switch v := v.(type) {
	case nil:
		return unknown
	case bool:
		return boolean
	case float64:
		return double
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return integer
		}
		return text // a 64-bit seed does not fit a signed integer, nor a double exactly
	}
	return text
}

func (k kind) node() parquet.Node {
	return [...]parquet.Node{
		boolean: parquet.Leaf(parquet.BooleanType), integer: parquet.Int(64), double: parquet.Leaf(parquet.DoubleType), text: parquet.String(),
	}[k]
}

// value is a cell of a column of the kind.
func (k kind) value(v any) parquet.Value {
	switch x, _ := lab.Number(v); k {
	case boolean:
		return parquet.ValueOf(v)
	case integer:
		i, _ := v.(json.Number).Int64() // see cellKind
		return parquet.Int64Value(i)
	case double:
		return parquet.DoubleValue(x)
	}
	return parquet.ByteArrayValue([]byte(lab.FormatCell(v)))
}
