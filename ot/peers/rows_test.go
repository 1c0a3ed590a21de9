//go:build unix

package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/lab/must"
)

// The arrays of a problem on the line have one exact value by all costs, by sorting, and by listed pairs; with little
// regularisation others are near it, and above.
func TestRows(t *testing.T) {
	const n, m = 20, 24
	rng := rand.New(rand.NewPCG(4, 2))
	in := map[string][]float64{
		"a":      slices.Repeat([]float64{1. / n}, n),
		"b":      slices.Repeat([]float64{1. / m}, m),
		"starts": {0},
	}
	for range n {
		in["x"] = append(in["x"], rng.Float64())
	}
	for range m {
		in["y"] = append(in["y"], rng.Float64())
	}
	for i, x := range in["x"] {
		for j, y := range in["y"] {
			in["c"], in["targets"] = append(in["c"], (x-y)*(x-y)), append(in["targets"], float64(j))
		}
		in["starts"] = append(in["starts"], float64(m*(i+1)))
	}
	in["costs"] = in["c"]
	dir := t.TempDir()
	for name, v := range in {
		data := must.Get(binary.Append(nil, binary.LittleEndian, v))
		must.Do(os.WriteFile(filepath.Join(dir, name+".f64"), data, 0o644))
	}
	of := func(method string, eps float64) request {
		return request{Method: method, Dir: dir, N: n, Ratio: eps, Rho: 1e6, Knob: 1e-9}
	}
	replies := ask(t.TempDir(), of("exact", 0), of("line", 0), of("sparse", 0), of("auto", 1e-3), of("free", 1e-3),
		of("unbalanced", 1e-3), of("quadratic", 1e-4), of("sliced", 0), of("magic", 1))
	exact := replies[0].Value
	for k, far := range []float64{0, 1e-12, 1e-12, 1e-3, 1e-3, 1e-3, 1e-3} {
		if r := replies[k]; r.L1 < 0 || r.L1 > 2e-9 || math.Abs(r.Value-exact) > far || r.Value < exact-1e-12 {
			t.Errorf("reply %d: %+v, want %g", k, r, exact)
		}
	}
	if r := replies[8]; r.L1 >= 0 || !strings.Contains(r.Note, "magic") {
		t.Errorf("%+v: want a note with magic", r)
	}
	empty := `{"method": "line", "dir": "` + t.TempDir() + `"}`
	if err := serve("", strings.NewReader(empty), &bytes.Buffer{}); err == nil {
		t.Error("no error without arrays")
	}
}
