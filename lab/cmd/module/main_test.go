package main

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/must"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

func TestRename(t *testing.T) {
	for before, want := range map[string]string{
		`import "coupling/ot"`:                             `import "a.b/c/ot"`,
		"module coupling\n":                                "module a.b/c\n",
		`{pkg: coupling/lab$, desc: x}`:                    `{pkg: a.b/c/lab$, desc: x}`,
		`-X coupling/lab/store.codes=1 ./lab/cmd/coupling`: `-X a.b/c/lab/store.codes=1 ./lab/cmd/coupling`,
		`"\"coupling/lab\"" "coupling/"`:                   `"\"a.b/c/lab\"" "a.b/c/"`,
		`[coupling/lab/durable.ErrLocked]`:                 `[a.b/c/lab/durable.ErrLocked]`,
		`-require coupling@v0 -replace coupling=../x`:      `-require a.b/c@v0 -replace a.b/c=../x`,
		`bin/coupling out ../coupling/data .coupling/lab`:  `bin/coupling out ../coupling/data .coupling/lab`,
		`"releases of coupling/dp/query, 1"`:               `"releases of coupling/dp/query, 1"`,
		"coupling solve: a coupling, couplings/ot":         "coupling solve: a coupling, couplings/ot",
	} {
		if got := rename([]byte(before), "coupling", "a.b/c"); string(got) != want {
			t.Errorf("%s: %s, want %s", before, got, want)
		}
	}
	for _, path := range []string{"coupling", "host/coupling", "example.org/a b"} {
		if _, err := Rewrite(t.TempDir(), path); err == nil {
			t.Errorf("%q was taken", path)
		}
	}
}

// consumer is a program of someone else's: the ten lines of the README, and a bound of package dp.
const consumer = `package main

import (
	"context"
	"fmt"
	"log"

	"MODULE/dp"
	"MODULE/ot"

	"gonum.org/v1/gonum/mat"
)

func main() {
	x, y := mat.NewDense(2, 1, []float64{0, 1}), mat.NewDense(2, 1, []float64{1, 2})
	plan, err := ot.LBFGS{Eps: 0.1}.Solve(context.Background(), ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Status, dp.Gaussian{NoiseMultiplier: 1})
}
`

// A copy of the checkout under another path is served as a module. Another module elsewhere gets
// it, links of other modules only gonum, golang.org/x and purego, and runs the command.
func TestPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command under another path")
	}
	const path, version = "example.org/lab/coupling", "v0.1.0"
	root, ok := durable.Nearest(".", func(at string) bool {
		_, err := os.Stat(filepath.Join(at, "go.sum"))
		return err == nil
	})
	if !ok {
		t.Fatal("no checkout")
	}
	checkout, proxy, mine := t.TempDir(), t.TempDir(), t.TempDir()
	list := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	files := lab.Must(list.Output())
	for name := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		to := filepath.Join(checkout, name)
		lab.Check(err)
		lab.Check(os.MkdirAll(filepath.Dir(to), 0o777))
		lab.Check(os.WriteFile(to, b, 0o666))
	}
	if n, err := Rewrite(checkout, path); err != nil || n < 500 {
		t.Fatalf("%d files rewritten: %v", n, err)
	}
	serve(t, checkout, filepath.Join(proxy, path, "@v"), module.Version{Path: path, Version: version})

	cache := strings.TrimSpace(string(lab.Must(exec.Command("go", "env", "GOMODCACHE").Output())))
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = mine
		cmd.Env = append(os.Environ(), "GOSUMDB=off",
			"GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache", "download"),
			"GOMODCACHE="+filepath.Join(mine, ".modules"), "GOFLAGS=-modcacherw", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	lab.Check(os.WriteFile(filepath.Join(mine, "main.go"), []byte(strings.ReplaceAll(consumer, "MODULE", path)), 0o666))
	run("mod", "init", "mine")
	run("get", path+"@"+version)
	run("mod", "tidy")
	run("mod", "vendor")
	vendored := string(lab.Must(os.ReadFile(filepath.Join(mine, "vendor", "modules.txt"))))
	light := regexp.MustCompile(`^(example\.org/lab/coupling|gonum\.org/v1/gonum|golang\.org/x/\w+|` +
		`github\.com/ebitengine/purego) `)
	for part := range strings.SplitSeq(vendored, "\n# ") {
		at := strings.TrimSpace(strings.TrimPrefix(part, "# "))
		if strings.Contains(at, "\n") && !strings.HasSuffix(at, "## explicit") && !light.MatchString(at) {
			t.Errorf("the consumer needs the source of %s", at)
		}
	}
	if out := run("run", "-mod=vendor", "."); !strings.HasPrefix(out, "converged") {
		t.Errorf("the program printed %q", out)
	}
	lab.Check(os.RemoveAll(filepath.Join(mine, "vendor")))
	run("get", "-tool", path+"/lab/cmd/coupling@"+version)
	if out := run("tool", "coupling", "epsilon", "--noise", "1", "--delta", "1e-5"); !strings.Contains(out, "ε = ") {
		t.Errorf("the command printed %q", out)
	}
}

// serve writes a folder as a version of a module, as a module proxy serves it.
func serve(t *testing.T, dir, at string, v module.Version) {
	t.Helper()
	lab.Check(os.MkdirAll(at, 0o777))
	var packed bytes.Buffer
	must.Do(modzip.CreateFromDir(&packed, v, dir))
	r := lab.Must(zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len())))
	t.Logf("the module has %d files, %.1f MB packed", len(r.File), float64(packed.Len())/1e6)
	mod := lab.Must(os.ReadFile(filepath.Join(dir, "go.mod")))
	for name, b := range map[string][]byte{
		"list":              []byte(v.Version + "\n"),
		v.Version + ".info": []byte(`{"Version":"` + v.Version + `"}`),
		v.Version + ".mod":  mod,
		v.Version + ".zip":  packed.Bytes(),
	} {
		lab.Check(os.WriteFile(filepath.Join(at, name), b, 0o666))
	}
}
