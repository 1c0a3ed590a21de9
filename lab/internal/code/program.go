package code

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"coupling/lab/durable"

	jsonv2 "github.com/go-json-experiment/json"
)

var (
	wd, _      = os.Getwd()      // as go run left it
	program, _ = os.Executable() // this
	once       sync.Once
	functions  Table // of it
	fault      error
)

// Digest returns that of a function of this program, as [Table.Lookup] does. The source is known if
// go run started the program, or if a notebook wrote main.go, built it in the same folder and
// started it, and nothing has changed since. Otherwise the error says why it is not.
func Digest(f runtime.Frame) (digest string, err error) {
	dir, args, began := os.Getenv("GONB_TMP_DIR"), []string{"."}, time.Time{}
	if fi, err := os.Stat(filepath.Join(dir, "main.go")); err == nil && dir == filepath.Dir(program) {
		began = fi.ModTime()
	} else if dir, args, began, err = goRun(os.Getppid()); err != nil {
		return "", err
	}
	info, ok := debug.ReadBuildInfo()
	head := make([]byte, 64<<10) // has the build ID
	file, err := os.Open(program)
	if !ok || err != nil {
		return "", errors.Join(err, errors.New("it cannot be read"))
	}
	defer file.Close()
	_, _ = io.ReadFull(file, head)
	_, tags, _ := strings.Cut(info.String(), "build\t-tags=")
	tags, _, _ = strings.Cut(tags, "\n")
	err = cached(fmt.Sprint(dir, args, f.Function, f.Line), hash(head), &digest, func() error {
		once.Do(func() {
			var t tree
			t, fault = list(dir, append([]string{"-tags=" + tags}, args...)...)
			for _, p := range t {
				if p.changed.After(began) {
					fault = fmt.Errorf("%s has changed since the program was built", p.Dir)
				}
			}
			functions = t.table()
		})
		digest = functions.Lookup(f)
		return fault
	})
	return digest, err
}

// goRun returns where a process that is go run without flags looked for what, since when. On Linux.
func goRun(process int) (dir string, args []string, began time.Time, err error) {
	proc := fmt.Sprintf("/proc/%d/", process)
	line, _ := os.ReadFile(proc + "cmdline")
	stat, _ := os.ReadFile(proc + "stat")
	uptime, _ := os.ReadFile("/proc/uptime")
	words, numbers := strings.Split(string(line), "\x00"), strings.Fields(string(stat))
	if len(words) < 4 || filepath.Base(words[0]) != "go" || words[1] != "run" || len(numbers) < 22 ||
		strings.HasPrefix(words[2], "-") || strings.Contains(words[2], "@") {
		return "", nil, began, errors.New(
			"neither go run without flags nor a notebook started the program, or not on Linux")
	}
	n := 3
	for strings.HasSuffix(words[n-1], ".go") && strings.HasSuffix(words[n], ".go") {
		n++
	}
	var up, ticks float64
	_, err = fmt.Sscan(string(uptime)+numbers[21], &up, new(float64), &ticks)
	const tick = 10 * time.Millisecond // of these clocks, sooner than go run reads a file
	return wd, words[2:n], time.Now().Add(-time.Duration((up-ticks/100)*1e9) + tick), err
}

// Executable returns a digest of this program.
func Executable() string {
	sum, _, err := durable.Digest("/proc/self/exe") // also if another file has taken its place
	if err != nil {
		sum, _, _ = durable.Digest(program)
	}
	return hash([]byte(sum))
}

// cached fills out by make, unless that was done for the same key before, in this process or in
// another; the last key of each name is kept.
func cached(name, key string, out any, make func() error) error {
	const scheme = "3 " // is raised when digests are made in another way
	dir, err := os.UserCacheDir()
	if err != nil {
		return make()
	}
	file := filepath.Join(dir, "coupling", "code", hash([]byte(name)))
	b, _ := os.ReadFile(file)
	is, value, _ := bytes.Cut(b, []byte("\n"))
	key = scheme + hash([]byte(key))
	if string(is) == key && jsonv2.Unmarshal(value, out) == nil {
		return nil
	}
	err = make()
	if b, bad := jsonv2.Marshal(out); err == nil && bad == nil {
		_ = durable.Write(file, append([]byte(key+"\n"), b...)) // else it is made again
	}
	return err
}

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
