package main

import (
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/nb/ipynb"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// template is the project that coupling new writes. It is part of this module
// too, so that it is built and tested as what it stands beside changes.
//
//go:embed all:template
var template embed.FS

const templateModule = "coupling/lab/cmd/coupling/template"

var ownModule = strings.TrimSuffix(templateModule, "/lab/cmd/coupling/template")

type newCmd struct {
	Dir    string `arg:""`
	Module string `placeholder:"PATH"`
	From   string `placeholder:"DIR"`
}

func (c newCmd) Run(a *app) error {
	dir := lab.Must(filepath.Abs(c.Dir))
	given := "--module"
	if c.Module == "" {
		given, c.Module = "the folder's name cannot be the module's, give another by --module:", filepath.Base(dir)
	}
	err := module.CheckImportPath(c.Module)
	if c.Module == ownModule || strings.HasPrefix(c.Module, ownModule+"/") {
		err = errors.New("it is the path of Coupling itself")
	}
	if err != nil {
		return usagef("new %s: %s %q: %w", c.Dir, given, c.Module, err)
	}
	root := orUsage(checkout(c.From))
	if !isFree(dir) {
		return usagef("new %s: the folder is not empty", c.Dir)
	}
	to, err := durable.OpenFolder(dir, "")
	lab.Check(usage(prefix("new "+c.Dir, err)))
	defer to.Close()
	files := c.project()
	files["go.mod"] = c.goMod(root, dir)
	files["go.sum"] = lab.Must(os.ReadFile(filepath.Join(root, "go.sum")))
	for name, b := range files {
		lab.Check(to.WriteFile(name, durable.Bytes(b)))
	}
	lab.Check(to.Commit(nil))
	a.printf("wrote %s: module %s, with Coupling in %s; its README.md says what to do\n"+
		"(the first go tool coupling there links the command, which takes half a minute)\n", c.Dir, c.Module, root)
	return nil
}

func (c newCmd) project() map[string][]byte {
	files := map[string][]byte{}
	lab.Check(fs.WalkDir(template, "template", func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(at, "template/")
		text := strings.ReplaceAll(string(lab.Must(template.ReadFile(at))), templateModule, c.Module)
		switch {
		case path.Dir(name) == "notebooks":
			nb := lab.Must(ipynb.FromMarkdown(text))
			files[strings.TrimSuffix(name, ".md")+".ipynb"] = lab.Must(nb.Encode())
		case path.Ext(name) == ".go": // imports are sorted by the module's name
			files[name] = lab.Must(format.Source([]byte(text)))
		default:
			files[name] = []byte(text)
		}
		return nil
	}))
	return files
}

// goMod is Coupling's go.mod, whose versions go.sum has, for a module that replaces Coupling by its checkout.
func (c newCmd) goMod(root, dir string) []byte {
	b := lab.Must(os.ReadFile(filepath.Join(root, "go.mod")))
	mod := lab.Must(modfile.Parse("go.mod", b, nil))
	at := root
	if filepath.Dir(root) == filepath.Dir(dir) { // neighbours move together
		at = filepath.Join("..", filepath.Base(root))
	}
	lab.Check(errors.Join(mod.AddModuleStmt(c.Module), mod.AddRequire(ownModule, "v0.0.0"),
		mod.AddReplace(ownModule, "", filepath.ToSlash(at), ""), mod.AddTool(ownModule+"/lab/cmd/coupling")))
	mod.Cleanup()
	return lab.Must(mod.Format())
}

// checkout returns the folder of Coupling that dir lies in, or by default that
// of the program or the working directory.
func checkout(dir string) (string, error) {
	places := []string{dir}
	if dir == "" {
		exe, err := os.Executable()
		if err != nil {
			return "", err
		}
		places = []string{filepath.Dir(exe), "."}
	}
	for _, place := range places {
		at, ok := durable.Nearest(place, func(at string) bool {
			b, err := os.ReadFile(filepath.Join(at, "go.mod"))
			return err == nil && modfile.ModulePath(b) == ownModule
		})
		if ok {
			return at, nil
		}
	}
	return "", fmt.Errorf("no checkout of Coupling at or above %s: name it with --from DIR",
		strings.Join(places, " and "))
}

// isFree reports whether a folder is missing or empty, but for what a new that was killed left in it.
func isFree(dir string) bool {
	entries, _ := os.ReadDir(dir) // what cannot be read cannot be opened below either
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".new-") })
}
