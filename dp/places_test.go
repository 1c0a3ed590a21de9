package dp_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coupling/lab/must"
)

// places are the declarations, in the files of folders that are not tests, of which naming reports true.
func places(t *testing.T, naming func(n ast.Node) bool, folders ...string) (out []string) {
	t.Helper()
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, 0))
			for _, d := range f.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
					continue
				}
				found := false
				ast.Inspect(d, func(n ast.Node) bool { found = found || n != nil && naming(n); return !found })
				if found {
					out = append(out, path)
				}
			}
		}
	}
	return out
}

// A mechanism is named in at most four declarations of package dp: its type, its two methods, and
// one more. An accountant is added in at most three: its package, the list of the best one, and
// where it is offered.
func TestPlaces(t *testing.T) {
	methods := map[string]int{} // of each type with a method Pair
	places(t, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Pair" {
			if name, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
				methods[name.Name]++
			}
		}
		return false
	}, ".")
	if len(methods) < 10 {
		t.Errorf("mechanisms: %v", methods)
	}
	for name := range methods {
		at := places(t, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			return ok && id.Name == name
		}, ".")
		// Two helpers, SGD and FixedSGD, are made of the Gaussian.
		if most := map[string]int{"Gaussian": 5}[name]; len(at) > max(most, 4) {
			t.Errorf("%s is named in %d declarations: %v", name, len(at), at)
		}
	}
	for _, name := range []string{"contour", "pld", "rdp"} {
		at := places(t, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return false
			}
			id, ok := s.X.(*ast.Ident)
			return ok && id.Name == name && s.Sel.Name == "Accountant"
		}, ".", "best", filepath.Join("..", "lab", "cmd", "coupling"))
		if 1+len(at) > 3 { // and its package
			t.Errorf("accountant %s is named in %v", name, at)
		}
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	t.Log(slices.Sorted(maps.Keys(methods)))
}

// change adds a file of testdata/places, or inserts text before the one spot that has another.
type change struct{ file, from, before, insert, importing string }

// overlay writes the argument of go build -overlay with the changes.
func overlay(t *testing.T, changes ...change) string {
	t.Helper()
	root := must.Get(filepath.Abs(".."))
	folder, replace := t.TempDir(), map[string]string{}
	for i, c := range changes {
		target := filepath.Join(root, c.file)
		if c.from != "" {
			replace[target] = filepath.Join(root, "dp", "testdata", "places", c.from)
			continue
		}
		content, err := os.ReadFile(cmp.Or(replace[target], target))
		if err != nil || strings.Count(string(content), c.before) != 1 {
			t.Fatalf("%s: %q is there %d times, %v", c.file, c.before, strings.Count(string(content), c.before), err)
		}
		text := strings.Replace(string(content), c.before, c.insert+c.before, 1)
		if c.importing != "" {
			text = strings.Replace(text, "import (\n", "import (\n\t"+strconv.Quote(c.importing)+"\n", 1)
		}
		replace[target] = filepath.Join(folder, strconv.Itoa(i)+".go")
		must.Do(os.WriteFile(replace[target], []byte(text), 0o600))
	}
	path := filepath.Join(folder, "overlay.json")
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A mechanism is added to a copy of the sources in four places, and an accountant in three. With
// these alone the accountants, the best one among them, and the command know them; if a further
// place becomes necessary, this fails.
func TestAddInPlaces(t *testing.T) {
	const command = "lab/cmd/coupling/privacy.go"
	mechanism := []change{ // a type and its two methods, and a row
		{file: "dp/vote.go", from: "vote.txt"},
		{file: command, before: "\t\t\"gaussian\":",
			insert: "\t\t\"vote\": {\"L1\", " +
				"func(noise float64) dp.Event { return dp.Vote{Choices: 3, Scale: noise} }},\n"},
	}
	accountant := []change{ // a package and two rows
		{file: "dp/hoeffding/hoeffding.go", from: "hoeffding.txt"},
		{
			file:      "dp/best/best.go",
			before:    "\tif by := q.Like.By;",
			insert:    "\tlist = append(list, stage{by: hoeffding.Accountant{}, q: q})\n",
			importing: "coupling/dp/hoeffding",
		},
		{
			file:      command,
			before:    "\t\t\"rdp\":",
			insert:    "\t\t\"hoeffding\": hoeffding.Accountant{},\n",
			importing: "coupling/dp/hoeffding",
		},
	}
	f := must.Get(parser.ParseFile(token.NewFileSet(), filepath.Join("testdata", "places", "vote.txt"), nil, 0))
	if n := len(f.Decls) - 1 + len(mechanism) - 1; n > 4 || len(accountant) > 3 { // less the import, and the file
		t.Errorf("a mechanism in %d places, an accountant in %d", n, len(accountant))
	}
	path := overlay(t, append(append(mechanism, accountant...),
		change{file: "dp/dptest/added_test.go", from: "added_test.go"})...)
	run := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	if out := run("go", "test", "-vet=off", "-v", "-overlay", path, "-run", "TestAdded",
		"./dp/dptest"); strings.Count(out, "\n--- PASS: TestAdded") != 2 {
		t.Errorf("of the two tests of what was added:\n%s", out)
	}
	if testing.Short() { // the command takes long to build
		return
	}
	binary := filepath.Join(t.TempDir(), "coupling")
	run("go", "build", "-overlay", path, "-o", binary, "./lab/cmd/coupling")
	for args, want := range map[string]string{
		"epsilon --mechanism vote --noise 2 --steps 3 --delta 0":                        "ε = 1.5 ",
		"epsilon --mechanism vote --noise 2 --rate .1 --group 2 --steps 9 --delta 1e-6": "ε = ",
		"epsilon --mechanism rr --steps 100 --delta 1e-6 --accountant " +
			"hoeffding": "by the hoeffding accountant",
		"calibrate --mechanism vote --rate .1 --steps 9 --eps 1 --delta 1e-6":                      "noise = ",
		"calibrate --find steps --mechanism vote --noise 99 --eps 1 --delta 1e-6 --accountant rdp": "steps = ",
	} {
		if out := run(binary, strings.Fields(args)...); !strings.Contains(out, want) {
			t.Errorf("%s: want %q:\n%s", args, want, out)
		}
	}
}

// A family of noise of another module is checked, sampled, composed, grouped and calibrated there, by
// testdata/elsewhere, which requires what this module does and this module.
func TestNoiseOfAnotherModule(t *testing.T) {
	if testing.Short() { // it builds another module
		return
	}
	root := must.Get(filepath.Abs(".."))
	dir := t.TempDir()
	for from, name := range map[string]string{"go.mod": "go.mod", "go.sum": "go.sum",
		"dp/testdata/elsewhere/noise_test.go": "noise_test.go"} {
		content, err := os.ReadFile(filepath.Join(root, from))
		if name == "go.mod" {
			text := strings.Replace(string(content), "module coupling", "module elsewhere", 1)
			content = []byte(text + "\nrequire coupling v0.0.0\nreplace coupling => " + strconv.Quote(root) + "\n")
		}
		must.Do(errors.Join(err, os.WriteFile(filepath.Join(dir, name), content, 0o600)))
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-v", ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestNoiseOfAnotherModule") {
		t.Errorf("%v\n%s", err, out)
	}
}
