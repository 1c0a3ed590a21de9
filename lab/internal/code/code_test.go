package code

import (
	"archive/zip"
	"cmp"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab/must"

	"github.com/rogpeppe/go-internal/txtar"
)

// probe writes the module of testdata/probes.txtar with edits (FILE, OLD, NEW), and returns the
// digests of its experiments.
func probe(t *testing.T, flags []string, edits ...[3]string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	archive := must.Get(txtar.ParseFile("testdata/probes.txtar"))
	for _, f := range archive.Files {
		text := string(f.Data)
		for _, e := range edits {
			if e[0] == f.Name {
				if !strings.Contains(text, e[1]) {
					t.Fatalf("%s has no %q", f.Name, e[1])
				}
				text = strings.Replace(text, e[1], e[2], 1)
			}
		}
		write(filepath.Join(dir, filepath.FromSlash(f.Name)), text)
	}
	tree := must.Get(list(dir, append(flags, "./...")...))
	table := map[string]string{}
	for _, f := range tree.table() {
		name := path.Base(path.Dir(f.File)) // of the package
		if table[name] != "" {
			t.Errorf("%s has two functions", name)
		}
		table[name] = f.reach()
	}
	return table
}

func write(file, text string) {
	must.Do(cmp.Or(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)))
}

// proxy offers other.org/foo-go, which uses other.org/m, both in two versions, and a place for what
// is downloaded.
func proxy(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"other.org/foo-go", "other.org/m"} {
		for _, version := range []string{"v1.0.0", "v1.0.1"} {
			base := filepath.Join(dir, filepath.FromSlash(name), "@v", version)
			mod, text := "module "+name+"\n", "package m\n\nfunc F() int { return 1 }\n"
			if name != "other.org/m" {
				mod += "\nrequire other.org/m v1.0.0\n"
				text = "package foo\n\nimport \"other.org/m\"\n\nfunc F() int { return m.F() }\n"
			}
			write(base+".info", `{"Version":"`+version+`"}`)
			write(base+".mod", mod)
			f := must.Get(os.Create(base + ".zip"))
			z := zip.NewWriter(f)
			for file, text := range map[string]string{"go.mod": mod, "f.go": text} {
				w, err := z.Create(name + "@" + version + "/" + file)
				if _, err2 := w.Write([]byte(text)); cmp.Or(err, err2) != nil {
					t.Fatal(err, err2)
				}
			}
			must.Do(cmp.Or(z.Close(), f.Close()))
		}
	}
	cache := t.TempDir()
	for name, value := range map[string]string{
		"GOFLAGS": "-mod=mod", "GOCACHE": goCache(), "GOPROXY": "file://" + filepath.ToSlash(dir),
		"GONOSUMDB": "*", "GOMODCACHE": cache,
		"XDG_CACHE_HOME": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	t.Cleanup(func() { _ = exec.Command("go", "clean", "-modcache").Run() }) // its folders are read-only
}

func goCache() string {
	out := must.Get(exec.Command("go", "env", "GOCACHE").Output())
	return strings.TrimSpace(string(out))
}

