package code

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program of go run knows its source, also deep down, unless that changes before it asks, or a
// flag may have made it of another.
func TestProgramKnowsItsSource(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program")
	}
	dir, err := os.MkdirTemp("testdata", "program") //nolint:usetesting // inside the module
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := "coupling/lab/internal/code/" + filepath.ToSlash(dir)
	write(filepath.Join(dir, "deep", "d.go"), "package deep\n\nconst C = 1\n")
	write(filepath.Join(dir, "between", "b.go"),
		"package between\n\nimport \""+path+"/deep\"\n\nfunc F() int { return deep.C }\n")
	write(filepath.Join(dir, "main.go"), `package main

import (
	"fmt"
	"os"
	"runtime"

	"coupling/lab/internal/code"
	"`+path+`/between"
)

func main() {
	if len(os.Args) > 1 {
		_ = os.WriteFile(os.Args[1], []byte("package deep\n\nconst C = 2\n"), 0o666)
	}
	_, err := code.Digest(runtime.Frame{})
	fmt.Println(between.F(), err)
}
`)
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "./" + dir}, "1 <nil>"},
		{[]string{"run", "-ldflags=-w", "./" + dir}, "1 neither go run without flags"},
		{[]string{"run", "./" + dir, filepath.Join(dir, "deep", "d.go")}, "/deep has changed"},
		{[]string{"run", "./" + dir}, "2 <nil>"},
	} {
		run := exec.Command("go", step.args...)
		run.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "GOCACHE="+goCache())
		out, err := run.CombinedOutput()
		if err != nil || !strings.Contains(string(out), step.want) {
			t.Errorf("go %s says %s, %v; want %s", step.args, out, err, step.want)
		}
	}
}
