package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A sweep in a Go file is built and computed; its failures are the command's.
func TestSweepOfAGoFile(t *testing.T) {
	if testing.Short() {
		t.Skip("three builds; lab/sweepfile builds and sweeps one")
	}
	store := t.TempDir()
	file := filepath.Join("..", "..", "sweepfile", "testdata", "cubes.go")
	sweep := func(more ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		code = run(append([]string{"--store", store, "sweep", file}, more...), &out, &errs)
		return code, out.String(), errs.String()
	}
	if code, out, errs := sweep("--dry-run"); code != 0 || !strings.Contains(out, "5 cells, 0 stored, 5 missing") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := sweep(); code != exitFailed || !strings.Contains(out, "4 computed") || !strings.Contains(errs, "three is refused") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := sweep("--dry-run"); code != 0 || !strings.Contains(out, "5 cells, 4 stored, 1 missing") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}