// Each group of edits is made at once, and changes the digests of the experiments that it names and
// no other.
func TestDigestIsOfWhatRunReaches(t *testing.T) {
	proxy(t)
	base := probe(t, nil)
	for name, digest := range base {
		if digest == "" || strings.HasSuffix(digest, Assembly) != (name == "asm") {
			t.Errorf("%s: %q", name, digest)
		}
	}
	for _, name := range []string{"unresolved", "method"} {
		if _, ok := base[name]; ok {
			t.Errorf("%s has a digest", name)
		}
	}
	for _, group := range []struct {
		flags   string
		changes string
		edits   [][3]string
	}{
		{edits: [][3]string{
			{"plain/e.go", "Version: 1", "Version: 2"},
			{"plain/e.go", "func x() int { return 5 }", "func x() int { return 6 }"},
			{"plain/e.go", "x := 3", "x := 4"},
			{"plain/e.go", "func run", "// a comment\n\nfunc run"},
			{"plain/e.go", "{ return kit", "{\n\treturn   kit"},
			{"kit/kit.go", "return 7", "return 8"},
			{"kit/kit.go", "four = 4", "four = 5"},
			{"kit/kit_test.go", "kit\n", "kit\n\nfunc x() {}\n"},
			{"tags/fast.go", "return 1", "return 2"},
		}},
		{changes: "plain", edits: [][3]string{{"plain/e.go", "p.N)", "p.N) + 1"}}},
		{changes: "plain", edits: [][3]string{{"kit/kit.go", "two  = 2", "two  = 3"}}},
		{changes: "plain", edits: [][3]string{{"kit/sub/sub.go", "Three = 3", "Three = 4"}}},
		{changes: "plain", edits: [][3]string{{"kit/kit.go", "Hidden() int { return 1", "Hidden() int { return 2"}}},
		{changes: "plain", edits: [][3]string{{"kit/sub/kernel.txt", "first", "second"}}},
		{changes: "asm", edits: [][3]string{{"vec/sum_amd64.s", "RET", "NOP\n\tRET"},
			{"vec/sum_arm64.s", "RET", "NOP\n\tRET"}}},
		{changes: "name concat alias slice dot blank embeds factory registered", edits: [][3]string{
			{"name/e.go", "return 1", "return 2"},
			{"concat/e.go", "return 1", "return 2"},
			{"alias/a.go", "return 1", "return 2"},
			{"slice/e.go", "return 1", "return 2"},
			{"dot/sub/s.go", "return 1", "return 2"},
			{"blank/drv/d.go", "return 1 ", "return 2 "},
			{"embeds/d/_x", "one", "two"},
			{"factory/e.go", "through(3)", "through(4)"},
			{"registered/e.go", "return 6", "return 7"},
		}},
		{changes: "blank embeds", edits: [][3]string{
			{"blank/drv/d.go", "return 11", "return 12"},
			{"embeds/x y.txt", "one", "two"},
		}},
		{changes: "tags", flags: "-tags=fast"},
		{changes: "module", edits: [][3]string{{"go.mod", "foo-go v1.0.0", "foo-go v1.0.1"}}},
		{changes: "module", edits: [][3]string{{"go.mod", "other.org/m v1.0.0", "other.org/m v1.0.1"}}},
	} {
		var flags []string
		if group.flags != "" {
			flags = append(flags, group.flags)
		}
		want := map[string]bool{}
		for _, name := range strings.Fields(group.changes) {
			want[name] = true
		}
		after := probe(t, flags, group.edits...)
		for name := range base {
			if (after[name] != base[name]) != want[name] {
				t.Errorf("%q: the digest of %s goes from %q to %q", group.edits, name, base[name], after[name])
			}
		}
		if len(after) != len(base) {
			t.Errorf("%q: %d experiments, then %d", group.edits, len(base), len(after))
		}
	}
	for name, digest := range probe(t, nil, [3]string{"go.mod", "go 1.26", "go 1.25"}) {
		if digest == base[name] {
			t.Errorf("%s: the language is another, and the digest is the same", name)
		}
	}
}

// What cgo compiles counts as a whole: the C of a comment, of a file, and the Go beside it.
func TestCgo(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs a C compiler")
	}
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	digests := map[string]bool{}
	for _, number := range [][3]string{{"1", "1", "1"}, {"2", "1", "1"}, {"1", "2", "1"}, {"1", "1", "2"}} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"go.mod": "module example\n\ngo 1.26\n\nrequire coupling v0.0.0\n\nreplace coupling => " +
				"./coupling\n",
			"coupling/go.mod":     "module coupling\n\ngo 1.20\n",
			"coupling/lab/lab.go": "package lab\n\ntype Cell struct{}\n",
			"c/c.go": "package c\n\n// static int f() { return " + number[0] +
				"; }\nimport \"C\"\n\nfunc F(int) int { return " + number[1] + " * int(C.f()) }\n",
			"c/g.c": "int g() { return " + number[2] + "; }\n",
			"e.go": "package example\n\nimport (\n\t\"coupling/lab\"\n\t\"example/c\"\n)\n\n" +
				"func run(*lab.Cell) int { return c.F(0) }\n",
		} {
			write(filepath.Join(dir, filepath.FromSlash(name)), text)
		}
		table, err := Of(dir, ".")
		if err != nil || len(table) != 1 {
			t.Fatal(table, err)
		}
		digests[table[0].Digest] = true
	}
	if len(digests) != 4 {
		t.Errorf("%d digests of four versions", len(digests))
	}
}
