package main

import (
	"slices"
	"strings"
	"testing"
)

// TestTables: every kernel has tests, and every line of UNSEEN is of the committed PTX.
func TestTables(t *testing.T) {
	all := allSites()
	kernels := map[string]bool{}
	for _, s := range all {
		kernels[s.kernel] = true
	}
	for kernel := range kernels {
		testsOf(kernel) // ends the test where there is none
	}
	for line := range strings.Lines(unseen) {
		pattern, _, _ := strings.Cut(line, "  ")
		if !slices.ContainsFunc(all, like(pattern)) {
			t.Errorf("UNSEEN: nothing is %s", pattern)
		}
	}
}
