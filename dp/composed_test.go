package dp

import (
	"math"
	"strconv"
	"testing"

	"coupling/dp/pair"
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
			out = append(out, pair.Component{LogWeight: math.Log(number(t, w[i])), Mean: number(t, m[i])})
		}
		return out
	}
	p, err := pair.NewMixture(pair.Gaussian, number(t, c.Scale), list(c.P.W, c.P.Mean), list(c.Q.W, c.Q.Mean))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Every accountant must enclose the exact ε of compositions; what calls itself exact must agree to the references' 1e-9.
func TestReferenceCompositions(t *testing.T) {
	for _, file := range []string{"composed_A.json", "composed_A2.json", "composed_B.json"} {
		var ref struct{ Cases []composedCase }
		t.Run(file, func(t *testing.T) {
			reference(t, file, &ref)
			for _, c := range ref.Cases {
				checkComposed(t, c)
			}
		})
	}
}

func checkComposed(t *testing.T, c composedCase) {
	t.Helper()
	forward := c.pair(t)
	for _, e := range c.Exact {
		want, err := strconv.ParseFloat(e.Eps, 64)
		if err != nil || math.IsNaN(want) {
			continue
		}
		est, ok := e.ErrEst.(float64)
		if !ok || math.IsNaN(est) {
			continue // the reference's contours did not agree at all
		}
		tol := max(1e-9, 20*est/want)
		p := forward
		if e.Dir == "reverse" {
			p = p.Swap()
		}
		delta := number(t, e.Delta)
		steps := []pair.Step{{Pair: p, Times: c.T}}
		for _, a := range []Accountant{Best{}, RDP{}} {
			got, err := a.Epsilon(steps, delta)
			if err != nil {
				t.Errorf("%s %s δ=%s by %s: %v", c.ID, e.Dir, e.Delta, a.Name(), err)
				continue
			}
			if got.Upper < want*(1-tol) || got.Lower > want*(1+tol) {
				t.Errorf("%s %s δ=%s by %s: [%.12g, %.12g] does not hold %.12g", c.ID, e.Dir, e.Delta, a.Name(), got.Lower, got.Upper, want)
			}
			if kindOf(got.Lower, got.Upper) == Exact && math.Abs(got.Upper-want) > tol*want+2*(got.Upper-got.Lower) {
				t.Errorf("%s %s δ=%s by %s: %.12g, want %.12g", c.ID, e.Dir, e.Delta, a.Name(), got.Upper, want)
			}
		}
	}
}
