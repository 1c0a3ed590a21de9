package contour_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"coupling/dp/contour"
	"coupling/dp/pair"
	"coupling/lab/must"
)

// refCase is one composition of ../shared/refs/dp, see the README there.
type refCase struct {
	ID    string
	Noise string
	Scale string
	P, Q  struct{ W, Mean []string }
	T     int
	Exact []struct {
		Dir, Delta, Eps string
		Err             json.RawMessage `json:"err_est"`
	}
}

// readRefs reads a reference file; its NaN and Infinity are not JSON.
func readRefs(t testing.TB, path string) []refCase {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("reference values are not here: %v", err)
	}
	text := strings.NewReplacer(": NaN", ": null", ": Infinity", ": null").Replace(string(raw))
	var file struct{ Cases []refCase }
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return file.Cases
}

func number(s string) float64 {
	v := must.Get(strconv.ParseFloat(s, 64))
	return v
}

// pairOf builds the pair of a case in a direction. Where P or Q has a component at mean 0 its weight is what the others
// leave: the reference did the same, in more digits.
func (c refCase) pairOf(t testing.TB, dir string) pair.Pair {
	side := func(w, m []string) []pair.Component {
		var out []pair.Component
		for i := range w {
			out = append(out, pair.Component{LogWeight: math.Log(number(w[i])), Mean: number(m[i])})
		}
		return out
	}
	p := must.Get(pair.NewMixture(pair.Gaussian, number(c.Scale), side(c.P.W, c.P.Mean), side(c.Q.W, c.Q.Mean)))
	if dir == "reverse" {
		return p.Swap()
	}
	return p
}

// checkRefs compares ε with a reference to 1e-9 relative, the accuracy that its README states, and demands that the
// bounds are as narrow. References whose own error estimate is missing or above that are no references.
func checkRefs(t *testing.T, cases []refCase) {
	for _, c := range cases {
		for _, e := range c.Exact {
			var own float64
			if json.Unmarshal(e.Err, &own) != nil || string(e.Err) == "null" || own > 1e-12 || e.Eps == "nan" {
				t.Logf("%s %s δ=%s: the reference (%s) has error estimate %s, not compared", c.ID, e.Dir, e.Delta,
					e.Eps, e.Err)
				continue
			}
			b, err := contour.Accountant{}.Bound(context.Background(),
				repeat(c.pairOf(t, e.Dir), c.T), pair.EpsilonAt(number(e.Delta)))
			if err != nil {
				t.Errorf("%s %s δ=%s: %v", c.ID, e.Dir, e.Delta, err)
				continue
			}
			want := number(e.Eps)
			tol := 1e-9 * want
			if !(b.Lower <= want+tol && b.Upper >= want-tol && b.Upper-b.Lower <= 2*tol) {
				t.Errorf("%s %s δ=%s: ε in [%.15g, %.15g] (width %.2g), want %.15g", c.ID, e.Dir, e.Delta, b.Lower,
					b.Upper, b.Upper-b.Lower, want)
			}
		}
	}
}

func TestReferences(t *testing.T) {
	if testing.Short() {
		t.Skip("the cases in testdata are compared in short")
	}
	files, err := filepath.Glob("../../../shared/refs/dp/composed_*.json")
	if err != nil || len(files) == 0 {
		t.Skip("../shared/refs/dp/composed_*.json are not here: only the cases in testdata are compared")
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) { checkRefs(t, readRefs(t, f)) })
	}
}
