// Package code digests the code that an experiment runs: the declarations that its Run function can
// reach, without comments and layout, and the versions of the modules that they use.
//
// The go command says of which files and modules a program is built, the runtime which function Run
// is, and go/types which declaration a name means. A declaration reaches what it names, and what
// those name in turn; a type also its methods, which an interface may call. Of a package that is
// reached, the files that are not Go count, and those with import "C"; of packages that are
// imported, what runs before main. Of other modules the versions count; of the standard library, of
// lab and of lab/store, which call experiments and compute no number, nothing. A digest depends on
// Run's package and what it imports, so it is the same in every program.
package code

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
)

// Assembly is the end of a digest whose code reaches assembly: package lab puts the processor's
// instruction set in its place, and its documentation says why.
const Assembly = "+asm"

// A Table lists functions that may be the Run of an experiment.
type Table []Function

// A Function is a declared one, or a literal.
type Function struct {
	File        string        // PACKAGE/FILE
	First, Last int           // lines
	Digest      string        `json:",omitzero"`
	Decl        *decl         `json:",omitzero"` // in a summary
	reach       func() string // finds the digest, where that is not done yet
}

// Of returns the functions of the packages in dir that match a pattern of go list, and of those
// with source that they import.
func Of(dir, pattern string) (Table, error) {
	t, err := list(dir, pattern)
	table := t.table()
	for i, f := range table {
		table[i].Digest = f.reach()
	}
	return table, err
}

// Lookup returns the digest of a function, or "": methods and generic functions have none, nor have
// two functions in one line, which the runtime cannot tell apart.
func (t Table) Lookup(f runtime.Frame) (digest string) {
	dir, name := path.Split(f.Function)
	name, function, _ := strings.Cut(name, ".")
	if strings.ContainsAny(function, "[-") { // of types, or -fm, of a receiver
		return ""
	}
	file, found := dir+strings.ReplaceAll(name, "%2e", ".")+"/"+path.Base(f.File), Function{}
	for _, g := range t {
		if g.File == file && found.First <= g.First && g.First <= f.Line && f.Line <= g.Last {
			if g.First == found.First {
				g = Function{First: g.First}
			}
			found = g
		}
	}
	if found.reach != nil {
		return found.reach()
	}
	return found.Digest
}

// table returns the functions of all packages with source, whose digests are yet to find.
func (t tree) table() (out Table) {
	for _, path := range slices.Sorted(maps.Keys(t)) {
		for _, f := range t[path].Functions {
			d := f.Decl
			f.File, f.Decl, f.reach = t[path].symbol+"/"+f.File, nil, func() string { return t.digest(path, d) }
			out = append(out, f)
		}
	}
	return out
}

// digest returns that of a function which a declaration of a package holds.
func (t tree) digest(path string, d *decl) string {
	c := closure{tree: t, seen: map[*decl]bool{}, names: map[string]bool{}, parts: map[string]bool{}}
	c.add(t[path], d)
	c.load(path)
	sum := hash([]byte(strings.Join(slices.Sorted(maps.Keys(c.parts)), "\n")))
	if c.assembly {
		sum += Assembly
	}
	return sum
}

// closure is what a function reaches.
type closure struct {
	tree     tree
	seen     map[*decl]bool
	names    map[string]bool // that were visited, and packages
	parts    map[string]bool // what counts, a line each
	assembly bool
}

func (c *closure) add(p *pkg, d *decl) {
	if c.seen[d] {
		return
	}
	c.seen[d] = true
	c.parts[p.symbol+" "+d.Sum] = true
	c.parts[p.symbol+" "+p.files] = true
	c.assembly = c.assembly || len(p.SFiles) > 0
	for _, name := range d.Names {
		c.visit(name)
	}
}

func (c *closure) visit(name string) {
	if c.names[name] {
		return
	}
	c.names[name] = true
	path, _, _ := strings.Cut(name, " ")
	p := c.tree[path]
	if p == nil {
		return
	}
	for _, d := range p.Decls[name] {
		c.add(p, d)
	}
	if p.own() {
		return
	}
	for m := p.Module; m != nil; m = m.Replace {
		c.parts["module "+m.Path+" "+m.Version+" "+m.Sum] = true
	}
	for _, i := range p.Imports {
		c.visit(i + " ")
	}
}

// load counts what a package and its imports do before anybody calls them, and their languages.
func (c *closure) load(path string) {
	p := c.tree[path]
	if p == nil || c.names[path] || !p.own() {
		return
	}
	c.names[path] = true
	if p.Module != nil {
		c.parts["go "+p.Module.Path+" "+p.Module.GoVersion] = true
	}
	c.visit(path + " init")
	for _, blank := range p.Blank {
		c.visit(blank + " ") // of another module the version
		if q := c.tree[blank]; q != nil {
			for name := range q.Decls {
				c.visit(name)
			}
		}
	}
	for _, i := range p.Imports {
		c.load(i)
	}
}

// hash returns 16 hexadecimal digits of SHA-256.
func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return fmt.Sprintf("%x", sum[:8])
}
