package code

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var sources = map[string]string{
	"go.mod":            "module example\n\ngo 1.26\n\nrequire other.org/m v1.0.0\n",
	"go.sum":            "other.org/m v1.0.0 h1:aaaa=\n",
	"exp.go":            "package example\n\nimport (\n\t\"coupling/lab\"\n\t\"example/sub\"\n)\n\nvar e = lab.Experiment[P, R]{Name: \"a/b\", Version: 1, Run: run}\n\ntype P struct{ N int }\ntype R struct{ V int }\n\nfunc run(p P) R { return R{sub.F(p.N) + local} }\n\nvar local = two\n\nconst two = 2\n\nfunc draw() int { return 3 }\n",
	"sub/s.go":          "package sub\n\nimport (\n\t_ \"embed\"\n\n\t\"other.org/m\"\n)\n\n//go:embed kernel.txt\nvar kernel string\n\ntype T struct{}\n\nfunc (T) Hidden() int { return m.One() }\n\nfunc F(n int) int { var i interface{ Hidden() int } = T{}; return n + i.Hidden() + len(kernel) }\n\nfunc G() int { return 7 }\n\nfunc Sum(x []float64) float64\n\nfunc H() float64 { return Sum(nil) }\n",
	"sub/kernel.txt":    "first",
	"sub/sum_amd64.s":   "TEXT ·Sum(SB), 4, $0\n",
	"sub/sum_arm64.s":   "TEXT ·Sum(SB), 4, $0\n",
	"sub/other_test.go": "package sub\n",
}

func digestOf(t *testing.T, edits ...string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range sources {
		for i := 0; i+2 < len(edits); i += 3 {
			if edits[i] == name {
				if !strings.Contains(text, edits[i+1]) {
					t.Fatalf("%s has no %q", name, edits[i+1])
				}
				text = strings.Replace(text, edits[i+1], edits[i+2], 1)
			}
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	table, err := tree.Below(dir)
	if err != nil || table["a/b"] == "" {
		t.Fatal(table, err)
	}
	return table["a/b"]
}

func TestDigestIsOfWhatRunReaches(t *testing.T) {
	base := digestOf(t)
	for _, edit := range [][]string{
		{"exp.go", "Version: 1", "Version: 2"},
		{"exp.go", "return 3", "return 4"},
		{"exp.go", "func run", "// a comment\n\nfunc run"},
		{"exp.go", "{ return R{", "{\n\treturn   R{"},
		{"sub/s.go", "return 7", "return 8"},
		{"sub/other_test.go", "sub\n", "sub\n\nfunc x() {}\n"},
	} {
		if digestOf(t, edit...) != base {
			t.Errorf("%q: the digest changes, and nothing that runs does", edit)
		}
	}
	for _, edit := range [][]string{
		{"exp.go", "local}", "local + 1}"},
		{"exp.go", "two = 2", "two = 3"},
		{"exp.go", "V int", "V int64"},
		{"sub/s.go", "len(kernel)", "0"},
		{"sub/s.go", "return m.One()", "return 1 + m.One()"},
		{"sub/s.go", "func G()", "func init() { local = 5 }\n\nfunc G()"},
		{"sub/kernel.txt", "first", "second"},
		{"go.mod", "v1.0.0", "v1.0.1"},
		{"go.sum", "aaaa", "bbbb"},
	} {
		if digestOf(t, edit...) == base {
			t.Errorf("%q: the digest stays, and what runs has changed", edit)
		}
	}
	if strings.HasSuffix(base, Assembly) {
		t.Error("no assembly is reached")
	}
	calls := []string{"exp.go", "sub.F(p.N)", "sub.F(p.N) + int(sub.H())"}
	if d := digestOf(t, calls...); !strings.HasSuffix(d, Assembly) {
		t.Errorf("%s: assembly is reached", d)
	}
}
