// Command module gives this checkout another module path, so that it can be published where go get finds it:
//
//	go run ./lab/cmd/module example.org/lab/coupling
//
// It rewrites go.mod, imports, templates, notebooks, documentation and scripts.
// notebooks/docs/publishing.md says what follows.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "module: give the new path: make module MODULE=host/owner/name")
		os.Exit(2)
	}
	n, err := Rewrite(".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stdout, "%d files changed; the next steps are in notebooks/docs/publishing.md\n", n)
}

// Rewrite gives the module in the folder dir another path, and returns how many files it changed.
func Rewrite(dir, path string) (changed int, err error) {
	host, _, _ := strings.Cut(path, "/")
	if err := module.CheckPath(path); err != nil || !strings.Contains(host, ".") {
		return 0, errors.Join(fmt.Errorf("module %q: want a host with a dot, as in example.org/owner/name", path), err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return 0, err
	}
	old := modfile.ModulePath(mod)
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && slices.Contains([]string{".git", ".coupling", "bin", "out"}, d.Name()) {
				return fs.SkipDir
			}
			return err
		}
		if !d.Type().IsRegular() {
			return nil
		}
		before, err := os.ReadFile(file)
		if err != nil || bytes.IndexByte(before, 0) >= 0 { // no text
			return err
		}
		after := rename(before, old, path)
		if bytes.Equal(before, after) {
			return nil
		}
		if formatted, err := format.Source(after); err == nil && filepath.Ext(file) == ".go" {
			after = formatted
		}
		changed++
		return os.WriteFile(file, after, 0o666) // git has the text as it was
	})
	return changed, err
}

// ledgerOf precedes the package that names a file format, which stays when the module moves.
const ledgerOf = "releases of "

// rename replaces the paths of a module and its packages, but no file names such as bin/coupling.
func rename(text []byte, old, path string) []byte {
	quoted := regexp.QuoteMeta(old)
	packages := regexp.MustCompile(`(^|[^\w./~-])` + quoted +
		`(/(?:data|dp|figures|lab|notebooks|ot|score)\b|/["` + "`" + `])`)
	alone := regexp.MustCompile(`\b(module |re(?:quire|place)[ =])` + quoted + `\b`)
	text = packages.ReplaceAll(text, []byte("${1}"+path+"${2}"))
	text = alone.ReplaceAll(text, []byte("${1}"+path))
	return bytes.ReplaceAll(text, []byte(ledgerOf+path+"/"), []byte(ledgerOf+old+"/"))
}
