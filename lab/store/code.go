package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"coupling/lab/device/cpu"
	"coupling/lab/internal/code"
)

// codes is set by the linker: the digests of experiments as JSON. The Makefile writes those of all
// figures into the command, and sweeps of a Go file those of the file; see package lab.
var codes string

// EncodeCodes returns the digests of the experiments that a Go file, or the packages of a folder
// and its subfolders but programs, declare or import, for the linker's -X coupling/lab/store.codes=….
func EncodeCodes(path string) (string, error) {
	table, err := tableOf(path)
	if filepath.Ext(path) != ".go" {
		table = slices.DeleteFunc(table, func(f code.Function) bool { return strings.HasPrefix(f.File, "main/") })
	}
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(table)
	return string(b), err
}

// CodesOf returns the codes, on this machine, of all experiments that the packages of a folder and
// its subfolders declare or import: what [Record] would have as the code. The error says why some are not known.
func CodesOf(folder string) (map[string]bool, error) {
	table, err := tableOf(folder)
	out := map[string]bool{}
	for _, f := range table {
		digest, set := splitSet(f.Digest)
		out[digest+set] = true
	}
	return out, err
}

func tableOf(path string) (code.Table, error) {
	dir, pattern := path, "./..."
	if filepath.Ext(path) == ".go" {
		dir, pattern = filepath.Dir(path), filepath.Base(path)
	}
	table, err := code.Of(dir, pattern)
	if err != nil {
		return nil, fmt.Errorf("lab: code of %s: %w", path, err)
	}
	return table, nil
}

// splitSet splits a digest from the instruction set that its code depends on.
func splitSet(digest string) (plain, set string) {
	plain, ok := strings.CutSuffix(digest, code.Assembly)
	if ok {
		set = "+" + cpu.Name()
	}
	return plain, set
}

var linked = sync.OnceValues(func() (table code.Table, err error) {
	return table, json.Unmarshal([]byte(codes), &table)
})

// digestOf returns the digest of a function by codes, or else by the source. The error says why
// there is none. It is a variable for tests.
var digestOf = func(f runtime.Frame) (string, error) {
	if codes == "" {
		return code.Digest(f)
	}
	table, err := linked()
	return table.Lookup(f), err
}

// wholeProgram begins the code of a program that stands for code that is not known.
const wholeProgram = "x"

// codeOf returns the code of an experiment that runs a function, and whether a person may be editing it now: in a
// notebook's cell, or in their own program or module.
func codeOf(inputs string, run runtime.Frame) (digest string, interactive bool) {
	if run.Function == "" {
		return "", false
	}
	if digest, _ = digestOf(run); digest == "" {
		digest = wholeProgram + executable() + code.Assembly
	}
	digest, set := splitSet(digest)
	if inputs != "" {
		sum := sha256.Sum256([]byte(digest + " " + inputs))
		digest = digest[:len(digest)-codeDigits] + hex.EncodeToString(sum[:codeDigits/2])
	}
	return digest + set, !strings.HasPrefix(run.Function, "coupling/")
}

var executable = sync.OnceValue(code.Executable)

const codeDigits = 16

// isCode reports whether s has the form of a code: it is a part of file names.
func isCode(s string) bool {
	s, set, _ := strings.Cut(strings.TrimPrefix(s, wholeProgram), "+")
	return len(s) == codeDigits && isHex(s) && strings.Trim(set, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// ShortCode returns as much of a record's code as a person needs to tell it from others.
func ShortCode(s string) string {
	digest, set, _ := strings.Cut(s, "+")
	return strings.TrimSuffix(digest[:min(len(digest), 8)]+"+"+set, "+")
}

// sayUnknown writes once, where a cell of other code is met, why this program's code is not known.
func (j Job) sayUnknown() {
	if strings.HasPrefix(j.id.Code, wholeProgram) {
		onceUnknown.Do(func() {
			_, err := digestOf(runtime.Frame{})
			why := "its digest cannot be resolved, see go doc coupling/lab.Experiment"
			if err != nil {
				why = strings.ReplaceAll(err.Error(), "\n", "; ")
			}
			fmt.Fprintf(os.Stderr, "coupling: the code of %s is not known (%s): "+
				"what other programs computed counts as other code. It is known with go run and with coupling sweep "+
				"FILE.go\n", j.id.Experiment, why)
		})
	}
}

var onceUnknown sync.Once
