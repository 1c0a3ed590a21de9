package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/nb/ipynb"
)

// writers are the commands that write a folder OUT, or with file the file OUT, which they replace.
// before is a command line that comes first, foreign a file of a folder that each would write, reads a
// folder that it reads, input an OUT by which it would replace what it reads, and once says that it
// refuses a folder with an earlier run. judge writes nothing; admm run and node write as admm solve does.
var writers = []struct {
	name, args, before string
	foreign, reads     string
	input              string
	once, file         bool
}{
	{
		name: "solve", args: "solve --x x.csv --y y.csv --eps 1 --out OUT",
		foreign: "plan.npy",
	},
	{
		name: "sample", args: "sample --x pictures --y pictures --size 4 --steps 2 --out OUT",
		foreign: "00000-0.png", reads: "pictures",
	},
	{
		name: "admm", args: "admm new --edges edges.csv --out OUT",
		foreign: "nodes", once: true,
	},
	{
		name: "private", args: "private --images pictures --eps 1 --count 10 --out OUT",
		foreign: "grid.png", reads: "pictures", once: true,
	},
	{
		name: "fig", args: "fig tour/digits --preset smoke --out OUT",
		foreign: "index.html",
	},
	{
		name: "readme", args: "fig tour/digits --preset smoke --out drawn --readme OUT",
		foreign: "README.md",
	},
	{
		name: "new", args: "new --from ROOT OUT",
		foreign: "go.mod", once: true,
	},
	{
		name: "notebook", args: "notebook run small.ipynb --out OUT",
		foreign: "small.ipynb", input: ".",
	},
	{
		name: "pages", args: "notebook run small.ipynb --pages --out OUT",
		foreign: "small.md",
	},
	{
		name: "plan", args: "admm solve market --out OUT", before: "admm new --edges edges.csv --out market",
		input: "market/network.json", file: true,
	},
	{
		name: "jobs", args: "sweep wor.yaml --jobs OUT",
		input: "wor.yaml", file: true,
	},
	{
		name: "export", args: "runs export --output OUT", before: "sweep wor.yaml",
		reads: "STORE", file: true,
	},
}

// tree returns the files below a folder, by path, with their texts. Files of a run that was killed,
// which the next one removes, are left out.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if strings.HasPrefix(d.Name(), ".new-") || strings.HasSuffix(d.Name(), ".state") {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fixtures writes what the writers read into a folder and makes it the working directory.
func fixtures(t *testing.T) {
	root := must.Get(checkout("."))
	t.Chdir(t.TempDir())
	t.Setenv("ROOT", root)
	t.Setenv("COUPLING_DATA", "sample")
	t.Setenv("COUPLING_STORE", filepath.Join(t.TempDir(), "store"))
	lab.Check(writePictures("pictures"))
	for name, text := range map[string]string{
		"x.csv":       "0,0\n1,0\n",
		"y.csv":       "0,1\n1,1\n",
		"edges.csv":   "0,0,1,2\n1,0,2,2\n",
		"small.ipynb": string(lab.Must(lab.Must(ipynb.FromMarkdown(small)).Encode())),
		"wor.yaml": "experiment: amplification/wor\nparams: {size: 300, order: [2], truth: 0.6}\n" +
			"design:\n- grid: {batch: [2, 3]}\n",
	} {
		lab.Check(os.WriteFile(name, []byte(text), 0o666))
	}
}

// small is the notebook of the writers.
const small = "# Small\n\n```go\n%%\nfmt.Println(1)\n```\n"

