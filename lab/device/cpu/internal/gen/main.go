// Command gen writes the amd64 assembly of package cpu, its Go declarations
// and the functions that choose between them.
//
// Run it through go generate in package cpu. Its output is a function of its
// source alone: the same source gives the same bytes.
//
// Each kernel is described once, over an abstract vector (type asm), and is
// emitted four times: float64 and float32, AVX2 with FMA and AVX-512. Kernels
// that mix both types are emitted twice.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	dir := flag.String("dir", ".", "directory to write to")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// A family is one assembly file: kernels that belong together.
type family struct {
	name    string
	kernels []kernel
}

// A kernel is one routine over abstract vectors, in its declaration T is the element type.
type kernel struct {
	decl string // for example "sum(x *T, n int) (sum T)"
	doc  string
	of   string // the choosing function that it shares with kernels of its signature; empty: one of its own
	emit func(*asm)
	wide bool // exists with AVX-512 alone
}

// targets lists the forms in which k exists. Kernels that take float32 too exist for T = float64 alone.
func (k kernel) targets() []target {
	if strings.Contains(k.decl, "float32") {
		return targets[:2]
	}
	if k.wide {
		return []target{targets[0], targets[2]}
	}
	return targets
}

// families is everything there is.
func families() []family {
	return []family{
		{"exp", expKernels()},
		{"row", rowKernels()},
		{"col", colKernels()},
		{"vec", vecKernels()},
		{"reduce", reduceKernels()},
		{"tile", tileKernels()},
		{"gemm", gemmKernels()},
		{"taps", tapKernels()},
		{"mixed", mixedKernels()},
	}
}

// assemble returns a family's assembly and the declarations of its routines.
func (f family) assemble() (text, decl []byte, err error) {
	ctx := newFile()
	for _, k := range f.kernels {
		for _, t := range k.targets() {
			if err := t.emit(ctx, k); err != nil {
				return nil, nil, err
			}
		}
	}
	file, err := ctx.Result()
	if err == nil {
		err = pass.Compile.Execute(file)
	}
	if err != nil {
		return nil, nil, err
	}
	cfg := printer.Config{Argv: []string{"go", "generate"}, Pkg: "cpu"}
	if text, err = printer.NewGoAsm(cfg).Print(file); err == nil {
		decl, err = printer.NewStubs(cfg).Print(file)
	}
	return text, decl, err
}

func run(dir string) error {
	var all []kernel
	var stubs bytes.Buffer
	for i, f := range families() {
		text, decl, err := f.assemble()
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if i > 0 { // one header is enough
			_, decl, _ = bytes.Cut(decl, []byte("package cpu\n"))
		}
		stubs.Write(decl)
		if err := os.WriteFile(filepath.Join(dir, f.name+"_amd64.s"), text, 0o644); err != nil {
			return err
		}
		all = append(all, f.kernels...)
	}
	groups := grouped(all)
	for _, g := range groups {
		fmt.Fprintf(&stubs, "\n//go:noescape\n%s\n", g.declare())
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "choose_amd64.s"), []byte(jumps(groups)), 0o644),
		writeGo(filepath.Join(dir, "stubs_amd64.go"), stubs.String()),
		writeGo(filepath.Join(dir, "choose_other.go"), otherFile(groups)),
	)
}
