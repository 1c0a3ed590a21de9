package code

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"coupling/lab/durable"
)

// A summary is what digests need of a package. It is a function of the package's build ID, by which
// it is kept.
type summary struct {
	Decls       map[string][]*decl // by name; a type's with its methods; init functions and var _ = f() as init
	Assigns     map[ref][]*decl    // by variable, which may be another package's
	Blank       []string           // packages that are imported for their effects
	Experiments []experiment
	Files       map[string][]string // digests by kind: assembly, cgo, embedded
}

// A decl is a declaration, or an expression.
type decl struct {
	Sum    string   // digest of its tokens
	Refs   []ref    // what it names
	Consts []string // names and values
	Files  string   // kind of files that it brings, if any

	function *ast.FuncDecl // while the summary is made
}

// An experiment is a literal of lab.Experiment.
type experiment struct {
	Name       string
	Roots      []*decl
	Unresolved bool
}

// The kinds of files.
const (
	assembly = "assembly"
	cgo      = "cgo"
	embedded = "embedded"
)

// effects is the name of the variables whose initial values call functions of modules with source.
const effects = "effects"

// A ref names a declaration: its package and its name.
type ref string

func newRef(path, name string) ref { return ref(path + "\n" + name) }

func (r ref) split() (path, name string) {
	path, name, _ = strings.Cut(string(r), "\n")
	return path, name
}

// summary returns a package's, made once for its build ID.
func (t *tree) summary(p *pkg) (*summary, error) {
	if s := t.summaries[p.ImportPath]; s != nil {
		return s, nil
	}
	s, err := cached("package "+p.ImportPath+" "+p.BuildID, func() (*summary, error) { return t.summarise(p) })
	t.summaries[p.ImportPath] = s
	return s, err
}

// reader makes a summary.
type reader struct {
	*summary
	tree  *tree
	pkg   *pkg
	info  *types.Info
	fset  *token.FileSet
	file  *ast.File
	bytes map[*ast.File][]byte
	kind  map[*ast.File]string // cgo, embedded
	spoil bool                 // it assigns the Run or Name of an experiment
}

func (t *tree) summarise(p *pkg) (*summary, error) {
	r := &reader{
		summary: &summary{Decls: map[string][]*decl{}, Assigns: map[ref][]*decl{}, Files: map[string][]string{}},
		tree:    t, pkg: p, fset: token.NewFileSet(), bytes: map[*ast.File][]byte{}, kind: map[*ast.File]string{},
		info: &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}},
	}
	files, err := r.parse()
	if err != nil {
		return nil, err
	}
	export := func(path string) (io.ReadCloser, error) { return os.Open(t.packages[path].Export) }
	config := types.Config{Importer: importer.ForCompiler(r.fset, "gc", export), FakeImportC: true}
	if len(p.CgoFiles) > 0 {
		config.Error = func(error) {} // what C defines has no type
	}
	if _, err := config.Check(p.ImportPath, r.fset, files, r.info); err != nil && len(p.CgoFiles) == 0 {
		return nil, err
	}
	for _, f := range files {
		r.file = f
		for _, d := range f.Decls {
			r.declare(d)
		}
	}
	for _, f := range files {
		r.file = f
		r.findExperiments(f)
	}
	return r.summary, nil
}

// parse reads the package's files.
func (r *reader) parse() ([]*ast.File, error) {
	var files []*ast.File
	for _, name := range slices.Concat(r.pkg.GoFiles, r.pkg.CgoFiles) {
		path := filepath.Join(r.pkg.Dir, name)
		b, err := os.ReadFile(path)
		if err := cmp.Or(err, r.unchanged(path)); err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(r.fset, path, b, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files, r.bytes[f] = append(files, f), b
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value) // the parser has seen that it can be
			switch {
			case path == "C":
				r.kind[f] = cgo
			case path == "embed":
				r.kind[f] = cmp.Or(r.kind[f], embedded)
			case i.Name != nil && i.Name.Name == "_":
				r.Blank = append(r.Blank, path)
			}
		}
	}
	p := r.pkg
	for kind, names := range map[string][]string{
		assembly: slices.Concat(p.SFiles, p.HFiles),
		embedded: p.EmbedFiles,
		cgo:      slices.Concat(p.CgoFiles, p.CFiles, p.CXXFiles, p.HFiles, p.SFiles, p.SysoFiles),
	} {
		for _, name := range names {
			path := filepath.Join(p.Dir, name)
			sum, _, err := durable.Digest(path)
			if err := cmp.Or(err, r.unchanged(path)); err != nil {
				return nil, err
			}
			r.Files[kind] = append(r.Files[kind], name+" "+sum)
		}
	}
	return files, nil
}

