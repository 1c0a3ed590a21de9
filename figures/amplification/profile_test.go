package amplification

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"coupling/figures/figtest"
	"coupling/lab/must"
)

// adpCase is a row of figures_adp.json, reference values.
type adpCase struct {
	Mech, Scale, Rate           string
	K                           int
	Eps                         string
	Specific, Agnostic, Posthoc string
}

func adpCases(t *testing.T) []adpCase {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "refs", "dp", "figures_adp.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("no reference values: %v", err)
	}
	var ref struct{ Cases []adpCase }
	must.Do(json.Unmarshal(b, &ref))
	return ref.Cases
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && x != 0 && !math.IsInf(x, 0) {
		t.Fatal(err)
	}
	return x
}

// The cells behind Figures 4, 5, 8 to 10 and 14 to 16 agree with all references. Those are good to
// 1e-14, package dp to 1e-12.
func TestProfileReferences(t *testing.T) {
	s := figtest.Store(t)
	kinds := map[string]string{"gauss": "gaussian", "laplace": "laplace", "rr": "response"}
	for i, c := range adpCases(t) {
		if testing.Short() && i%3 > 0 {
			continue
		}
		at := ProfileParams{Setting: Mechanism{kinds[c.Mech], number(t, c.Scale), number(t, c.Rate)}, Group: c.K,
			Eps: []float64{number(t, c.Eps)}}
		got := do(t, s, profileOf, at)
		for _, v := range []struct {
			what string
			got  float64
			want string
		}{{"specific", got.Specific[0], c.Specific}, {"agnostic", got.Agnostic[0], c.Agnostic},
			{"post-hoc", got.PostHoc[0], c.Posthoc}} {
			want := min(1, number(t, v.want))
			if want < 1e-300 { // zero, or below the range of float64
				if v.got > math.Log(1e-30) {
					t.Errorf("%+v: %s log δ = %v, want δ = %s", at, v.what, v.got, v.want)
				}
				continue
			}
			if d := v.got - math.Log(want); !(math.Abs(d) <= 1e-12+4e-16*math.Abs(v.got)) {
				t.Errorf("%+v: %s log δ is off by %.2g", at, v.what, d)
			}
		}
	}
}
