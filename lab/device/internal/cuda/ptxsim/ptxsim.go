// Package ptxsim builds an emulator of GPUs: a libcuda whose device executes PTX, all threads of
// it, for tests of the whole CUDA path and of the kernels that ship, on machines without a GPU. It
// needs a C++20 compiler ($CXX, g++ or clang++).
//
//	path := ptxsim.Build(t)   // skips where there is no compiler
//	dev, err := device.CUDA{Driver: path, CuBLAS: "none"}.Open()
//
// Threads run in warps of 32 lanes, with divergence, barriers and shuffles, in an order drawn at
// random; ex2.approx is off by its bound, and products and sums are fused where ptxas may. What
// hardware leaves undefined is an error, which names the kernel, the line of its PTX and the
// thread: races, accesses out of bounds, ld.global.nc of what is written, reads of memory and
// registers that nothing wrote, lanes that miss a barrier or a shuffle. What it knows are the
// instructions that the kernels have; another makes the load fail, and is added to
// src/arithmetic.cpp.
//
// It does not run machine code, has no clock, and no model of memory beyond these races.
//
// The library also has the entry points of cuBLAS that matrix products need: CuBLAS: path tests
// that way. Other settings, and how it is told to fail: src/options.h.
package ptxsim

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed src
var sources embed.FS

// ErrNoCompiler is a machine without a C++ compiler.
var ErrNoCompiler = errors.New("no C++ compiler")

// Build returns the path of the library, building it unless that was done before for the same
// sources. It skips the test where there is no compiler.
func Build(tb testing.TB) string {
	tb.Helper()
	path, err := Path()
	if errors.Is(err, ErrNoCompiler) {
		tb.Skipf("the emulator is built with a C++20 compiler: %v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// flags: nothing is fused but what PTX fuses, integers wrap as they do there.
var flags = []string{"-std=c++20", "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fwrapv", "-fPIC"}

// Path is Build without a test.
func Path() (string, error) {
	cxx, err := compiler()
	if err != nil {
		return "", err
	}
	name, err := digest(cxx)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "coupling", "ptxsim", name)
	lib := filepath.Join(dir, "libcuda_ptxsim.so")
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return lib, build(cxx, lib)
}

// digest is of the sources, and of compiler and processor by what they define: a cache may serve
// several machines.
func digest(cxx string) (string, error) {
	defined, err := exec.Command(cxx, append(flags, "-dM", "-E", "-x", "c++", os.DevNull)...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", cxx, err)
	}
	h := sha256.New()
	fmt.Fprintln(h, flags, len(defined))
	h.Write(defined)
	files, err := sources.ReadDir("src")
	for _, f := range files {
		text, _ := sources.ReadFile("src/" + f.Name())
		fmt.Fprintln(h, f.Name(), len(text))
		h.Write(text)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), err
}

// compiler is the first C++ compiler there is.
func compiler() (string, error) {
	names := []string{"g++", "clang++", "clang++-19"}
	if cxx := os.Getenv("CXX"); cxx != "" {
		names = []string{cxx}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: looked for %s", ErrNoCompiler, strings.Join(names, ", "))
}

// build compiles the sources as one unit: a third less work than each by itself. So no name stands in two of
// them. Other processes may do the same: the
// library appears by a rename.
func build(cxx, lib string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(lib), "build")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := os.CopyFS(tmp, sources); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(tmp, "src", "*.cpp"))
	if err != nil {
		return err
	}
	var unit strings.Builder
	for _, file := range files {
		fmt.Fprintf(&unit, "#include %q\n", file)
	}
	all, linked := filepath.Join(tmp, "all.cpp"), filepath.Join(tmp, "lib.so")
	if err := os.WriteFile(all, []byte(unit.String()), 0o600); err != nil {
		return err
	}
	args := append(flags[:len(flags):len(flags)], "-shared", "-o", linked, all)
	if out, err := exec.Command(cxx, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", cxx, strings.Join(args, " "), err, out)
	}
	return os.Rename(linked, lib)
}
