//go:build unix

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab/must"
)

// write makes the files of a problem of n points in the plane, by the layout of the timing problems.
func write(dir string, n int) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, size := range map[string]int{"x": 2 * n, "y": 2 * n, "a": n, "b": n} {
		v := make([]float64, size)
		for i := range v {
			v[i] = rng.Float64()
			if size == n {
				v[i] = 1 / float64(n)
			}
		}
		data := must.Get(binary.Append(nil, binary.LittleEndian, v))
		must.Do(os.WriteFile(filepath.Join(dir, fmt.Sprintf("n%d_d2_%s.f64", n, name)), data, 0o644))
	}
}

// ask serves the requests and returns the replies.
func ask(dir string, requests ...request) []reply {
	var in, out bytes.Buffer
	for _, q := range requests {
		must.Do(json.NewEncoder(&in).Encode(q))
	}
	must.Do(serve(dir, &in, &out))
	replies := make([]reply, len(requests))
	d := json.NewDecoder(&out)
	for i := range replies {
		must.Do(d.Decode(&replies[i]))
	}
	return replies
}

// Every method solves the same problem, so all values agree to what an L1 error of 1e-9 leaves: 1e-9 of the range of
// the costs, which is at most 2.
func TestMethodsAgree(t *testing.T) {
	dir := t.TempDir()
	write(dir, 40)
	var requests []request
	for _, m := range []string{"auto", "lbfgs", "newton", "sinkhorn", "scaling", "free"} {
		requests = append(requests, request{Method: m, N: 40, D: 2, Ratio: .1, Knob: 1e-9})
	}
	requests = append(requests, request{Method: "exact", N: 40, D: 2})
	replies := ask(dir, requests...)
	exact := replies[len(replies)-1]
	for i, r := range replies[:len(replies)-1] {
		if r.L1 < 0 || r.L1 > 2e-9 || math.Abs(r.Value-replies[0].Value) > 2e-9 || r.Evaluations == 0 {
			t.Errorf("%s: %+v, first %+v", requests[i].Method, r, replies[0])
		}
		if r.Value <= exact.Value {
			t.Errorf("%s: value %g is below the exact %g", requests[i].Method, r.Value, exact.Value)
		}
	}
}

func TestFailures(t *testing.T) {
	dir := t.TempDir()
	write(dir, 4)
	r := ask(dir, request{
		Method: "magic",
		N:      4,
		D:      2,
		Ratio:  1,
	}, request{Method: "scaling", N: 4, D: 2, Ratio: 1e-9})
	for i, want := range []string{`method = "magic"`, "use LBFGS"} {
		if r[i].L1 >= 0 || !strings.Contains(r[i].Note, want) {
			t.Errorf("%+v: want a note with %q", r[i], want)
		}
	}
	for _, q := range []string{`{"method": "auto", "n": 5, "d": 2}`, `{"method"`} {
		if err := serve(dir, strings.NewReader(q), &bytes.Buffer{}); err == nil {
			t.Errorf("%s: no error", q)
		}
	}
}
