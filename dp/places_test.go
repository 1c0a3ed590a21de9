package dp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
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

// A mechanism is named in at most four declarations of package dp: its type, its two methods, and one more. An accountant is added in at most three: its package, the list of the best one, and where it is offered.
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
