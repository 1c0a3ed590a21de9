package lab_test

import (
	"slices"
	"testing"

	"coupling/lab"
)

func TestNearest(t *testing.T) {
	known := []string{"tour/bias", "scones/width", "scones/rate", "scones/faces", "admm/fig2a"}
	for name, want := range map[string]string{"scones/rat": "scones/rate", "rate": "scones/rate", "Admm/Fig2": "admm/fig2a", "biass": "tour/bias"} {
		if got := lab.Nearest(name, known, 2); len(got) != 2 || got[0] != want {
			t.Errorf("Nearest(%q) = %q, want %s first", name, got, want)
		}
	}
	if got := lab.Nearest("x", known[:1], 3); !slices.Equal(got, known[:1]) {
		t.Errorf("of one name: %q", got)
	}
	if got, want := lab.DidYouMean("grod", []string{"grid", "list", "sobol"}), "did you mean grid, list or sobol?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := lab.DidYouMean("x", nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
