//go:build unix

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/lab/must"
)

// line writes the arrays of a problem of n to m points of the line, as points, as costs and as listed pairs.
func line(dir string, n, m int) {
	rng := rand.New(rand.NewPCG(4, 2))
	in := map[string][]float64{
		"a":      slices.Repeat([]float64{1 / float64(n)}, n),
		"b":      slices.Repeat([]float64{1 / float64(m)}, m),
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
	for name, v := range in {
		data := must.Get(binary.Append(nil, binary.LittleEndian, v))
		must.Do(os.WriteFile(filepath.Join(dir, name+".f64"), data, 0o644))
	}
}

// ask serves the requests and returns the replies.
func ask(requests ...request) []reply {
	var in, out bytes.Buffer
	for _, q := range requests {
		must.Do(json.NewEncoder(&in).Encode(q))
	}
	must.Do(serve(&in, &out))
	replies := make([]reply, len(requests))
	d := json.NewDecoder(&out)
	for i := range replies {
		must.Do(d.Decode(&replies[i]))
	}
	return replies
}

// A problem on the line has one exact value by all costs, by sorting, and by listed pairs; with little regularisation
// others are above it and near it, and the entropic ones agree to what an L1 error of 1e-9 leaves.
func TestMethods(t *testing.T) {
	dir := t.TempDir()
	line(dir, 20, 24)
	methods := []struct {
		name     string
		eps, far float64
	}{
		{"exact", 0, 0}, {"line", 0, 1e-12}, {"sparse", 0, 1e-12}, {"auto", .01, .01}, {"free", .01, .01},
		{"newton", .01, .01}, {"scaling", .01, .01}, {"unbalanced", 1e-3, 1e-3}, {"quadratic", 1e-4, 1e-3},
		{"sliced", 0, 0.1}, {"loss sharp", .01, .01},
	}
	var requests []request
	for _, m := range methods {
		requests = append(requests, request{Method: m.name, Dir: dir, Ratio: m.eps, Rho: 1e6, Knob: 1e-9})
	}
	replies := ask(requests...)
	exact, auto := replies[0].Value, replies[3].Value
	for k, r := range replies {
		m := methods[k]
		if r.L1 < 0 || r.L1 > 2e-9 || math.Abs(r.Value-exact) > m.far || r.Value < exact-1e-12 {
			t.Errorf("%s: %+v, exact %g", m.name, r, exact)
		}
		if m.eps == .01 && math.Abs(r.Value-auto) > 2e-9 {
			t.Errorf("%s: value %g, auto %g", m.name, r.Value, auto)
		}
	}
}

func TestFailures(t *testing.T) {
	dir := t.TempDir()
	line(dir, 4, 4)
	r := ask(request{Method: "magic", Dir: dir}, request{Method: "scaling", Dir: dir, Ratio: 1e-9})
	for i, want := range []string{`method = "magic"`, "use LBFGS"} {
		if r[i].L1 >= 0 || !strings.Contains(r[i].Note, want) {
			t.Errorf("%+v: want a note with %q", r[i], want)
		}
	}
	for _, q := range []string{`{"method": "line", "dir": "` + t.TempDir() + `"}`, `{"method"`} {
		if err := serve(strings.NewReader(q), &bytes.Buffer{}); err == nil {
			t.Errorf("%s: no error", q)
		}
	}
}