// unchanged returns an error if a file, which was read just now, may have been edited since go list
// began. Clocks of files are coarse.
func (r *reader) unchanged(path string) error {
	fi, err := os.Stat(path)
	if err == nil && fi.ModTime().After(r.tree.began.Add(-coarse)) {
		err = fmt.Errorf("%s has just changed", path)
	}
	return err
}

// coarse is by how much a file may seem older than it is.
const coarse = 10 * time.Millisecond

// declare adds the declarations of d. Constants count where they are used, by value.
func (r *reader) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		x := r.decl(d)
		x.function = d
		if d.Body == nil {
			x.Files = assembly
		}
		r.put(funcName(d), x)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				r.put(spec.Name.Name, r.decl(spec))
			case *ast.ValueSpec:
				if d.Tok == token.VAR {
					r.declareVar(spec)
				}
			}
		}
	}
}

func (r *reader) declareVar(spec *ast.ValueSpec) {
	x := r.decl(spec)
	if len(spec.Values) == 0 && r.kind[r.file] == embedded {
		x.Files = embedded
	}
	calls := slices.ContainsFunc(spec.Values, r.calls)
	if calls {
		r.put(effects, x)
	}
	for _, name := range spec.Names {
		if name.Name != "_" {
			r.put(name.Name, x)
		} else if calls {
			r.put("init", x)
		}
	}
}

func (r *reader) put(name string, d *decl) { r.Decls[name] = append(r.Decls[name], d) }

// funcName is a function's name, or that of the type that a method belongs to: the first in T, *T,
// T[P].
func funcName(f *ast.FuncDecl) (name string) {
	if f.Recv == nil {
		return f.Name.Name
	}
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// calls reports whether an expression calls a function, outside the standard library, which may
// have an effect.
func (r *reader) calls(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || r.info.Types[call.Fun].IsType() {
			return true
		}
		ast.Inspect(call.Fun, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && r.info.Uses[id] != nil && r.info.Uses[id].Pkg() != nil {
				p := r.tree.packages[r.info.Uses[id].Pkg().Path()]
				found = found || p != nil && !p.Standard && !isLab(p.ImportPath)
			}
			return true
		})
		return true
	})
	return found
}

// decl makes a declaration of a node.
func (r *reader) decl(n ast.Node) *decl {
	d := &decl{Sum: r.sum(n)}
	if r.kind[r.file] == cgo {
		d.Files = cgo
	}
	seen := map[types.Object]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if obj := r.info.Uses[n]; obj != nil && !seen[obj] {
				seen[obj] = true
				r.use(d, obj)
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				r.assign(d, e)
			}
		case *ast.IncDecStmt:
			r.assign(d, n.X)
		case *ast.RangeStmt:
			r.assign(d, n.Key)
			r.assign(d, n.Value)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				r.assign(d, n.X)
			}
		}
		return true
	})
	return d
}

// use notes what an identifier stands for.
func (r *reader) use(d *decl, obj types.Object) {
	if obj.Pkg() == nil {
		return
	}
	path, global := obj.Pkg().Path(), obj.Parent() == obj.Pkg().Scope()
	switch obj := obj.(type) {
	case *types.Const:
		if global {
			d.Consts = append(d.Consts, path+"."+obj.Name()+" = "+obj.Val().ExactString())
		}
		r.useType(d, obj.Type())
	case *types.Func:
		if recv := obj.Signature().Recv(); recv != nil {
			r.useType(d, recv.Type())
		} else {
			d.Refs = append(d.Refs, newRef(path, obj.Name()))
		}
	default:
		if global {
			d.Refs = append(d.Refs, newRef(path, obj.Name()))
		}
	}
}

