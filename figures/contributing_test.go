package figures

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// overlaidTest runs the example of CONTRIBUTING.md as any figure of the project is tested.
const overlaidTest = `package tour

import (
	"testing"

	"coupling/figures/figtest"
	"coupling/lab"
)

func TestBias(t *testing.T) { figtest.Smoke(t, []lab.Figure{lab.FigureOf(Bias)}) }
`

// The figure that CONTRIBUTING.md shows is one file of at most 80 lines, and works.
func TestContributingExample(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles another test")
	}
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(text), "```go\npackage tour\n")
	code, _, closed := strings.Cut("package tour\n"+code, "```\n")
	if !found || !closed {
		t.Fatal("CONTRIBUTING.md shows no figure")
	}
	if n := strings.Count(code, "\n"); n > 80 {
		t.Errorf("the figure has %d lines", n)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for name, content := range map[string]string{"bias.go": code, "bias_test.go": overlaidTest} {
		at, err := filepath.Abs(filepath.Join("tour", name))
		if err != nil {
			t.Fatal(err)
		}
		replace[at] = filepath.Join(dir, name)
		if err := os.WriteFile(replace[at], []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "test", "-overlay", file, "-run", "^TestBias$", "./tour").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
