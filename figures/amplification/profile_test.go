package amplification

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"coupling/figures/figtest"
	"coupling/lab/must"
)

// adpCase is a row of ../shared/refs/dp/figures_adp.json.
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

// δ falls with ε and rises with the group and the rate; the tight bound is below the others, and
// equal to them for one record.
func TestProfileLaws(t *testing.T) {
	s := figtest.Store(t)
	eps := space(.05, 4, 9)
	const tol = 1e-11 // of log δ: 1e-12 each, and a few roundings
	for _, at := range []Mechanism{{"gaussian", 2, .2}, {"laplace", 1, .1}, {"response", .8, .2}} {
		var last []float64
		for _, k := range adpGroups {
			got := do(t, s, profileOf, ProfileParams{at, k, eps})
			falling := slices.Clone(got.Specific)
			slices.Reverse(falling)
			finite := slices.DeleteFunc(falling, func(v float64) bool { return math.IsInf(v, -1) })
			rising(t, at.String()+": δ as ε falls", finite, tol)
			atMost(t, at.String()+": specific against agnostic", exps(got.Specific), exps(got.Agnostic), tol)
			atMost(t, at.String()+": specific against post-hoc", exps(got.Specific), exps(got.PostHoc), tol)
			if k == 1 {
				atMost(t, at.String()+": post-hoc of one record", exps(got.PostHoc), exps(got.Specific), tol)
				atMost(t, at.String()+": agnostic of one record", exps(got.Agnostic), exps(got.Specific), tol)
			} else {
				atMost(t, at.String()+": a smaller group", last, exps(got.Specific), tol)
			}
			last = exps(got.Specific)
			for _, r := range got.Removed {
				if r < 0 || r > k {
					t.Errorf("%v: %d of %d removed", at, r, k)
				}
			}
		}
		more := at
		more.Rate *= 1.5
		atMost(t, at.String()+": a smaller rate", exps(do(t, s, profileOf, ProfileParams{at, 4, eps}).Specific),
			exps(do(t, s, profileOf, ProfileParams{more, 4, eps}).Specific), tol)
	}
}