func (r *reader) useType(d *decl, t types.Type) {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil {
		d.Refs = append(d.Refs, newRef(n.Obj().Pkg().Path(), n.Obj().Name()))
	}
}

// assign notes the package variable that e is, or is a part of, and fields of experiments.
func (r *reader) assign(d *decl, e ast.Expr) {
	for e != nil {
		id, _ := e.(*ast.Ident)
		switch x := e.(type) {
		case *ast.SelectorExpr:
			id, e = x.Sel, x.X
			r.spoil = r.spoil || (id.Name == "Run" || id.Name == "Name") && isExperiment(r.info.Types[x.X].Type)
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			e = nil
		}
		if v, ok := r.info.Uses[id].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			to := newRef(v.Pkg().Path(), v.Name())
			r.Assigns[to] = append(r.Assigns[to], d)
		}
	}
}

// sum returns the digest of a node's tokens; comments and layout are none.
func (r *reader) sum(n ast.Node) string {
	file := r.fset.File(n.Pos())
	b := r.bytes[r.file][file.Offset(n.Pos()):file.Offset(n.End())]
	var in scanner.Scanner
	in.Init(token.NewFileSet().AddFile("", -1, len(b)), b, nil, 0)
	h := sha256.New()
	for {
		_, tok, lit := in.Scan()
		if tok == token.EOF {
			return hex.EncodeToString(h.Sum(nil)[:8])
		}
		if tok == token.SEMICOLON || lit == "" {
			lit = tok.String()
		}
		fmt.Fprintln(h, lit)
	}
}

// isExperiment recognises lab.Experiment[P, R] and a pointer to it.
func isExperiment(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Experiment" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == labPath
}

// findExperiments adds the experiments of a file whose names are constants.
func (r *reader) findExperiments(f *ast.File) {
	for _, d := range f.Decls {
		function, _ := d.(*ast.FuncDecl)
		ast.Inspect(d, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && isExperiment(r.info.Types[lit].Type) {
				r.addExperiment(lit, function)
			}
			return true
		})
	}
}

func (r *reader) addExperiment(lit *ast.CompositeLit, in *ast.FuncDecl) {
	var e experiment
	for i, value := range lit.Elts {
		field := [...]string{0: "Name", 2: "Run", 8: ""}[min(i, 8)]
		if kv, ok := value.(*ast.KeyValueExpr); ok {
			field, value = kv.Key.(*ast.Ident).Name, kv.Value
		}
		switch field {
		case "Name":
			if v := r.info.Types[value].Value; v != nil {
				e.Name = constant.StringVal(v)
			}
		case "Run":
			e.Roots = append(e.Roots, r.decl(value))
		}
	}
	if e.Name == "" {
		return
	}
	e.Unresolved = r.spoil || len(e.Roots) == 0
	if in != nil {
		r.makers(&e, in)
	}
	r.Experiments = append(r.Experiments, e)
}

// makers adds the function that an experiment is in, whose variables its Run may hold on to, and,
// as far as functions have arguments, those that call it.
func (r *reader) makers(e *experiment, f *ast.FuncDecl) {
	name := funcName(f)
	for _, d := range r.Decls[name] {
		if d.function == f {
			if slices.Contains(e.Roots, d) {
				return
			}
			e.Roots = append(e.Roots, d)
		}
	}
	if f.Recv == nil && f.Type.Params.NumFields() == 0 {
		return
	}
	e.Unresolved = e.Unresolved || f.Name.IsExported() && r.pkg.Name != "main"
	for _, decls := range r.Decls {
		for _, d := range decls {
			if !slices.Contains(d.Refs, newRef(r.pkg.ImportPath, name)) {
				continue
			}
			if d.function != nil {
				r.makers(e, d.function)
			} else if !slices.Contains(e.Roots, d) {
				e.Roots = append(e.Roots, d)
			}
		}
	}
}
