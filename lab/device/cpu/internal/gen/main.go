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

// A kernel is one routine over abstract vectors. Signature and result are
// written with T for the element type.
type kernel struct {
	name string // also the name of the choosing function
	doc  string
	sig  string // parameters, for example "dst, x *T, n int"
	ret  string // results, for example "(sum T)" or ""
	emit func(*asm)
	// mixed kernels take float64 and float32 together, and exist for T = float64 alone.
	mixed bool
	// wide kernels exist with AVX-512 alone.
	wide bool
}

// targets lists the forms in which k exists.
func (k kernel) targets() []target {
	if k.mixed {
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

func run(dir string) error {
	cfg := printer.Config{Argv: []string{"go", "generate"}, Pkg: "cpu"}
	var all []kernel
	var stubs bytes.Buffer
	for i, f := range families() {
		ctx := newFile()
		for _, k := range f.kernels {
			for _, t := range k.targets() {
				if err := t.emit(ctx, k); err != nil {
					return err
				}
			}
		}
		file, err := ctx.Result()
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if err := pass.Compile.Execute(file); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		text, err := printer.NewGoAsm(cfg).Print(file)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		decl, err := printer.NewStubs(cfg).Print(file)
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
	for _, k := range all {
		fmt.Fprintf(&stubs, "\n//go:noescape\n%s\n", declare(k))
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "choose_amd64.s"), []byte(jumps(all)), 0o644),
		writeGo(filepath.Join(dir, "stubs_amd64.go"), stubs.String()),
		writeGo(filepath.Join(dir, "choose_other.go"), otherFile(all)),
	)
}
