package lab_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/lab"
	"coupling/lab/must"
)

// Must ends a drawing and claims with the error itself, which callers can tell apart.
func TestMustEndsDrawAndClaims(t *testing.T) {
	missing := errors.New("missing")
	f := study{
		Name: "test/must", Grid: grid(), Experiment: shared(1).Experiment,
		Draw:   func(view) (lab.Exhibit, error) { return lab.Must(lab.Exhibit{}, missing), nil },
		Claims: func(view) ([]lab.Claim, error) { lab.Check(missing); return nil, nil },
	}.Figure()
	store := lab.Must(lab.OpenStore(t.TempDir()))
	if _, err := f.Draw(store, smoke); !errors.Is(err, missing) {
		t.Errorf("Draw: %v", err)
	}
	if _, err := f.Claims(store, smoke); !errors.Is(err, missing) {
		t.Errorf("Claims: %v", err)
	}
	if _, err := f.Sabotaged(store, smoke, lab.Quick); !errors.Is(err, missing) {
		t.Errorf("Sabotaged: %v", err)
	}
}

// End catches what Check was given and nothing else.
func TestEndPassesForeignPanics(t *testing.T) {
	defer func() {
		if r := recover(); r != "a fault" {
			t.Errorf("End let %v through, want the panic", r)
		}
	}()
	func() (err error) {
		defer lab.End(&err)
		panic("a fault")
	}()
	t.Error("End swallowed a panic")
}

// Must and Check end the function on whose goroutine they are called, and a program if that has
// none to end: a goroutine does not call them unless it defers End itself.
func TestMustStaysOnItsGoroutine(t *testing.T) {
	bad := `package p
	func f() {
		var g errgroup.Group
		g.Go(func() error { lab.Check(nil); return nil })
		go func() { _ = lab.Must(1, nil) }()
		go func() { var err error; defer lab.End(&err); lab.Check(err) }()
		g.Wait()
		lab.Check(nil)
	}`
	if at := strayMust("bad.go", bad); len(at) != 2 {
		t.Fatalf("found %v, want lines 4 and 5", at)
	}
	files := 0
	for _, root := range []string{".", "../figures"} {
		lab.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") {
				files++
				for _, at := range strayMust(path, nil) {
					t.Errorf("%v: lab.Must or lab.Check in a goroutine that does not defer lab.End", at)
				}
			}
			return err
		}))
	}
	if files < 300 {
		t.Errorf("%d files read", files)
	}
}

// strayMust lists the calls of Must and Check in function literals that a go statement, a method Go
// or AfterFunc starts, and that do not defer End.
func strayMust(path string, source any) (at []token.Position) {
	set := token.NewFileSet()
	file := must.Get(parser.ParseFile(set, path, source, parser.SkipObjectResolution))
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if g, isGo := n.(*ast.GoStmt); isGo {
			call, ok = g.Call, true
		} else if ok {
			ok = called(call, "Go", "AfterFunc")
		}
		if !ok {
			return true
		}
		for _, f := range append(call.Args, call.Fun) {
			if f, ok := f.(*ast.FuncLit); ok && len(calls(f, "End")) == 0 {
				for _, p := range calls(f, "Must", "Check", "orUsage") {
					at = append(at, set.Position(p))
				}
			}
		}
		return true
	})
	return at
}

// calls are the places in f, without the function literals within it, that call lab.NAME, or NAME.
func calls(f *ast.FuncLit, names ...string) (at []token.Pos) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if _, inner := n.(*ast.FuncLit); inner {
			return false
		}
		call, ok := n.(*ast.CallExpr)
		if !ok || !called(call, names...) {
			return true
		}
		of, selected := call.Fun.(*ast.SelectorExpr)
		if !selected {
			at = append(at, call.Pos())
		} else if from, ok := of.X.(*ast.Ident); ok && from.Name == "lab" {
			at = append(at, call.Pos())
		}
		return true
	})
	return at
}

// called reports whether call is of a function or method with one of these names.
func called(call *ast.CallExpr, names ...string) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return slices.Contains(names, f.Name)
	case *ast.SelectorExpr:
		return slices.Contains(names, f.Sel.Name)
	}
	return false
}