// eachWriter runs a test of each writer, after what comes before it. Those of notebooks need the kernel,
// which is this checkout's.
func eachWriter(t *testing.T, test func(t *testing.T, of int)) {
	for i, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			fixtures(t)
			if strings.HasPrefix(w.args, "notebook") {
				if os.Getenv("COUPLING_TEST_NOTEBOOKS") == "" {
					t.Skip("needs the kernel: make test-notebooks, or COUPLING_TEST_NOTEBOOKS=1")
				}
				root := os.Getenv("ROOT")
				lab.Check(os.WriteFile("go.mod", newCmd{Module: "mine"}.goMod(root, lab.Must(os.Getwd())), 0o666))
				lab.Check(os.WriteFile("go.sum", lab.Must(os.ReadFile(filepath.Join(root, "go.sum"))), 0o666))
				lab.Check(os.Symlink(filepath.Join(root, "bin"), "bin"))
			}
			if w.before != "" {
				if out, err := exec.Command("coupling", strings.Fields(w.before)...).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", w.before, err, out)
				}
			}
			test(t, i)
		})
	}
}

// command is a writer's command line with its folder.
func command(args, out string) []string {
	return strings.Fields(places(strings.ReplaceAll(args, "OUT", out)))
}

// places puts the folders of the environment into a text.
func places(text string) string {
	return strings.NewReplacer("ROOT", os.Getenv("ROOT"), "STORE", os.Getenv("COUPLING_STORE")).Replace(text)
}

// Whatever stands in the way of a write, nothing that was there before is lost or changed, and the
// error is one line that names what is in the way.
func TestWritesLoseNothing(t *testing.T) {
	eachWriter(t, func(t *testing.T, of int) {
		w := writers[of]
		runs := func(what string, code int, names, out string) {
			t.Helper()
			var stdout, stderr bytes.Buffer
			got := run(append([]string{"-q"}, command(w.args, out)...), &stdout, &stderr)
			if got != code || !strings.Contains(stderr.String(), places(names)) {
				t.Errorf("%s: exit %d, want %d, naming %q:\n%s", what, got, code, names, &stderr)
			}
		}
		before := tree(t, ".")
		unchanged := func(what string) {
			t.Helper()
			after := tree(t, ".")
			maps.DeleteFunc(after, func(name, _ string) bool { _, there := before[name]; return !there })
			if !maps.Equal(before, after) {
				t.Errorf("%s: something has changed", what)
			}
		}
		if !w.file {
			lab.Check(os.MkdirAll("foreign", 0o777))
			lab.Check(os.WriteFile(filepath.Join("foreign", w.foreign), []byte("mine"), 0o666))
			before = tree(t, ".")
			runs("foreign", exitUsage, "foreign", "foreign")
			unchanged("foreign")
		}
		if w.reads != "" {
			runs("inside of an input", exitUsage, "it lies in "+w.reads, w.reads+"/new")
			unchanged("inside of an input")
		}
		if w.input != "" {
			runs("an input", exitUsage, w.input, w.input)
			unchanged("an input")
		}
		if runs("beside other files", 0, "", "good"); w.file {
			runs("again", 0, "", "good")
			unchanged("again")
			return
		}
		lab.Check(os.WriteFile("good/note", []byte("mine"), 0o666))
		if before = tree(t, "."); w.once {
			runs("again", exitUsage, "good", "good")
		} else {
			runs("again", 0, "", "good")
			before = map[string]string{"good/note": "mine"}
		}
		unchanged("again")
	})
}

// fullDisk runs a command with the folder or file disk/o on a disk with ROOM, and demands that it fails
// with one line and changes no file; then with room, which must succeed. A second round begins with the
// files of the first.
const fullDisk = `
mkdir disk && mount -t tmpfs -o size=4m tmpfs disk || exit 9
list() {
  find disk -type f -not -path '*/.new-*' -not -path '*.state/*' -not -name fill | sort | grep -v "$INDEX" |
    xargs -r sha256sum
}
for round in $ROUNDS; do
  dd if=/dev/zero of=disk/fill bs=4k 2>/dev/null; truncate -s -$ROOM disk/fill
  list >before
  "$@" 2>error && { echo "round $round: exit 0 on a full disk"; exit 1; }
  [ "$(wc -l <error)" = 1 ] && grep -q 'no space left' error || { cat error; exit 1; }
  list | diff before - || exit 1
  rm disk/fill
  "$@" || { echo "round $round: with room again"; exit 1; }
done
`

