package cpu

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"coupling/lab/must"
)

// TestAVX2Assembly demands that AVX2 routines use nothing that came with
// AVX-512: no upper registers, no 512-bit ones, no masks. A machine that has
// AVX-512 would run them without complaint.
func TestAVX2Assembly(t *testing.T) {
	files, err := filepath.Glob("*_amd64.s")
	if err != nil || len(files) == 0 {
		t.Fatalf("no assembly: %v", err)
	}
	beyond := regexp.MustCompile(`\b([XY](1[6-9]|2[0-9]|3[01])|Z[0-9]+|K[0-7])\b|AVX512`)
	routines := 0
	for _, name := range files {
		text := must.Get(os.ReadFile(name))
		for _, routine := range strings.Split(string(text), "\n// func ")[1:] {
			title, body, _ := strings.Cut(routine, "(")
			if !strings.HasSuffix(title, "AVX2") {
				continue
			}
			routines++
			if bad := beyond.FindString(body); bad != "" {
				t.Errorf("%s: %s uses %s", name, title, bad)
			}
		}
	}
	if routines == 0 {
		t.Error("found no AVX2 routine")
	}
}

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
		fresh := must.Get(os.ReadFile(filepath.Join(dir, f.Name())))
		kept := must.Get(os.ReadFile(f.Name()))
		if !bytes.Equal(fresh, kept) {
			t.Errorf("%s is not what the generator writes: run go generate", f.Name())
		}
	}
	stale := must.Get(filepath.Glob("*_amd64.s"))
	for _, name := range stale {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is no longer written by the generator", name)
		}
	}
}
