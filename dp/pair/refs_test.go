package pair

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"coupling/dp/internal/refs"
	"coupling/lab/must"
)

type refMixture struct{ W, Mean []string }

func (m refMixture) components(t *testing.T) []Component {
	t.Helper()
	var out []Component
	for i := range m.W {
		out = append(out, Component{LogWeight: math.Log(refs.Number(t, m.W[i])), Mean: refs.Number(t, m.Mean[i])})
	}
	return out
}

type baseCase struct {
	ID, Noise, Scale string
	P, Q             refMixture
	Delta            map[string]string
	DeltaReverse     map[string]string `json:"delta_reverse"`
	RDP              map[string]string
	RDPReverse       map[string]string `json:"rdp_reverse"`
}

func (c baseCase) pair(t *testing.T) *Mixture {
	t.Helper()
	noise := Gaussian
	if c.Noise == "laplace" {
		noise = Laplace
	}
	m := must.Get(NewMixture(noise, refs.Number(t, c.Scale), c.P.components(t), c.Q.components(t)))
	return m
}

// The references are quadratures with 40 digits.
func TestReferencePairs(t *testing.T) {
	var ref struct{ Cases []baseCase }
	refs.Load(t, "single_base.json", &ref)
	for _, c := range ref.Cases {
		t.Run(c.ID, func(t *testing.T) {
			m := c.pair(t)
			if s := c.sampled(t); s != nil {
				// The same pair by its construction; weights agree to some 1e-15.
				for e := -1.0; e < 4; e += 0.5 {
					if a, b := m.LogDelta(e), s.LogDelta(e); math.Abs(a-b) > 1e-13*(1+math.Abs(a)) {
						t.Errorf("log δ(%v): constructed %v, explicit %v", e, b, a)
					}
				}
			}
			checkDelta(t, m, c.Delta)
			checkDelta(t, m.Swap(), c.DeltaReverse)
			checkRenyi(t, m, c.RDP)
			checkRenyi(t, m.Swap(), c.RDPReverse)
		})
	}
}

// sampled builds the pair of a batch of fixed size from the numbers in its name, nil for other cases.
func (c baseCase) sampled(t *testing.T) *Mixture {
	t.Helper()
	var kind, noise string
	var scale float64
	var size, n int
	for _, format := range []string{"wor-sub-%5s-s%g-N%d-n%d", "wr-sub-%5s-s%g-N%d-n%d"} {
		if _, err := fmt.Sscanf(c.ID, format, &noise, &scale, &size, &n); err == nil {
			kind = format[:2]
		}
	}
	family := Gaussian
	var m *Mixture
	var err error
	switch {
	case strings.HasPrefix(c.ID, "wr-sub-laplace"):
		m, err = draws(Laplace, 1, 8, 100)
	case kind == "wo":
		m, err = fixed(family, scale, n, size)
	case kind == "wr":
		m, err = draws(family, scale, n, size)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func checkDelta(t *testing.T, p Pair, want map[string]string) {
	t.Helper()
	for e, s := range want {
		got, want := p.LogDelta(refs.Number(t, e)), refs.Log(t, s)
		if want < math.Log(1e-35) && p.(*Mixture).Noise() == Laplace { // noise of the reference where δ = 0
			continue
		}
		// Relative 1e-12 in δ; log δ itself has 16 digits, which matters below 1e-300.
		if tol := 1e-12 + 4e-16*math.Abs(want); !(math.Abs(got-want) <= tol) && got != want {
			t.Errorf("log δ(%s) = %.17g, want %.17g: relative error %.2g of δ", e, got, want, got-want)
		}
	}
}

func checkRenyi(t *testing.T, p Pair, want map[string]string) {
	t.Helper()
	for a, s := range want {
		got, bound := Renyi(p, refs.Number(t, a))
		want := refs.Number(t, s)
		if !(math.Abs(got-want) <= 1e-12*want) {
			t.Errorf("D_%s = %.17g, want %.17g: relative error %.2g", a, got, want, got/want-1)
		}
		if math.Abs(got-want) > bound+1e-18*want || bound > 1e-11*want {
			t.Errorf("D_%s: error %.2g, claimed bound %.2g (value %g)", a, got-want, bound, want)
		}
	}
}
