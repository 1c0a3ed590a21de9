package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab/must"
)

// The archive's script, with scripts in place of its programs and no Go in the PATH: what is done
// is not done again, what is cut off goes on, and everything comes back in one file.
func TestPack(t *testing.T) {
	for _, program := range []string{"sh", "timeout", "tar", "gzip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	script := must.Get(os.ReadFile("pack/run.sh"))
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		must.Do(os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(os.WriteFile(path, []byte(text), 0o755))
	}
	write("run.sh", string(script))
	write("bin/gpucheck", "#!/bin/sh\necho gpucheck \"$@\" >>said\n")
	// The first call finishes a cell and is cut off, the second finds it.
	write("bin/coupling",
		"#!/bin/sh\necho coupling \"$@\" >>said\n[ -e $2/cell ] && exit 0\nmkdir -p $2 && touch $2/cell && exec "+
			"sleep 60\n")
	run := func(seconds string, args ...string) (string, error) {
		cmd := exec.Command("sh", append([]string{"run.sh"}, args...)...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "DEVICE=cuda:1",
			"PART_SECONDS=" + seconds}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("1", "check-ot", "dpsinkhorn/fig2"); err == nil ||
		!strings.Contains(out, "dpsinkhorn/fig2 is not done") {
		t.Errorf("a part that was cut off: %v\n%s", err, out)
	}
	if out, err := run("60", "check-ot", "dpsinkhorn/fig2"); err != nil {
		t.Errorf("called again: %v\n%s", err, out)
	}
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil || strings.Count(string(said), "gpucheck -device cuda:1 -suites ot ") != 1 ||
		strings.Count(string(said), " fig make dpsinkhorn/fig2 --preset paper --device cuda:1 ") != 2 {
		t.Errorf("called were (%v)\n%s", err, said)
	}
	if out, err := run("1"); err != nil || !strings.Contains(out, "done  check-ot\n") ||
		!strings.Contains(out, "done  dpsinkhorn/fig2\n") || !strings.Contains(out, "todo  check-nn\n") {
		t.Errorf("the list: %v\n%s", err, out)
	}
	if out, err := run("1", "check-nothing"); err == nil || !strings.Contains(out, "there is no part check-nothing") {
		t.Errorf("a part that does not exist: %v\n%s", err, out)
	}
	list, err := exec.Command("tar", "-tzf", filepath.Join(dir, "results.tar.gz")).Output()
	if err != nil || !strings.Contains(string(list), "results/store/cell\n") {
		t.Errorf("what comes back: %v\n%s", err, list)
	}
}

// Every part that draws a figure has a figure to draw, for which a script is generated.
func TestPackFigures(t *testing.T) {
	script := must.Get(os.ReadFile("pack/run.sh"))
	_, list, _ := strings.Cut(string(script), "figures=\"")
	list, _, _ = strings.Cut(list, "\"")
	names := strings.Fields(list)
	if len(names) < 20 {
		t.Fatalf("figures: %q", names)
	}
	for _, name := range names {
		must.Get(os.Stat(filepath.Join("../../../figures/scripts", name+".go")))
	}
}
