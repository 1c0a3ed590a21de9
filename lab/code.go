package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"coupling/lab/device/cpu"
	"coupling/lab/internal/code"
)

// The code of an experiment is a digest of the declarations that its Run reaches, followed by the
// instruction set if assembly is among them; see package lab/internal/code. The Makefile writes the
// digests of all figures into the command. In other programs they are computed from the source
// files, if these exist and are not newer than the program. An unknown digest is empty.

// codes is set by the linker: NAME=DIGEST, separated by commas.
var codes string

// EncodeCodes returns the digests of the experiments declared in a Go file, or in a folder and its
// subfolders, for the linker's -X coupling/lab.codes=….
func EncodeCodes(path string) (string, error) {
	t, err := code.Open(filepath.Dir(path))
	var table map[string]string
	if err == nil && filepath.Ext(path) == ".go" {
		table, err = t.Experiments("main", path)
	} else if err == nil {
		table, err = t.Below(path)
	}
	if err != nil {
		return "", fmt.Errorf("lab: code of %s: %w", path, err)
	}
	var out []string
	for name, digest := range table {
		out = append(out, name+"="+digest)
	}
	return strings.Join(out, ","), nil
}

// linked are the digests in codes.
var linked = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for entry := range strings.SplitSeq(codes, ",") {
		if name, digest, ok := strings.Cut(entry, "="); ok {
			out[name] = digest
		}
	}
	return out
})

// codeOf returns the digest of an experiment's code, and whether a person may be editing that code
// now: in a notebook's cell, or in their own program or module.
func codeOf(name string, run any) (digest string, interactive bool) {
	v := reflect.ValueOf(run)
	if v.IsNil() {
		return "", false
	}
	f := runtime.FuncForPC(v.Pointer())
	symbol := f.Name()
	dir, last := filepath.Split(symbol)
	last, _, _ = strings.Cut(last, ".")
	pkg := dir + last
	digest, ok := linked()[name]
	if !ok {
		file, _ := f.FileLine(f.Entry())
		digest = sourceCodes(pkg, file)[name]
	}
	if plain, ok := strings.CutSuffix(digest, code.Assembly); ok {
		digest = plain + "+" + cpu.Name()
	}
	return digest, !strings.HasPrefix(pkg, "coupling/")
}

// sourceCodes returns the digests of the experiments of a package from its source. file is the one
// with the experiment's Run; it distinguishes main packages.
func sourceCodes(pkg, file string) map[string]string {
	if pkg != "main" {
		file = ""
	}
	type place struct{ pkg, file string }
	if known, ok := computed.Load(place{pkg, file}); ok {
		return known.(map[string]string)
	}
	table, err := readCodes(pkg, file)
	if err != nil { // there is no source
		table = nil
	}
	computed.Store(place{pkg, file}, table)
	return table
}

var computed sync.Map // of sourceCodes

func readCodes(pkg, file string) (table map[string]string, err error) {
	defer End(&err)
	wd := Must(os.Getwd())
	places := []string{wd}
	var files []string
	if pkg == "main" {
		if dir := os.Getenv("GONB_TMP_DIR"); dir != "" { // a cell of a notebook
			file = filepath.Join(dir, "main.go")
		}
		if !filepath.IsAbs(file) {
			return nil, fmt.Errorf("%s: built with -trimpath", file)
		}
		files = []string{file}
		if info, ok := debug.ReadBuildInfo(); ok && info.Path != "command-line-arguments" {
			files = Must(filepath.Glob(filepath.Join(filepath.Dir(file), "*.go")))
		}
		places = []string{filepath.Dir(file), wd}
	}
	t := Must(code.Open(places...))
	table = Must(t.Experiments(pkg, files...))
	fi := Must(os.Stat(Must(os.Executable())))
	if t.Newest.After(fi.ModTime()) {
		return nil, fmt.Errorf("the source of %s is newer than this program", pkg)
	}
	return table, nil
}
