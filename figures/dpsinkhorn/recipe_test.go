package dpsinkhorn

import "testing"

// An ε in a table is never less than the one that holds.
func TestSpent(t *testing.T) {
	for eps, want := range map[float64]string{10: "10 (exact)", 9.9999999: "10 (exact)", 1.2341: "1.24 (exact)", .3001: "0.301 (exact)", 712.3: "713 (exact)"} {
		if got := spent(eps, "exact"); got != want {
			t.Errorf("%g is printed as %s, want %s", eps, got, want)
		}
	}
}
