package code

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// pkg is a package that was parsed.
type pkg struct {
	path, dir string
	decls     map[string][]*decl // by name; methods by that of their type
	always    []*decl            // run without being named: init functions, var _ = …
	assembly  []string           // files
	literals  []literal
}

// decl is a declaration, or an expression.
type decl struct {
	pkg      *pkg
	node     ast.Node
	file     *source
	refs     []ref    // what it names; some of them may be local variables
	embeds   []string // patterns
	bodyless bool     // implemented in assembly
	sum      string
}

// source is a file as the compiler sees it.
type source struct {
	tokens  []string
	offsets []int // of tokens
	base    int
	imports map[string]string // name to path
}

// pkg returns a package, which is parsed once. With files it consists of those.
func (t *Tree) pkg(importPath string, files ...string) (*pkg, error) {
	if p := t.pkgs[importPath]; p != nil {
		return p, nil
	}
	p := &pkg{path: importPath, decls: map[string][]*decl{}}
	if len(files) == 0 {
		dir, ok := t.dir(importPath)
		if !ok {
			return nil, fmt.Errorf("no source of package %s", importPath)
		}
		built, err := t.list(dir)
		if err != nil {
			return nil, err
		}
		p.dir = dir
		for _, f := range built.GoFiles {
			files = append(files, filepath.Join(dir, f))
		}
		for _, f := range append(built.SFiles, built.HFiles...) {
			p.assembly = append(p.assembly, filepath.Join(dir, f))
		}
	} else {
		p.dir = filepath.Dir(files[0])
	}
	t.pkgs[importPath] = p
	for _, f := range files {
		if err := t.parse(p, f); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// list returns which files of a folder are built.
func (t *Tree) list(dir string) (*build.Package, error) {
	if p := t.listed[dir]; p != nil {
		return p, nil
	}
	p, err := t.context.ImportDir(dir, 0)
	if err == nil {
		t.listed[dir] = p
	}
	return p, err
}

func (t *Tree) parse(p *pkg, file string) error {
	b, err := t.read(file)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, b, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	s := &source{base: set.File(f.Pos()).Base(), imports: map[string]string{}}
	for _, i := range f.Imports {
		name, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return err
		}
		s.imports[t.importName(i, name)] = name
	}
	s.scan(b)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			p.addFunc(s, d)
		case *ast.GenDecl:
			p.addGen(s, d)
		}
	}
	return nil
}

// importName is how a file calls a package.
func (t *Tree) importName(i *ast.ImportSpec, importPath string) string {
	if i.Name != nil {
		return i.Name.Name
	}
	if dir, ok := t.dir(importPath); ok {
		if built, err := t.list(dir); err == nil {
			return built.Name
		}
	}
	base := path.Base(importPath)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" { // a major version
		base = path.Base(path.Dir(importPath))
	}
	base, _, _ = strings.Cut(base, ".")
	return strings.TrimPrefix(base, "go-")
}

// scan splits a file into tokens; comments and layout are none.
func (s *source) scan(b []byte) {
	var in scanner.Scanner
	set := token.NewFileSet()
	f := set.AddFile("", set.Base(), len(b))
	in.Init(f, b, nil, 0)
	for {
		pos, tok, lit := in.Scan()
		if tok == token.EOF {
			return
		}
		if tok == token.SEMICOLON || lit == "" {
			lit = tok.String()
		}
		s.tokens, s.offsets = append(s.tokens, lit), append(s.offsets, f.Offset(pos))
	}
}

// digest returns that of the declaration's tokens.
func (d *decl) digest() string {
	if d.sum == "" {
		h := sha256.New()
		from, to := int(d.node.Pos())-d.file.base, int(d.node.End())-d.file.base
		i, _ := slices.BinarySearch(d.file.offsets, from)
		j, _ := slices.BinarySearch(d.file.offsets, to)
		for _, token := range d.file.tokens[i:j] {
			fmt.Fprintln(h, token)
		}
		d.sum = short(h)
	}
	return d.sum
}

