// Package kernels is the sources of the CUDA kernels and their modules, for the generator of package ptx and the
// test that holds it to the sources. Programs import only package ptx.
package kernels

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"
)

// Sources is the kernels and their headers.
//
//go:embed *.cu *.h
var Sources embed.FS

// Compiler is Debian's clang, package clang-19.
const Compiler = "clang++-19"

// Flags compile a kernel to PTX. Products and sums may be contracted, as NVIDIA's compiler does; nothing else is
// relaxed.
var Flags = []string{
	"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib", "-std=c++20",
	"-O3", "-Wall",
	"-Werror", "-Xclang", "-target-feature", "-Xclang", "+ptx70", "-S", "-o", "-",
}

// Assembler is the release of ptxas that the committed machine code is of: Debian 13's.
const Assembler = "V12.4.131"

// Assemble is the command that turns a file of PTX into machine code for arch in the file out. It
// is NVIDIA's assembler, which says what each kernel uses.
func Assemble(arch, ptx, out string) *exec.Cmd {
	return exec.Command("ptxas", "-O3", "-v", "-arch", arch, ptx, "-o", out)
}

// Dims is the dimensions of points that have kernels of their own.
var Dims = []int{1, 2, 3, 4, 8, 16, 32, 64}

// Module is one file of PTX.
type Module struct {
	Name   string
	Source string
	Flags  []string // besides Flags
}

// Modules is all of them.
func Modules() []Module {
	var all []Module
	for _, name := range []string{"anneal", "dense", "elementwise", "gemm", "images", "layout", "normalise", "random",
		"reduce", "tiles", "training"} {
		m := Module{Name: name, Source: name + ".cu"}
		if name == "random" {
			m.Flags = []string{"-ffp-contract=off"} // bits equal to package philox
		}
		all = append(all, m)
	}
	for _, name := range []string{"point_lse", "point_sum", "point_mma"} {
		for _, d := range Dims {
			if name == "point_mma" && d < 16 {
				continue
			}
			all = append(all, Module{Name: name + "_" + strconv.Itoa(d), Source: name + ".cu",
				Flags: []string{"-DDIM=" + strconv.Itoa(d)}})
		}
	}
	return all
}

// Sum is a checksum of everything that PTX is made from.
func Sum() (string, error) {
	h := sha256.New()
	for _, m := range Modules() {
		fmt.Fprintln(h, m.Name, m.Source, m.Flags, Flags, Compiler)
	}
	err := fs.WalkDir(Sources, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := Sources.ReadFile(name)
		fmt.Fprintln(h, name, len(text))
		h.Write(text)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil)), err
}
