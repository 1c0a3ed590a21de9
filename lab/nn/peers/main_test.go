//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"coupling/lab/must"
)

// Each kind of request is answered with a time, and a wrong one with a note.
func TestServe(t *testing.T) {
	in := strings.NewReader(`{"kind": "gemm", "type": "float64", "trans": "T", "n": 8}
{"kind": "conv", "pass": "weight", "n": 1, "in": 2, "out": 3, "side": 5, "kernel": 3, "stride": 1}
{"kind": "clip", "net": "lenet", "n": 2}
{"kind": "step", "net": "nobody", "n": 2}
`)
	var out strings.Builder
	must.Do(serve(in, &out))
	replies := json.NewDecoder(strings.NewReader(out.String()))
	for i := range 4 {
		var r reply
		must.Do(replies.Decode(&r))
		if wrong := i == 3; wrong != (r.Note != "") || wrong != (r.CPU == 0) {
			t.Errorf("request %d: %+v", i, r)
		}
	}
}
