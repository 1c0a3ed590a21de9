package dp

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// What is printed is less than the number by no more than 1e-13 of it, and no more than one in the last digit above it.
func TestFormatUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	values := []float64{0, 1, 2, 1.9999996, 1.234564, 9.999994, 999999.4, 1e-7, .1, 123456.4, math.Nextafter(2, 3),
		math.Inf(1), math.MaxFloat64, 5e-324, 1e-310, 9.9999e-5}
	for range 2000 {
		values = append(values, math.Exp(30*rng.NormFloat64()))
	}
	for _, digits := range []int{1, 4, 6, 8, 15, 17} {
		for _, v := range values {
			text := FormatUp(v, digits)
			got, err := strconv.ParseFloat(text, 64)
			if math.IsInf(got, 1) && err != nil { // the largest number, rounded up
				err = nil
			}
			if err != nil || !(got >= v*(1-1.0001e-13)) {
				t.Errorf("%.17g is printed as %s", v, text)
			}
			if above := v * 1.01 * math.Pow10(1-digits); got > v+above+5e-324 && v < 1e308 { // one in the last digit
				t.Errorf("%.17g is printed as %s", v, text)
			}
		}
	}
	if text := FormatUp(1+1e-14, 8); text != "1" {
		t.Errorf("1 and a rounding error is printed as %s", text)
	}
	if g := (Guarantee{Epsilon: 1.2345641, Delta: 1e-5, Kind: Exact}).
		String(); !strings.HasPrefix(g, "ε = 1.23457 at δ = 1e-05 ") {
		t.Error(g)
	}
}

// The sentence is about the neighbours of the relation, whichever it is.
func TestSentence(t *testing.T) {
	for _, c := range []struct {
		relation  Relation
		one, many string
	}{
		{Relation{Kind: AddRemove}, "one image added or removed)", "up to 3 images added or removed, in any mixture)"},
		{Relation{Kind: Substitution}, "one image replaced by another)", "up to 3 images replaced by others)"},
		{Relation{Kind: Insertion}, "one image added (not removed))", "up to 3 images added (not removed))"},
		{Relation{Kind: Removal}, "one image removed (not added))", "up to 3 images removed (not added))"},
		{Relation{Kind: Exchange}, "one image exchanged for any other)", "up to 3 images exchanged for any others)"},
	} {
		g := Guarantee{Epsilon: 1, Delta: 1e-5, Kind: Exact, Relation: c.relation}
		if got, want := g.Sentence("image"),
			"For every set S of outputs: P(S | data) ≤ 2.719 · P(S | data with "+c.one+" + 1e-05."; got != want {
			t.Errorf("%v:\n%s\nwant\n%s", c.relation, got, want)
		}
		g.Relation.Group, g.Delta = 3, 0
		if got, want := g.Sentence("image"),
			"For every set S of outputs: P(S | data) ≤ 2.719 · P(S | data with "+c.many+"."; got != want {
			t.Errorf("%v:\n%s\nwant\n%s", c.relation, got, want)
		}
	}
	for eps, want := range map[float64]string{0: "≤ 1 ·", .001: "≤ 1.0011 ·", 1.05e-12: "≤ 1.00000000001 ·",
		1e-300: "≤ 1.00000000001 ·", .5: "≤ 1.649 ·"} {
		if s := (Guarantee{Kind: Exact, Epsilon: eps}).Sentence("image"); !strings.Contains(s, want) {
			t.Errorf("ε = %g: %s, want %s", eps, s, want)
		}
	}
	if s := (Guarantee{Kind: Exact, Relation: Relation{Kind: 9}}).
		Sentence("image"); !strings.Contains(s, "unknown kind") {
		t.Error(s)
	}
}

// What comes with an error, and what was never filled in, promises nothing.
func TestNoGuarantee(t *testing.T) {
	failed, err := Epsilon(t.Context(), Gaussian{NoiseMultiplier: -1}, Relation{}, 1e-5)
	if err == nil || failed.Kind != None || !math.IsNaN(failed.Epsilon) || !math.IsNaN(failed.Delta) {
		t.Errorf("%+v, %v", failed, err)
	}
	for _, g := range []Guarantee{{}, failed} {
		if g.String() != "no guarantee" || !strings.HasPrefix(g.Sentence("record"), "No guarantee") {
			t.Errorf("%+v is printed as %q, %q", g, g, g.Sentence("record"))
		}
	}
	if _, g, err := MinNoise(t.Context(), Budget{Epsilon: 1, Delta: 2}, nil); err == nil || g.Kind != None ||
		!math.IsNaN(g.Epsilon) {
		t.Errorf("%+v, %v", g, err)
	}
}

// The profile of a guarantee falls, passes through the point that was asked for, and is an upper
// bound of δ there; one that was put together by hand has none.
func TestProfile(t *testing.T) {
	for _, e := range []Event{Laplace{Scale: 1}, Repeat{Times: 1000,
		Event: Poisson{Rate: .01, Event: Gaussian{NoiseMultiplier: 1}}}} {
		for _, delta := range []float64{0, 1e-6, .9999} {
			g, err := Epsilon(t.Context(), e, Relation{}, delta)
			if err != nil { // a Gaussian at δ = 0
				continue
			}
			eps, d, asked, err := g.Profile(t.Context(), 11)
			if err != nil || len(eps) != 11 || eps[asked] != g.Epsilon || d[asked] > 1.01*delta {
				t.Errorf("%v: ε %v, δ %v, asked %d, %v", g, eps, d, asked, err)
			}
			for k := range d[1:] {
				if d[k+1] > d[k] || eps[k+1] <= eps[k] {
					t.Errorf("%v: δ rises or ε falls at %g", g, eps[k])
				}
			}
			if exact, err := Delta(t.Context(), e, Relation{}, eps[1]); err != nil || d[1] < exact.Lower {
				t.Errorf("%v: δ = %g at ε = %g is below %v, %v", g, d[1], eps[1], exact, err)
			}
		}
	}
	if _, _, _, err := (Guarantee{Epsilon: 1, Kind: Exact}).Profile(t.Context(), 11); !errors.Is(err, ErrParameter) {
		t.Error(err)
	}
}
