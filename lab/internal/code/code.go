// Package code digests the code that an experiment runs: the declarations that
// its Run function can reach, without comments and layout, and the versions of
// the modules that they use. It reads source files and needs no Go tool.
//
// What a declaration can reach is what it names, and what those name in turn. A
// type brings its methods along, since they may be called through an interface;
// a package brings its init functions; a function without a body brings the
// package's assembly; a go:embed comment brings the files. A name that is also a
// local variable's counts, so that the digest may change where the code does not,
// and never the reverse (linkname and reflection by name apart).
//
// Files are those that the current system's build takes. Of other modules the
// version and the sum in go.sum count, of the standard library nothing, and
// nothing of package lab, which calls experiments and computes no number.
package code

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/build"
	"hash"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"coupling/lab/durable"
)

// A Tree is the source of one module or more.
type Tree struct {
	// Newest is the newest modification time of the files that were read.
	Newest time.Time

	context build.Context
	modules []module          // whose source is at hand
	others  map[string]string // module path to version
	sums    map[string]string // of others: lines of go.sum
	pkgs    map[string]*pkg
	listed  map[string]*build.Package // by folder
	files   map[string]string         // digests of files that are no Go
}

type module struct{ path, dir string }

// Open returns the tree of the modules that dirs lie in, and of those that they
// replace by folders.
func Open(dirs ...string) (*Tree, error) {
	t := &Tree{context: build.Default, others: map[string]string{}, sums: map[string]string{}, pkgs: map[string]*pkg{}, listed: map[string]*build.Package{}, files: map[string]string{}}
	t.context.CgoEnabled = false
	for _, dir := range dirs {
		root, ok := durable.Nearest(dir, func(at string) bool {
			_, err := os.Stat(filepath.Join(at, "go.mod"))
			return err == nil
		})
		if !ok {
			return nil, fmt.Errorf("no go.mod at or above %s", dir)
		}
		if err := t.add(root); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Tree) add(root string) error {
	if slices.ContainsFunc(t.modules, func(m module) bool { return m.dir == root }) {
		return nil
	}
	b, err := t.read(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	mod, err := modfile.Parse("go.mod", b, nil)
	if err != nil {
		return err
	}
	t.modules = append(t.modules, module{mod.Module.Mod.Path, root})
	for _, r := range mod.Require {
		t.others[r.Mod.Path] = r.Mod.Version
	}
	if sums, err := t.read(filepath.Join(root, "go.sum")); err == nil {
		for line := range strings.Lines(string(sums)) {
			if name, _, ok := strings.Cut(line, " "); ok {
				t.sums[name] += line
			}
		}
	}
	for _, r := range mod.Replace {
		if r.New.Version != "" {
			t.others[r.Old.Path] = r.New.Path + " " + r.New.Version
			continue
		}
		dir := filepath.FromSlash(r.New.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		if err := t.add(dir); err != nil {
			return err
		}
	}
	return nil
}

// read reads a file and notes its time.
func (t *Tree) read(file string) ([]byte, error) {
	fi, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if fi.ModTime().After(t.Newest) {
		t.Newest = fi.ModTime()
	}
	return os.ReadFile(file)
}

// dir returns the folder of a package whose source is at hand.
func (t *Tree) dir(importPath string) (string, bool) {
	for _, m := range t.modules {
		if rest, ok := strings.CutPrefix(importPath, m.path); ok && (rest == "" || rest[0] == '/') {
			return filepath.Join(m.dir, filepath.FromSlash(rest)), true
		}
	}
	return "", false
}

// sum adds what counts of a package of another module.
func (t *Tree) sum(importPath string) string {
	for p := importPath; p != "."; p = path.Dir(p) {
		if version, ok := t.others[p]; ok {
			return p + " " + version + "\n" + t.sums[p]
		}
	}
	return "" // the standard library
}

// Assembly is the end of a digest whose code reaches assembly: results may depend on the
// instruction set of the processor. Equal bits would cost speed: AVX-512 takes about as long as
// AVX2 for a dot product, but two thirds of its time for a row of exponentials, by instructions
// that only it has (BenchmarkRows of package lab/device/cpu, Dot and RowExpAt, on Zen 4). So each
// set keeps its own bits and is in the digest; $COUPLING_CPU chooses one where machines must agree.
const Assembly = "+asm"

// Experiments returns the digests of the experiments that a package declares, by
// name: composite literals of lab.Experiment whose Name is a constant. files are
// its files if it has no import path, such as a notebook's cell or a Go file that stands alone.
func (t *Tree) Experiments(importPath string, files ...string) (map[string]string, error) {
	p, err := t.pkg(importPath, files...)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, e := range p.experiments() {
		if out[e.name], err = t.digest(e.run); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Below returns the digests of the experiments of all packages of a folder.
func (t *Tree) Below(dir string) (map[string]string, error) {
	out := map[string]string{}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		for _, m := range t.modules {
			rel, err := filepath.Rel(m.dir, at)
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			found, err := t.Experiments(path.Join(m.path, filepath.ToSlash(rel)))
			if none := (*build.NoGoError)(nil); errors.As(err, &none) {
				return nil
			} else if err != nil {
				return err
			}
			for name, digest := range found {
				out[name] = digest
			}
			return nil
		}
		return fmt.Errorf("%s is in no module at hand", at)
	})
	return out, err
}

// ref names a declaration.
type ref struct{ pkg, name string }

// closure is what a declaration reaches.
type closure struct {
	tree     *Tree
	todo     []ref
	seen     map[ref]bool
	parts    []string // what counts, a line each
	packages map[string]bool
	assembly map[string]bool // packages
}

// digest returns that of what the declarations reach.
func (t *Tree) digest(roots []*decl) (string, error) {
	c := &closure{tree: t, seen: map[ref]bool{}, packages: map[string]bool{}, assembly: map[string]bool{}}
	for _, d := range roots {
		if err := c.add(d); err != nil {
			return "", err
		}
	}
	for len(c.todo) > 0 {
		r := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		if err := c.visit(r); err != nil {
			return "", err
		}
	}
	h := sha256.New()
	slices.Sort(c.parts)
	for _, p := range slices.Compact(c.parts) {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	digest := short(h)
	if len(c.assembly) > 0 {
		digest += Assembly
	}
	return digest, nil
}

func short(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:8]) }

func (c *closure) visit(r ref) error {
	if c.seen[r] || r.pkg == labPath {
		return nil
	}
	c.seen[r] = true
	if _, ok := c.tree.dir(r.pkg); !ok && c.tree.pkgs[r.pkg] == nil {
		if sum := c.tree.sum(r.pkg); sum != "" {
			c.parts = append(c.parts, sum)
		}
		return nil
	}
	p, err := c.tree.pkg(r.pkg)
	if err != nil {
		return err
	}
	for _, d := range p.decls[r.name] {
		if err := c.add(d); err != nil {
			return err
		}
	}
	return nil
}

// labPath is the package that calls experiments.
const labPath = "coupling/lab"

// add counts a declaration and asks for what it names.
func (c *closure) add(d *decl) error {
	c.parts = append(c.parts, d.pkg.path+" "+d.digest())
	for _, r := range d.refs {
		if _, known := d.pkg.decls[r.name]; known || r.pkg != d.pkg.path {
			c.todo = append(c.todo, r)
		}
	}
	if !c.packages[d.pkg.path] {
		c.packages[d.pkg.path] = true
		for _, always := range d.pkg.always {
			if err := c.add(always); err != nil {
				return err
			}
		}
	}
	var files []string
	if d.bodyless && !c.assembly[d.pkg.path] {
		c.assembly[d.pkg.path] = true
		files = d.pkg.assembly
	}
	for _, pattern := range d.embeds {
		more, err := filepath.Glob(filepath.Join(d.pkg.dir, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	for _, f := range files {
		if err := c.addFiles(d.pkg.path, f); err != nil {
			return err
		}
	}
	return nil
}

// addFiles counts the bytes of a file, or of those below a folder.
func (c *closure) addFiles(pkg, file string) error {
	return filepath.WalkDir(file, func(at string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		sum := c.tree.files[at]
		if sum == "" {
			b, err := c.tree.read(at)
			if err != nil {
				return err
			}
			h := sha256.New()
			h.Write(b)
			sum = short(h)
			c.tree.files[at] = sum
		}
		c.parts = append(c.parts, pkg+" "+filepath.Base(at)+" "+sum)
		return nil
	})
}
