package code

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A pkg is a package as go list describes it.
type pkg struct {
	ImportPath, Name, Dir                                   string
	Standard                                                bool
	Module                                                  *module
	Imports, GoFiles, CgoFiles                              []string
	CFiles, CXXFiles, HFiles, SysoFiles, SFiles, EmbedFiles []string

	symbol  string     // its path in the names of functions
	files   string     // digests of those that are not Go, and of those with import "C"
	summary `json:"-"` // empty without source
	changed time.Time  // when its folder, a file or go.mod did last
}

type module struct {
	Path, Version, Sum, GoVersion, GoMod string
	Main                                 bool
	Replace                              *module
}

const fields = "-json=ImportPath,Name,Dir,Standard,Module,Imports,GoFiles,CgoFiles," +
	"CFiles,CXXFiles,HFiles,SysoFiles,SFiles,EmbedFiles"

// own reports whether the package's source may be edited: it is in the main module, or in one that
// is replaced by a folder. Coupling's own always counts by declaration.
func (p *pkg) own() bool {
	m := p.Module
	return m == nil || m.Main || m.Replace != nil && m.Replace.Version == "" || m.Path == "coupling"
}

// lab is the package that calls experiments.
const lab = "coupling/lab"

// A tree is the packages of a program by import path, but those of which nothing counts.
type tree map[string]*pkg

// list asks the go command, and reads the packages with source.
func list(dir string, args ...string) (tree, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // saves a fifth of what follows
	cmd := exec.Command("go", slices.Concat([]string{"list", "-deps", fields}, args)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOGC=400")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("go list %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	t := tree{}
	for in := json.NewDecoder(bytes.NewReader(out)); err == nil && in.More(); {
		p := &pkg{}
		err = in.Decode(p)
		p.symbol = p.ImportPath
		if p.Name == "main" {
			p.symbol = "main"
		}
		if !p.Standard && p.ImportPath != lab && p.ImportPath != lab+"/store" {
			t[p.ImportPath] = p
		}
	}
	for _, p := range t {
		if p.own() && err == nil {
			err = t.load(p)
		}
	}
	return t, err
}

// load reads a package's files, and makes its summary unless one of the same files is known.
func (t tree) load(p *pkg) error {
	source, key, paths := map[string][]byte{}, p.ImportPath, []string{}
	if p.Dir != filepath.Dir(program) { // where a notebook builds
		paths = append(paths, p.Dir)
	}
	if p.Module != nil && p.Module.GoMod != "" {
		paths = append(paths, p.Module.GoMod)
	}
	other := slices.Concat(p.CgoFiles, p.CFiles, p.CXXFiles, p.HFiles, p.SysoFiles, p.SFiles, p.EmbedFiles)
	for i, name := range slices.Concat(other, p.GoFiles) {
		path := filepath.Join(p.Dir, name)
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		source[name], paths, key = b, append(paths, path), key+"\n"+name+" "+hash(b)
		if i == len(other)-1 {
			p.files = key
		}
	}
	for _, path := range paths { // after they were read
		fi, err := os.Stat(path)
		if err != nil {
			return err
		} else if fi.ModTime().After(p.changed) {
			p.changed = fi.ModTime()
		}
	}
	for _, path := range p.Imports {
		if q := t[path]; q != nil {
			key += "\n" + q.Name
		}
	}
	return cached(p.ImportPath+" "+p.Dir, key, &p.summary, func() error { return t.read(p, source) })
}

// Import implements [types.Importer]: a summary depends on the names of other packages alone.
func (t tree) Import(path string) (*types.Package, error) {
	if t[path] == nil {
		return nil, errors.New("of the standard library")
	}
	fake := types.NewPackage(path, t[path].Name)
	fake.MarkComplete()
	return fake, nil
}
