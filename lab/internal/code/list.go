package code

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A pkg is a package as go list describes it.
type pkg struct {
	ImportPath, Name, Dir, Export, BuildID string
	Standard                               bool
	Module                                 *module
	Imports                                []string
	GoFiles, CgoFiles, SFiles, EmbedFiles  []string
	CFiles, CXXFiles, HFiles, SysoFiles    []string
}

type module struct {
	Path, Version, Sum, GoVersion string
	Main                          bool
	Replace                       *module
}

const fields = "-json=ImportPath,Name,Dir,Export,BuildID,Standard,Module,Imports," +
	"GoFiles,CgoFiles,SFiles,EmbedFiles,CFiles,CXXFiles,HFiles,SysoFiles"

// own reports whether the package's source may be edited: it is in the main module, or in one that
// is replaced by a folder. Coupling's own always counts by declaration.
func (p *pkg) own() bool {
	m := p.Module
	return !p.Standard && (m == nil || m.Main || m.Replace != nil && m.Replace.Version == "" || m.Path == "coupling")
}

// symbol is the package's path in the names of functions: that of a program is main, wherever it
// lies.
func (p *pkg) symbol() string {
	if p.Name == "main" {
		return "main"
	}
	return p.ImportPath
}

// A tree is the packages of a program.
type tree struct {
	packages  map[string]*pkg
	began     time.Time // files that change later are not those that go list saw
	summaries map[string]*summary
	closed    map[string][]string // of imported
	modules   map[string][]string // of versions
}

// list asks the go command, which compiles what it has not compiled yet.
func list(began time.Time, dir string, flags, env []string, patterns ...string) (*tree, error) {
	out, _, err := command(dir, env, slices.Concat([]string{"list", "-export", "-deps", fields}, flags, patterns)...)
	if err != nil {
		return nil, err
	}
	t := &tree{
		began:     began,
		packages:  map[string]*pkg{},
		summaries: map[string]*summary{},
		closed:    map[string][]string{},
		modules:   map[string][]string{},
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &pkg{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		t.packages[p.ImportPath] = p
	}
}

// command runs the go command in a folder, and returns its two outputs.
func command(dir string, env []string, args ...string) (out, errors []byte, err error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var answer, notes bytes.Buffer
	cmd.Stdout, cmd.Stderr = &answer, &notes
	if err := cmd.Run(); err != nil {
		text, _, _ := strings.Cut(strings.TrimSpace(notes.String()), "\n")
		return nil, nil, fmt.Errorf("go %s %s: %w: %s", args[0], args[len(args)-1], err, text)
	}
	return answer.Bytes(), notes.Bytes(), nil
}
