package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab/must"
)

// A store that cannot be written is one error, and not one a cell.
func TestUnwritableStoreIsOneError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(os.WriteFile(file, nil, 0o666))
	var out, errs strings.Builder
	code := run([]string{"-q", "--store", filepath.Join(file, "store"), "sweep", "scones/rate", "--preset", "smoke"},
		&out, &errs)
	if code != exitFailed || strings.Count(errs.String(), "\n") != 1 ||
		!strings.Contains(errs.String(), "cannot be written") {
		t.Errorf("code %d:\n%s%s", code, out.String(), errs.String())
	}
}

// A folder of figures that cannot be written is one error, before anything is computed.
func TestUnwritableOutIsOneError(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Do(os.WriteFile(file, nil, 0o666))
	for _, flags := range [][]string{{"--out", filepath.Join(file, "out")}, {"--out", dir, "--readme", file}} {
		var out, errs strings.Builder
		store := filepath.Join(dir, "store")
		code := run(append([]string{"-q", "--store", store, "fig", "scones/rate", "--preset", "smoke"}, flags...),
			&out, &errs)
		_, computed := os.Stat(store)
		if code != exitUsage || strings.Count(errs.String(), "\n") != 1 ||
			!strings.Contains(errs.String(), flags[len(flags)-2]) || computed == nil {
			t.Errorf("%v: code %d, computed: %v\n%s%s", flags, code, computed == nil, out.String(), errs.String())
		}
	}
}
