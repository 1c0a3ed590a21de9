package dp

import (
	"context"
	"math"
	"strconv"
	"testing"

	"coupling/dp/internal/refs"
	"coupling/dp/pair"
	"coupling/dp/rdp"
)

type composedCase struct {
	ID, Noise, Scale string
	P, Q             struct{ W, Mean []string }
	T                int
	Exact            []struct {
		Dir, Delta, Eps string
		ErrEst          any `json:"err_est"`
	}
}

func (c composedCase) pair(t *testing.T) pair.Pair {
	t.Helper()
	list := func(w, m []string) []pair.Component {
		var out []pair.Component
		for i := range w {
			out = append(out, pair.Component{LogWeight: math.Log(refs.Number(t, w[i])), Mean: refs.Number(t, m[i])})
		}
		return out
	}
	p := must(pair.NewMixture(pair.Gaussian, refs.Number(t, c.Scale), list(c.P.W, c.P.Mean), list(c.Q.W, c.Q.Mean)))
	return p
}

// Every accountant must enclose the exact ε of compositions; what calls itself exact must agree to
// the references' 1e-9. Entries whose error estimate says nothing are left out.
func TestReferenceCompositions(t *testing.T) {
	for _, file := range []string{"composed_A.json", "composed_A2.json", "composed_B.json"} {
		var ref struct{ Cases []composedCase }
		t.Run(file, func(t *testing.T) {
			refs.Load(t, file, &ref)
			for i, c := range ref.Cases {
				if !testing.Short() || i%3 == 0 {
					checkComposed(t, c)
				}
			}
		})
	}
}

func checkComposed(t *testing.T, c composedCase) {
	t.Helper()
	forward := c.pair(t)
	for _, e := range c.Exact {
		p := forward
		if e.Dir == "reverse" {
			p = p.Swap()
		}
		delta := refs.Number(t, e.Delta)
		steps := []pair.Step{{Pair: p, Times: c.T}}
		want, err := strconv.ParseFloat(e.Eps, 64)
		est, ok := e.ErrEst.(float64)
		tol := max(1e-9, 20*est/want)
		if err != nil || math.IsNaN(want) || !ok || !(est < 1e-6*want) {
			// The reference's contours did not agree: two of our own, independent of package contour, must.
			want, tol = recompute(t, c, p, delta)
		}
		for _, a := range []Accountant{Best{}, rdp.Accountant{}} {
			got, err := a.Bound(context.Background(), steps, pair.EpsilonAt(delta))
			if err != nil {
				t.Errorf("%s %s δ=%s by %s: %v", c.ID, e.Dir, e.Delta, a.Name(), err)
				continue
			}
			if got.Upper < want*(1-tol) || got.Lower > want*(1+tol) {
				t.Errorf("%s %s δ=%s by %s: [%.12g, %.12g] does not hold %.12g", c.ID, e.Dir, e.Delta, a.Name(),
					got.Lower, got.Upper, want)
			}
			if got.Within(exactWidth) && math.Abs(got.Upper-want) > tol*want+2*(got.Upper-got.Lower) {
				t.Errorf("%s %s δ=%s by %s: %.12g, want %.12g", c.ID, e.Dir, e.Delta, a.Name(), got.Upper, want)
			}
		}
	}
}

// recompute stands in for a reference, with a tolerance.
func recompute(t *testing.T, c composedCase, p pair.Pair, delta float64) (eps, tol float64) {
	t.Helper()
	// where to look, within a fifth
	near := must(Best{}.Bound(context.Background(), []pair.Step{{Pair: p, Times: c.T}}, pair.EpsilonAt(delta)))
	eps, apart, ok := independent(p, refs.Number(t, c.Scale), c.T, delta, near.Upper*.95)
	if !ok || apart > 1e-7 {
		t.Fatalf("%s at δ = %v: independent contours give ε = %v and are apart by %v (%v)", c.ID, delta, eps, apart, ok)
	}
	t.Logf("%s at δ = %v: recomputed ε = %.12g, apart by %.2g, accounted [%.12g, %.12g]", c.ID, delta, eps, apart,
		near.Lower, near.Upper)
	return eps, max(1e-9, 4*apart)
}
