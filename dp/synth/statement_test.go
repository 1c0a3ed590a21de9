package synth

import (
	"strings"
	"testing"

	"coupling/dp"
)

// The text says neither a smaller ε nor a smaller δ, and says what a seed is.
func TestStatement(t *testing.T) {
	spent := spending{count: .5, delta: 1.2349e-5, event: dp.Gaussian{NoiseMultiplier: 1}}
	spent.training = dp.Guarantee{Epsilon: 1.2345641, Delta: 1.234e-5, Kind: dp.Exact, Accountant: "profile"}
	text := state(silent{}, Public{}, spent, 1, false).Text()
	for _, want := range []string{
		"ε = 1.73457 at δ = 1.2349e-05 (upper bound, by profile, and ε = 0.5 for the number of images)",
		"up to twice ε",
		"DiscreteLaplace(scale 2, sensitivity 1) for the number of images,",
		"by the sum of their ε: Gaussian(noise multiplier 1)", "the key is not kept", "whether all are grey",
		"Unit: one labelled image added or removed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	seeded := state(silent{}, Public{}, spent, 1, true).Text()
	if !strings.Contains(seeded, "NOT PRIVATE") || !strings.Contains(seeded, "Protected:\n  nothing") {
		t.Errorf("a seed is said to protect:\n%s", seeded)
	}
}

type silent struct{ Method }

func (silent) Describe() (mechanism, settings string) { return "m", "s" }

// In a line too a statement about noise from a seed says that nothing is private, and names no ε.
func TestStatementInALine(t *testing.T) {
	s := Statement{
		Epsilon:    2,
		Delta:      1e-5,
		Kind:       "exact",
		Accountant: "closed form",
		Private:    true,
		Synthetic:  10,
		Classes:    []string{"a", "b"},
	}
	if got := s.String(); got != "10 synthetic images of 2 classes, ε = 2 at δ = 1e-05 (exact, by closed form)" {
		t.Error(got)
	}
	s.Private = false
	if got := s.String(); !strings.Contains(got, "NOT PRIVATE") || strings.Contains(got, "ε") {
		t.Error(got)
	}
}
