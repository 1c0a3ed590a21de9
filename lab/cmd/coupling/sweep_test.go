package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coupling/lab"
)

// Processes of the command on one store share 60 equal cells of a sweep file, YAML or Go: none
// computes more than its share and 2, which is below 60 % of two and 35 % of four, and none
// computes what another did. All have begun a cell before any may end one, and cells sleep, so that
// what else the machine does matters little.
func TestProcessesShareTheSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("sleeps for a quarter of a minute")
	}
	dir := filepath.Join(t.TempDir(), "naps")
	if code := run([]string{"new", dir}, os.Stdout, os.Stderr); code != 0 {
		t.Fatalf("coupling new: exit %d", code)
	}
	program := append(lab.Must(os.ReadFile("naps_test.go")), "\nfunc main() { sweepNaps() }\n"...)
	var numbers []string
	for n := range naps {
		numbers = append(numbers, strconv.Itoa(n))
	}
	yaml := "experiment: test/nap\ndesign:\n- grid: {n: [" + strings.Join(numbers, ", ") + "]}\n"
	lab.Check(os.WriteFile(filepath.Join(dir, "naps.go"), program, 0o666))
	lab.Check(os.WriteFile(filepath.Join(dir, "naps.yaml"), []byte(yaml), 0o666))
	for _, file := range []string{"naps.yaml", "naps.go"} {
		for _, processes := range []int{2, 4} {
			t.Run(fmt.Sprint(file, processes), func(t *testing.T) {
				computed, began := shareNaps(t, filepath.Join(dir, file), processes)
				sum := 0
				for _, n := range computed {
					if sum += n; n > naps/processes+2 {
						t.Errorf("a process computed %d of %d cells", n, naps)
					}
				}
				slices.Sort(began)
				if twice := len(began) - len(slices.Compact(began)); sum != naps || len(began) != naps || twice != 0 {
					t.Errorf("%d processes say that they computed %v cells; %d began, %d of them again", processes,
						computed, len(began), twice)
				}
				t.Logf("%d processes computed %v cells", processes, computed)
			})
		}
	}
}

// shareNaps starts the command several times on one store, lets them go when each has begun a cell,
// and returns how many cells each says it computed, and the cells that began.
func shareNaps(t *testing.T, file string, processes int) (computed []int, began []string) {
	dir, store := t.TempDir(), t.TempDir()
	commands, outs := make([]*exec.Cmd, processes), make([]bytes.Buffer, processes)
	for i := range commands {
		c := exec.CommandContext(t.Context(), "coupling-naps", "--store", store, "sweep", file, "--workers", "1")
		c.Env = append(os.Environ(), "NAPS="+dir)
		c.Stdout, c.Stderr = &outs[i], os.Stderr
		lab.Check(c.Start())
		commands[i] = c
	}
	for late := time.Now().Add(2 * time.Minute); len(begun(dir)) < processes; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d of %d processes have begun a cell: the others wait for those", len(begun(dir)), processes)
		}
	}
	lab.Check(os.WriteFile(filepath.Join(dir, "go"), nil, 0o666))
	for i, c := range commands {
		var recalled, n int
		err := c.Wait()
		if _, scan := fmt.Sscanf(outs[i].String(), "%d cells recalled, %d computed", &recalled, &n); err != nil ||
			scan != nil || recalled+n != naps {
			t.Errorf("%v, %v: %s", err, scan, &outs[i])
		}
		computed = append(computed, n)
	}
	return computed, begun(dir)
}

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
	if code, out, errs := sweep(); code != exitFailed || !strings.Contains(out, "4 computed") ||
		!strings.Contains(errs, "three is refused") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := sweep("--dry-run"); code != 0 || !strings.Contains(out, "5 cells, 4 stored, 1 missing") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// What coupling experiments NAME prints of an experiment ends with a sweep file that coupling sweep reads.
func TestExperimentsShowASweepFile(t *testing.T) {
	store, file := t.TempDir(), filepath.Join(t.TempDir(), "sweep.yaml")
	command := func(args ...string) (code int, text string) {
		var out, errs bytes.Buffer
		code = run(append([]string{"--store", store}, args...), &out, &errs)
		return code, out.String() + errs.String()
	}
	if code, text := command("experiments"); code != 0 || !strings.Contains(text, "tour/digits-plan ") {
		t.Errorf("exit %d: %s", code, text)
	}
	code, text := command("experiments", "tour/digits-plan")
	table, example, ok := strings.Cut(text, "# coupling sweep FILE.yaml\n")
	if code != 0 || !ok || !strings.Contains(table, "ε over the mean cost") {
		t.Fatalf("exit %d: %s", code, text)
	}
	lab.Check(os.WriteFile(file, []byte(example), 0o666))
	if code, text := command("sweep", file, "--dry-run"); code != 0 ||
		!strings.Contains(text, "4 cells, 0 stored, 4 missing") {
		t.Errorf("exit %d: %s of\n%s", code, text, example)
	}
	if code, text := command("experiments", "tour/digits-plam"); code != exitUsage ||
		!strings.Contains(text, "did you mean tour/digits-plan") {
		t.Errorf("exit %d: %s", code, text)
	}
}
