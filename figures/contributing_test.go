package figures

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab"
)

// The figure that CONTRIBUTING.md shows is one file of at most 80 lines. With the steps that
// stand below it, the tests of this folder and of the scripts pass, the figure's claim among them.
func TestContributing(t *testing.T) {
	if testing.Short() {
		t.Skip("links the whole project")
	}
	text := string(lab.Must(os.ReadFile("../CONTRIBUTING.md")))
	_, code, found := strings.Cut(text, "```go\npackage tour\n")
	code, _, closed := strings.Cut("package tour\n"+code, "```\n")
	if !found || !closed {
		t.Fatal("CONTRIBUTING.md shows no figure")
	}
	if n := strings.Count(code, "\n"); n > 80 {
		t.Errorf("the figure has %d lines", n)
	}
	const before, line = "lab.FigureOf(tour.Digits)", "lab.FigureOf(tour.Bias)"
	list := string(lab.Must(os.ReadFile("figures.go")))
	if !strings.Contains(text, line) || strings.Count(list, before) != 1 {
		t.Fatalf("CONTRIBUTING.md or figures.go have no %s", line)
	}
	// The packages are built as if the two files were here, and run in a copy of this folder.
	dir := t.TempDir()
	here := filepath.Join(dir, "figures")
	lab.Check(os.CopyFS(here, os.DirFS(".")))
	lab.Check(os.WriteFile(filepath.Join(dir, "CONTRIBUTING.md"), []byte(text), 0o666))
	replace := map[string]string{}
	for name, content := range map[string]string{
		"tour/bias.go": code, "figures.go": strings.Replace(list, before, before+", "+line, 1),
	} {
		at := filepath.FromSlash(name)
		replace[lab.Must(filepath.Abs(at))] = filepath.Join(here, at)
		lab.Check(os.WriteFile(filepath.Join(here, at), []byte(content), 0o666))
	}
	overlay := filepath.Join(dir, "overlay.json")
	lab.Check(os.WriteFile(overlay, lab.Must(json.Marshal(map[string]any{"Replace": replace})), 0o666))
	run := func(in, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), "COUPLING_STORE="+filepath.Join(dir, "store"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	build := func(command, as, of string) string {
		as = filepath.Join(dir, as)
		run(".", "go", append(strings.Fields(command), "-overlay", overlay, "-o", as, of)...)
		return as
	}
	coupling := build("build", "coupling", "../lab/cmd/coupling")
	run(dir, coupling, "fig", "tour/bias", "--preset", "smoke", "--readme", "figures")
	run(here, build("build", "generate", "./scripts/internal/generate"))
	tests := build("test -c", "figures.test", ".")
	run(here, tests, "-test.short", "-test.run", "InStep|WellFormed|Described|Select")
	run(here, tests, "-test.run", "TestSmoke/tour/bias")
	run(filepath.Join(here, "scripts"), build("test -c", "scripts.test", "./scripts"), "-test.short")
}
