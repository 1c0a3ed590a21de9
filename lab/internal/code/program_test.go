package code

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A program knows its source until it is edited, however deep, and again when that is undone.
func TestProgramKnowsItsSource(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program")
	}
	dir, err := os.MkdirTemp("testdata", "program") //nolint:usetesting // inside the module
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("CGO_ENABLED", "0")
	path := "coupling/lab/internal/code/" + filepath.ToSlash(dir)
	deep := func(body string) {
		write(t, filepath.Join(dir, "deep", "d.go"),
			"package deep\n\n//go:noinline\nfunc F() int { return "+body+" }\n")
	}
	write(t, filepath.Join(dir, "main.go"), `package main

import (
	"fmt"

	"coupling/lab/internal/code"
	"`+path+`/between"
)

func main() {
	_, err := code.Program()
	fmt.Println(between.F(), err)
}
`)
	write(t, filepath.Join(dir, "between", "b.go"),
		"package between\n\nimport \""+path+"/deep\"\n\n//go:noinline\nfunc F() int { return deep.F() }\n")
	deep("1")
	program := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./"+dir).
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, step := range [][2]string{{"1", "1 <nil>"}, {"2", "is not what it was built of"}, {"1", "1 <nil>"}} {
		deep(step[0])
		time.Sleep(20 * time.Millisecond) // an edit that is not of the same moment
		run := exec.Command(program)
		run.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "GOCACHE="+goCache(t))
		out, err := run.CombinedOutput()
		if err != nil || !strings.Contains(string(out), step[1]) {
			t.Errorf("with %s it says %s, %v; want %s", step[0], out, err, step[1])
		}
	}
}
