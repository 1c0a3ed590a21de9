package code

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A summary is what digests need of a package.
type summary struct {
	Decls     map[string][]*decl // a type's with its methods; init functions and var _ = … as init
	Blank     []string           // packages that are imported for their effects
	Functions []Function
}

type decl struct {
	Sum   string   // digest of its tokens
	Names []string // what it names: PACKAGE NAME
}

type reader struct {
	*pkg
	fset *token.FileSet
	info types.Info
	all  *types.Package
	text []byte   // of the file that is read
	dots []string // packages whose names it has without a qualifier
}

func (t tree) read(p *pkg, source map[string][]byte) error {
	p.summary = summary{Decls: map[string][]*decl{}}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	r := &reader{pkg: p, fset: token.NewFileSet(), info: info}
	var files []*ast.File
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		f, err := parser.ParseFile(r.fset, name, source[name], parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	config := types.Config{Importer: t, FakeImportC: true, Error: func(error) {}} // unknown: of other packages
	r.all, _ = config.Check(p.ImportPath, r.fset, files, &r.info)
	for _, f := range files {
		r.text = source[r.fset.File(f.Pos()).Name()]
		r.dots = []string{p.ImportPath}
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value) // the parser has seen that it can be
			switch {
			case i.Name != nil && i.Name.Name == "_":
				r.Blank = append(r.Blank, path)
			case i.Name != nil && i.Name.Name == ".":
				r.dots = append(r.dots, path)
			}
		}
		for _, d := range f.Decls {
			r.declare(d)
		}
	}
	return nil
}

func (r *reader) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		x := r.decl(d)
		name := d.Name.Name
		if d.Recv != nil { // T in T, *T, T[P]
			name, _, _ = strings.Cut(strings.TrimLeft(types.ExprString(d.Recv.List[0].Type), "(*"), "[")
		} else if d.Type.TypeParams == nil {
			r.functions(d, x)
		}
		r.put(name, x)
	case *ast.GenDecl:
		var value *ast.ValueSpec // the last: constants without one repeat it
		for i, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				r.put(spec.Name.Name, r.decl(spec))
			case *ast.ValueSpec:
				if value == nil || spec.Type != nil || len(spec.Values) > 0 {
					value = spec
				}
				x := r.decl(value)
				if d.Tok == token.CONST {
					x.Sum = fmt.Sprint(spec.Names, i, x.Sum)
				}
				for _, name := range spec.Names {
					if name.Name == "_" && spec.Type == nil { // else it checks that a type has an interface
						name.Name = "init"
					}
					r.put(name.Name, x)
				}
				r.functions(spec, x)
			}
		}
	}
}

func (r *reader) put(name string, d *decl) {
	name = r.ImportPath + " " + name
	r.Decls[name] = append(r.Decls[name], d)
}

func (r *reader) decl(n ast.Node) *decl {
	file := r.fset.File(n.Pos())
	d := &decl{Sum: Tokens(r.text[file.Offset(n.Pos()):file.Offset(n.End())])}
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		d.Names = append(d.Names, r.names(n)...)
		x, ok := n.(*ast.SelectorExpr)
		if ok { // what is selected is in a type, or in another package
			ast.Inspect(x.X, visit)
		}
		return !ok
	}
	ast.Inspect(n, visit)
	slices.Sort(d.Names)
	d.Names = slices.Compact(d.Names)
	return d
}

// names returns the declarations that a name, or a qualified one, may stand for.
func (r *reader) names(n ast.Node) (out []string) {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok {
			if p, ok := r.info.Uses[x].(*types.PkgName); ok {
				out = append(out, p.Imported().Path()+" "+n.Sel.Name)
			}
		}
	case *ast.Ident:
		obj := r.info.Uses[n]
		if r.info.Defs[n] != nil || obj != nil && obj.Parent() != r.all.Scope() {
			return nil
		}
		for _, path := range r.dots {
			out = append(out, path+" "+n.Name)
		}
	}
	return out
}

// functions notes those in a declaration that may be the Run of an experiment: a *lab.Cell is among
// their arguments. One inside another depends on its variables, so on the whole declaration, unless
// that other has arguments, which are not known.
func (r *reader) functions(n ast.Node, whole *decl) {
	ast.Inspect(n, func(n ast.Node) bool {
		var f *ast.FuncType
		switch n := n.(type) {
		case *ast.FuncDecl:
			f = n.Type
		case *ast.FuncLit:
			f = n.Type
		default:
			return true
		}
		isRun := slices.ContainsFunc(f.Params.List, func(arg *ast.Field) bool {
			star, ok := arg.Type.(*ast.StarExpr)
			return ok && slices.Contains(r.names(star.X), lab+" Cell")
		})
		if from, to := r.fset.Position(n.Pos()), r.fset.Position(n.End()); isRun {
			r.Functions = append(r.Functions,
				Function{filepath.Base(from.Filename), from.Line, to.Line, "", whole, nil})
		}
		return len(f.Params.List) == 0
	})
}

// Tokens returns a digest of Go text that comments and layout do not change.
func Tokens(text []byte) string {
	var in scanner.Scanner
	in.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	var out bytes.Buffer
	for {
		_, tok, lit := in.Scan()
		if tok == token.EOF {
			return hash(out.Bytes())
		}
		if tok == token.SEMICOLON || lit == "" {
			lit = tok.String()
		}
		fmt.Fprintln(&out, lit)
	}
}