// A full disk costs neither the results of an earlier run nor the way back.
func TestWritesOnAFullDisk(t *testing.T) {
	if exec.Command("unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs /mnt").Run() != nil {
		t.Skip("no small disk can be mounted here: unshare -rm")
	}
	eachWriter(t, func(t *testing.T, of int) {
		w := writers[of]
		t.Setenv("ROUNDS", "1 2")
		t.Setenv("INDEX", "^$")
		t.Setenv("ROOM", "12k")
		if w.name == "fig" { // the gallery says that the figure failed, as far as there is room
			t.Setenv("INDEX", "^disk/o/index.html$\\|^disk/o/summary.json$")
		}
		if w.once {
			t.Setenv("ROUNDS", "1")
		}
		if w.foreign == "" || strings.HasPrefix(w.args, "notebook") { // its files are small
			t.Setenv("ROOM", "0")
		}
		args := append([]string{"-rm", "sh", "-c", fullDisk, "sh", "coupling", "-q"}, command(w.args, "disk/o")...)
		if out, err := exec.Command("unshare", args...).CombinedOutput(); err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
	})
}

// A command that the system kills at any moment leaves each file of an earlier run, and the same
// command goes on.
func TestWritesKilled(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	did := func(args ...string) (time.Duration, error) {
		began := time.Now()
		out, err := exec.Command("coupling", args...).CombinedOutput()
		return time.Since(began), prefix(string(out), err)
	}
	eachWriter(t, func(t *testing.T, of int) {
		w, kills := writers[of], 10
		if testing.Short() || strings.HasPrefix(w.args, "notebook") {
			kills = 2
		}
		took := must.Get(did(command(w.args, "o0")...))
		for k := range kills {
			out := "o0"
			if w.once { // the command begins anew
				out = fmt.Sprintf("o%d", k+1)
			}
			before := tree(t, out)
			cmd := exec.Command("coupling", command(w.args, out)...)
			lab.Check(cmd.Start())
			kill := time.AfterFunc(time.Duration(rng.Float64()*float64(took)), func() { _ = cmd.Process.Kill() })
			died := cmd.Wait()
			kill.Stop()
			after := tree(t, out)
			for name := range before {
				if _, there := after[name]; !there {
					t.Errorf("kill %d: %s is lost", k, name)
				}
			}
			if died == nil && w.once {
				continue
			}
			if _, err := did(command(w.args, out)...); err != nil && (!w.once || len(after) == 0) {
				t.Errorf("kill %d: the same command again: %v", k, err)
			}
		}
	})
}

// What cannot be printed is a failure, told once.
func TestFullOutput(t *testing.T) {
	for _, args := range []string{"epsilon --noise 1 --delta 1e-5", "fig list", "help solve"} {
		cmd := exec.Command("coupling", strings.Fields(args)...)
		full := lab.Must(os.OpenFile("/dev/full", os.O_WRONLY, 0))
		defer full.Close()
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != exitFailed || strings.Count(stderr.String(), "no space") != 1 {
			t.Errorf("%s: %v\n%s", args, err, &stderr)
		}
	}
}

// The digest of what was read is that of what was parsed, also where it can be read but once; and a
// second run that takes the plan of the first for its points does not replace it.
func TestSolveInputs(t *testing.T) {
	fixtures(t)
	x := lab.Must(os.ReadFile("x.csv"))
	solve := func(in string) (string, error) {
		cmd := exec.Command("coupling", "solve", "--x", in, "--y", "y.csv", "--eps", "1", "--out", "o", "--json")
		cmd.Stdin = bytes.NewReader(x)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	sum := sha256.Sum256(x)
	out, err := solve("-")
	if err != nil || !strings.Contains(out, hex.EncodeToString(sum[:])) ||
		!strings.Contains(out, "x: 2 points in 2 dimensions") {
		t.Errorf("%v: %s", err, out)
	}
	before := tree(t, "o")
	out, err = solve("o/plan.npy")
	if err == nil || !strings.Contains(out, "o/plan.npy is an input") || !maps.Equal(before, tree(t, "o")) {
		t.Errorf("%v: %s", err, out)
	}
}
