package store_test

import (
	"testing"

	"coupling/lab/store"
)

// What is offered is near: at most a third of the name's letters differ.
func TestDidYouMean(t *testing.T) {
	known := []string{"tour/bias", "scones/width", "scones/rate", "scones/faces", "admm/fig2a", "admm/fig2b",
		"admm/fig8"}
	for name, want := range map[string]string{
		"scones/rat": "; did you mean scones/rate, scones/faces or scones/width?",
		"rate":       "; did you mean scones/rate?",
		"Admm/Fig2":  "; did you mean admm/fig2a, admm/fig2b or admm/fig8?",
		"biass":      "; did you mean tour/bias?",
		"no/such":    "",
		"x":          "",
		"":           "",
	} {
		if got := store.DidYouMean(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	few := []string{"grid", "list", "sobol"}
	for name, want := range map[string]string{"gird": "; did you mean grid?", "abc": "; want grid, list or sobol"} {
		if got := store.DidYouMean(name, few); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := store.DidYouMean("x", nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
