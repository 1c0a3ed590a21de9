package cpu

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGenerated runs the generator and demands the committed bytes.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the assembly generator")
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "./internal/gen", "-dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("go run ./internal/gen: %v\n%s", err, out)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("the generator wrote %d files, %v", len(files), err)
	}
	for _, f := range files {
		fresh, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(fresh, kept) {
			t.Errorf("%s is not what the generator writes: run go generate", f.Name())
		}
	}
	stale, err := filepath.Glob("*_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stale {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is no longer written by the generator", name)
		}
	}
}
