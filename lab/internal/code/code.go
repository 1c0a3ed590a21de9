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
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/build"
	"hash"
	"maps"
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

// Assembly is the end of a digest whose code reaches assembly: package lab puts the processor's instruction
// set in its place, and its documentation says why.
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
			maps.Copy(out, found)
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
	seen     map[ref]bool
	parts    []string // what counts, a line each
	packages map[string]bool
	assembly bool
	err      error // the first
}

// digest returns that of what the declarations reach.
func (t *Tree) digest(roots []*decl) (string, error) {
	c := &closure{tree: t, seen: map[ref]bool{}, packages: map[string]bool{}}
	for _, d := range roots {
		c.add(d)
	}
	h := sha256.New()
	slices.Sort(c.parts)
	for _, p := range slices.Compact(c.parts) {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	digest := short(h)
	if c.assembly {
		digest += Assembly
	}
	return digest, c.err
}

func short(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:8]) }

func (c *closure) visit(r ref) {
	if c.seen[r] || r.pkg == labPath || c.err != nil {
		return
	}
	c.seen[r] = true
	if _, ok := c.tree.dir(r.pkg); !ok && c.tree.pkgs[r.pkg] == nil {
		if sum := c.tree.sum(r.pkg); sum != "" {
			c.parts = append(c.parts, sum)
		}
		return
	}
	p, err := c.tree.pkg(r.pkg)
	if err != nil {
		c.err = err
		return
	}
	for _, d := range p.decls[r.name] {
		c.add(d)
	}
}

// labPath is the package that calls experiments.
const labPath = "coupling/lab"

// add counts a declaration and what it names.
func (c *closure) add(d *decl) {
	c.parts = append(c.parts, d.pkg.path+" "+d.digest())
	for _, r := range d.refs {
		if _, known := d.pkg.decls[r.name]; known || r.pkg != d.pkg.path {
			c.visit(r)
		}
	}
	if !c.packages[d.pkg.path] {
		c.packages[d.pkg.path] = true
		for _, always := range d.pkg.always {
			c.add(always)
		}
	}
	if d.bodyless {
		c.assembly = true
		c.addFiles(d.pkg, d.pkg.assembly)
	}
	for _, pattern := range d.embeds {
		files, err := filepath.Glob(filepath.Join(d.pkg.dir, filepath.FromSlash(pattern)))
		c.err = cmp.Or(c.err, err)
		c.addFiles(d.pkg, files)
	}
}

// addFiles counts the bytes of files, and of those below folders.
func (c *closure) addFiles(p *pkg, files []string) {
	for _, file := range files {
		err := filepath.WalkDir(file, func(at string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if c.tree.files[at] == "" {
				b, err := c.tree.read(at)
				if err != nil {
					return err
				}
				h := sha256.New()
				h.Write(b)
				c.tree.files[at] = short(h)
			}
			c.parts = append(c.parts, p.path+" "+filepath.Base(at)+" "+c.tree.files[at])
			return nil
		})
		c.err = cmp.Or(c.err, err)
	}
}
