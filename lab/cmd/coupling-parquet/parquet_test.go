package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"testing"

	"coupling/lab"

	"github.com/parquet-go/parquet-go"
)

// rows have numbers that JSON has not, a seed beyond an INT64, and a cell without a value.
var rows = []lab.Row{
	{"seed": json.Number("9223372036854775813"), "version": json.Number("3"), "param.name": `a "b", c`, "param.eps": -1.0, "value.loss": math.NaN(), "value.ok": false},
	{"seed": json.Number("9223372036854775813"), "version": json.Number("3"), "param.name": `a "b", c`, "param.eps": json.Number("0"), "value.loss": math.Inf(-1)},
	{"seed": json.Number("9223372036854775813"), "version": json.Number("3"), "param.name": `a "b", c`, "param.eps": 0.5, "value.loss": -0.6931471805599453, "value.ok": true},
}

func TestParquet(t *testing.T) {
	var b bytes.Buffer
	if err := writeParquet(&b, rows); err != nil {
		t.Fatal(err)
	}
	r := parquet.NewReader(bytes.NewReader(b.Bytes()))
	kinds := map[string]string{}
	for _, f := range r.Schema().Fields() {
		kinds[f.Name()] = f.Type().String()
	}
	for col, want := range map[string]string{
		"param.eps": "DOUBLE", "param.name": "STRING",
		"value.loss": "DOUBLE", "value.ok": "BOOLEAN", "seed": "STRING", "version": "INT(64,true)",
	} {
		if kinds[col] != want {
			t.Errorf("column %s is %s, want %s", col, kinds[col], want)
		}
	}
	buf := make([]parquet.Row, 5)
	n, err := r.ReadRows(buf)
	if err != nil && !errors.Is(err, io.EOF) || n != len(rows) {
		t.Fatalf("%d rows, %v", n, err)
	}
	cols := r.Schema().Columns()
	for i, row := range buf[:n] {
		for _, v := range row {
			name := cols[v.Column()][0]
			want := rows[i][name]
			switch {
			case v.IsNull() != (want == nil):
				t.Errorf("row %d %s: %v, want %v", i, name, v, want)
			case want == nil:
			case kinds[name] == "DOUBLE":
				if got := v.Double(); lab.FormatCell(got) != lab.FormatCell(want) {
					t.Errorf("row %d %s: %v, want %v", i, name, got, want)
				}
			case v.String() != lab.FormatCell(want):
				t.Errorf("row %d %s: %s, want %v", i, name, v, want)
			}
		}
	}
}

// The cells of a store below a prefix become rows; a store that is not there is not made.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	s, err := lab.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"test/one", "other"} {
		e := lab.Experiment[int, float64]{Name: name, Version: 1, Run: func(_ context.Context, _ *lab.Cell, p int) (float64, error) { return float64(p) / 2, nil }}
		for i := range 3 {
			if _, err := lab.Do(t.Context(), s, e, 1, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	for prefix, want := range map[string]int64{"": 6, "test/": 3, "none": 0} {
		var b bytes.Buffer
		if err := run([]string{dir, prefix}, &b); err != nil {
			t.Fatal(err)
		}
		if n := parquet.NewReader(bytes.NewReader(b.Bytes())).NumRows(); n != want {
			t.Errorf("%q: %d rows, want %d", prefix, n, want)
		}
	}
	if err := run([]string{dir + "/none"}, io.Discard); err == nil {
		t.Error("a store that is not there")
	}
}
