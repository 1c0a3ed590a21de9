package export

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"testing"

	"coupling/lab"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

type params struct {
	Eps  float64 `json:"eps"`
	Name string  `json:"name"`
	Deep struct {
		N int `json:"n"`
	} `json:"deep"`
}

type value struct {
	Loss float64   `json:"loss"`
	Path []float64 `json:"path"`
	OK   bool      `json:"ok"`
}

// rows computes three cells, one with a loss that is no number.
func rows(t *testing.T) []lab.Row {
	t.Helper()
	s, err := lab.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return rowsIn(t, s)
}

func rowsIn(t *testing.T, s *lab.Store) []lab.Row {
	t.Helper()
	e := lab.Experiment[params, value]{Name: "test/export", Version: 3, Run: func(_ context.Context, _ *lab.Cell, p params) (value, error) {
		return value{Loss: math.Log(p.Eps), Path: []float64{1, p.Eps}, OK: p.Eps > 0}, nil
	}}
	var out []lab.Row
	for _, eps := range []float64{-1, 0, 0.5} {
		p := params{Eps: eps, Name: `a "b", c`}
		p.Deep.N = 7
		r, err := lab.Do(t.Context(), s, e, 1<<63+5, p)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := s.Find(string(r.Key))
		if err != nil {
			t.Fatal(err)
		}
		row, err := rec.Flatten()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	delete(out[1], "value.ok") // as if an older version lacked it
	return out
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := CSV(&b, rows(t)); err != nil {
		t.Fatal(err)
	}
	recs, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, c := range recs[0] {
		at[c] = i
	}
	var got [][]string
	for _, r := range recs[1:] {
		got = append(got, []string{r[at["seed"]], r[at["param.eps"]], r[at["param.deep.n"]], r[at["param.name"]], r[at["value.loss"]], r[at["value.path"]], r[at["value.ok"]]})
	}
	want := [][]string{
		{"9223372036854775813", "-1", "7", `a "b", c`, "NaN", "[1,-1]", "false"},
		{"9223372036854775813", "0", "7", `a "b", c`, "-Inf", "[1,0]", ""},
		{"9223372036854775813", "0.5", "7", `a "b", c`, "-0.6931471805599453", "[1,0.5]", "true"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParquet(t *testing.T) {
	var b bytes.Buffer
	in := rows(t)
	if err := Parquet(&b, in); err != nil {
		t.Fatal(err)
	}
	r := parquet.NewReader(bytes.NewReader(b.Bytes()))
	kinds := map[string]string{}
	for _, f := range r.Schema().Fields() {
		kinds[f.Name()] = f.Type().String()
	}
	for col, want := range map[string]string{
		"param.eps": "DOUBLE", "param.deep.n": "INT(64,true)", "param.name": "STRING",
		"value.loss": "DOUBLE", "value.ok": "BOOLEAN", "seed": "STRING", "version": "INT(64,true)",
	} {
		if kinds[col] != want {
			t.Errorf("column %s is %s, want %s", col, kinds[col], want)
		}
	}
	buf := make([]parquet.Row, 5)
	n, err := r.ReadRows(buf)
	if err != nil && !errors.Is(err, io.EOF) || n != len(in) {
		t.Fatalf("%d rows, %v", n, err)
	}
	cols := r.Schema().Columns()
	for i, row := range buf[:n] {
		for _, v := range row {
			name := cols[v.Column()][0]
			want := in[i][name]
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

func TestNoRows(t *testing.T) {
	var b bytes.Buffer
	if err := errors.Join(CSV(&b, nil), Parquet(&b, nil)); err != nil {
		t.Error(err)
	}
}
