package store_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"testing"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"

	"github.com/google/go-cmp/cmp"
)

type csvParams struct {
	Eps  float64 `json:"eps"`
	Name string  `json:"name"`
	Deep struct {
		N int `json:"n"`
	} `json:"deep"`
}

type csvValue struct {
	Loss float64   `json:"loss"`
	Path []float64 `json:"path"`
	OK   bool      `json:"ok"`
}

// csvRows computes three cells, one with a loss that is no number.
func csvRows(t *testing.T) []store.Row {
	s := must.Get(lab.OpenStore(t.TempDir()))
	e := lab.Experiment[csvParams, csvValue]{Name: "test/export", Version: 3,
		Run: func(_ context.Context, _ *lab.Cell, p csvParams) (csvValue, error) {
			return csvValue{Loss: math.Log(p.Eps), Path: []float64{1, p.Eps}, OK: p.Eps > 0}, nil
		}}
	var out []store.Row
	for _, eps := range []float64{-1, 0, 0.5} {
		p := csvParams{Eps: eps, Name: `a "b", c`}
		p.Deep.N = 7
		r := must.Get(lab.Do(t.Context(), s, e, 1<<63+5, p))
		rec := must.Get(s.Find(string(r.Key)))
		row := must.Get(rec.Flatten())
		out = append(out, row)
	}
	delete(out[1], "value.ok") // as if an older version lacked it
	out[2]["param.name"] = "=1+1"
	return out
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	must.Do(store.WriteCSV(&b, csvRows(t)))
	recs := must.Get(csv.NewReader(&b).ReadAll())
	at := map[string]int{}
	for i, c := range recs[0] {
		at[c] = i
	}
	var got [][]string
	for _, r := range recs[1:] {
		got = append(got, []string{r[at["seed"]], r[at["param.eps"]], r[at["param.deep.n"]], r[at["param.name"]],
			r[at["value.loss"]], r[at["value.path"]], r[at["value.ok"]]})
	}
	want := [][]string{
		{"9223372036854775813", "-1", "7", `a "b", c`, "NaN", "[1,-1]", "false"},
		{"9223372036854775813", "0", "7", `a "b", c`, "-Inf", "[1,0]", ""},
		{"9223372036854775813", "0.5", "7", "'=1+1", "-0.6931471805599453", "[1,0.5]", "true"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNoRows(t *testing.T) {
	var b bytes.Buffer
	if err := store.WriteCSV(&b, nil); err != nil {
		t.Error(err)
	}
}
