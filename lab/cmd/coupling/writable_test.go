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