func (p *pkg) addFunc(s *source, f *ast.FuncDecl) {
	d := p.add(s, f, f.Doc)
	d.bodyless = f.Body == nil
	switch {
	case f.Recv != nil:
		p.declare(receiver(f.Recv.List[0].Type), d)
	case f.Name.Name == "init" || f.Name.Name == "_":
		p.always = append(p.always, d)
	default:
		p.declare(f.Name.Name, d)
	}
}

// receiver is the name of the type that a method belongs to: the first in *T, T[P], (*T).
func receiver(e ast.Expr) (name string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// addGen adds types and variables one by one, and a group of constants as a
// whole, since iota and what is left out depend on the place.
func (p *pkg) addGen(s *source, g *ast.GenDecl) {
	var group *decl
	if g.Tok == token.CONST {
		group = p.add(s, g, g.Doc)
	}
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			p.declare(spec.Name.Name, p.add(s, spec, spec.Doc))
		case *ast.ValueSpec:
			d := group
			if d == nil {
				d = p.add(s, spec, spec.Doc, g.Doc)
			}
			for _, name := range spec.Names {
				if name.Name == "_" && group == nil {
					p.always = append(p.always, d)
				}
				p.declare(name.Name, d)
			}
		}
	}
}

func (p *pkg) declare(name string, d *decl) { p.decls[name] = append(p.decls[name], d) }

// add makes a declaration of a node.
func (p *pkg) add(s *source, n ast.Node, docs ...*ast.CommentGroup) *decl {
	d := &decl{pkg: p, node: n, file: s}
	for _, doc := range docs {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			if patterns, ok := strings.CutPrefix(c.Text, "//go:embed "); ok {
				d.embeds = append(d.embeds, strings.Fields(patterns)...)
			}
		}
	}
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr: // of whose two names the second is a field's, a method's, or another package's
			if x, ok := n.X.(*ast.Ident); ok && s.imports[x.Name] != "" {
				d.refs = append(d.refs, ref{s.imports[x.Name], n.Sel.Name})
			}
			ast.Inspect(n.X, visit)
			return false
		case *ast.CompositeLit:
			if s.isExperiment(n.Type) {
				p.literals = append(p.literals, literal{n, d})
			}
		case *ast.Ident:
			d.refs = append(d.refs, ref{p.path, n.Name})
		}
		return true
	}
	ast.Inspect(n, visit)
	return d
}

// isExperiment recognises lab.Experiment[P, R].
func (s *source) isExperiment(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.IndexListExpr:
		e = x.X
	case *ast.IndexExpr:
		e = x.X
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Experiment" {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && s.imports[x.Name] == labPath
}

// literal is a value of lab.Experiment, and the declaration that it is in.
type literal struct {
	value *ast.CompositeLit
	in    *decl
}

// experiment is the name of an experiment and what it runs.
type experiment struct {
	name string
	run  []*decl
}

// experiments returns those whose names are constants.
func (p *pkg) experiments() (out []experiment) {
	for _, l := range slices.Clone(p.literals) {
		var e experiment
		for _, field := range l.value.Elts {
			kv, ok := field.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			switch key, _ := kv.Key.(*ast.Ident); {
			case key == nil:
			case key.Name == "Name":
				if lit, ok := kv.Value.(*ast.BasicLit); ok {
					e.name, _ = strconv.Unquote(lit.Value) // the parser has seen that it can be
				}
			case key.Name == "Run":
				e.run = append(e.run, p.add(l.in.file, kv.Value))
				_, local := l.in.node.(*ast.FuncDecl)
				if id, ok := kv.Value.(*ast.Ident); local && (!ok || p.decls[id.Name] == nil) { // it may hold on to local variables
					e.run = append(e.run, l.in)
				}
			}
		}
		if e.name != "" && len(e.run) > 0 {
			out = append(out, e)
		}
	}
	return out
}
