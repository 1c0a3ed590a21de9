// Package code digests the code that an experiment runs: the declarations that its Run function can
// reach, without comments and layout, and the versions of the modules that they use.
//
// The go command says which files, embedded files, assembly and modules a program is built of, and
// go/types what a name means. What a declaration can reach is what it names, and what those name in
// turn. A type brings its methods along, since they may be called through an interface; a constant
// its value alone; a package the init functions of what it imports; a variable the declarations
// that assign it; a function without a body the package's assembly; a file with import "C" all that
// cgo compiles; a variable that a go:embed comment fills the package's embedded files. Of other
// modules the version counts, with those of the modules that they use; of the standard library
// nothing, and nothing of packages lab and lab/store, which call experiments and compute no number.
//
// A digest depends on the experiment's package and what it imports, so it is the same in every
// program. Experiments that cannot be resolved have none: those whose Name is no constant, whose
// Run is assigned later, or that an exported function makes from its arguments.
package code

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Assembly is the end of a digest whose code reaches assembly: package lab puts the processor's
// instruction set in its place, and its documentation says why.
const Assembly = "+asm"

// labPath is the package that calls experiments.
const labPath = "coupling/lab"

// isLab reports whether a package is that, or the one with the store.
func isLab(path string) bool { return path == labPath || path == labPath+"/store" }

// Of returns the digests of the experiments that the packages in dir that match pattern declare, or
// packages of the same modules that they import, by name. The pattern is that of go list: a file, a
// folder, an import path, ./….
func Of(dir, pattern string) (map[string]string, error) {
	time.Sleep(2 * coarse) // what was saved just now is older than the list
	t, err := list(time.Now(), dir, nil, nil, pattern)
	if err != nil {
		return nil, err
	}
	return t.experiments()
}

// experiments returns the digests of all experiments of the tree.
func (t *tree) experiments() (map[string]string, error) {
	closures := map[string]*closure{}
	for _, path := range slices.Sorted(maps.Keys(t.packages)) {
		p := t.packages[path]
		if !p.own() || isLab(path) {
			continue
		}
		s, err := t.summary(p)
		if err != nil {
			return nil, err
		}
		for _, e := range s.Experiments {
			c := closures[e.Name]
			if c == nil {
				c = &closure{tree: t, seen: map[*decl]bool{}, packages: map[string]bool{}, parts: map[string]bool{}}
				closures[e.Name] = c
			}
			c.unresolved = c.unresolved || e.Unresolved
			c.from = t.imported(path)
			for _, d := range e.Roots {
				c.add(p, d)
			}
		}
	}
	out := map[string]string{}
	for name, c := range closures {
		if c.err != nil {
			return nil, c.err
		} else if !c.unresolved {
			out[name] = c.digest()
		}
	}
	return out, nil
}

// closure is what an experiment reaches.
type closure struct {
	tree       *tree
	from       []string // the packages that the experiment's imports
	seen       map[*decl]bool
	packages   map[string]bool
	parts      map[string]bool // what counts, a line each
	assembly   bool
	unresolved bool
	err        error // the first
}

func (c *closure) digest() string {
	h := sha256.New()
	for _, p := range slices.Sorted(maps.Keys(c.parts)) {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	digest := hex.EncodeToString(h.Sum(nil)[:8])
	if c.assembly {
		digest += Assembly
	}
	return digest
}

// visit counts the declarations of a name, and those that assign it.
func (c *closure) visit(r ref) {
	path, name := r.split()
	p := c.tree.packages[path]
	if p == nil || p.Standard || isLab(path) || c.err != nil {
		return
	}
	if !p.own() {
		for _, version := range c.tree.versions(path) {
			c.parts[version] = true
		}
		return
	}
	for _, d := range c.summary(p).Decls[name] {
		c.add(p, d)
	}
	for _, from := range c.from {
		q := c.tree.packages[from]
		for _, d := range c.summary(q).Assigns[r] {
			c.add(q, d)
		}
	}
}

// summary notes an error, and returns an empty summary then.
func (c *closure) summary(p *pkg) *summary {
	s, err := c.tree.summary(p)
	if err != nil {
		c.err = err
		return &summary{}
	}
	return s
}

// add counts a declaration and what it names.
func (c *closure) add(p *pkg, d *decl) {
	if c.seen[d] {
		return
	}
	c.seen[d] = true
	s := c.summary(p)
	c.parts[p.symbol()+" "+d.Sum] = true
	for _, value := range d.Consts {
		c.parts[value] = true
	}
	for _, file := range s.Files[d.Files] {
		c.parts[p.symbol()+" "+file] = true
	}
	c.assembly = c.assembly || d.Files == assembly
	c.enter(p)
	for _, r := range d.Refs {
		c.visit(r)
	}
}

// enter counts what a package does before anybody calls it.
func (c *closure) enter(p *pkg) {
	if c.packages[p.ImportPath] {
		return
	}
	c.packages[p.ImportPath] = true
	if p.Module != nil {
		c.parts["go "+p.Module.Path+" "+p.Module.GoVersion] = true
	}
	for _, path := range c.tree.imported(p.ImportPath) {
		q := c.tree.packages[path]
		c.visit(newRef(path, "init"))
		for _, blank := range c.summary(q).Blank {
			c.visit(newRef(blank, "init"))
			c.visit(newRef(blank, effects))
		}
	}
}

// imported returns a package and those with source that it imports, directly or not, without lab.
func (t *tree) imported(path string) []string {
	if _, ok := t.closed[path]; !ok {
		t.closed[path] = t.reach(path, func(p *pkg) bool { return p.own() && !isLab(p.ImportPath) })
	}
	return t.closed[path]
}

// versions returns the modules of a package of another module and of all that it imports.
func (t *tree) versions(path string) []string {
	if known, ok := t.modules[path]; ok {
		return known
	}
	out := map[string]bool{}
	for _, path := range t.reach(path, func(p *pkg) bool { return !p.Standard && !p.own() }) {
		m := t.packages[path].Module
		if m.Replace != nil {
			m = m.Replace
		}
		out[strings.Join([]string{"module", m.Path, m.Version, m.Sum}, " ")] = true
	}
	t.modules[path] = slices.Sorted(maps.Keys(out))
	return t.modules[path]
}

// reach returns a package and what it imports, directly or not, as far as all on the way are in.
func (t *tree) reach(path string, in func(*pkg) bool) []string {
	set := map[string]bool{}
	var visit func(string)
	visit = func(path string) {
		if p := t.packages[path]; p != nil && !set[path] && in(p) {
			set[path] = true
			for _, i := range p.Imports {
				visit(i)
			}
		}
	}
	visit(path)
	return slices.Sorted(maps.Keys(set))
}
