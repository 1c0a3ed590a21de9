// Package fakecuda builds the fake driver: a libcuda whose device is the host, for tests of the whole CUDA path on
// machines without a GPU. It needs a C++20 compiler ($CXX, g++ or clang++).
//
//	path := fakecuda.Build(t)   // skips where there is no compiler
//	dev, err := device.CUDA{Driver: path, CuBLAS: "none"}.Open()
//
// The library also has the entry points of cuBLAS that matrix products need: CuBLAS: path tests that way. What it
// checks and how it is told to fail: kernels/fake/driver.cpp. With FAKE_CUDA_FMA=1 products and sums are contracted to
// fused multiply-adds, as the PTX has them, where the processor has FMA.
package fakecuda

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"coupling/lab/device/internal/cuda/kernels"
)

// ErrNoCompiler is a machine without a C++ compiler.
var ErrNoCompiler = errors.New("no C++ compiler")

// Build returns the path of the library, building it unless that was done before for the same sources. It skips the
// test where there is no compiler.
func Build(tb testing.TB) string {
	tb.Helper()
	path, err := Path()
	if errors.Is(err, ErrNoCompiler) {
		tb.Skipf("the fake CUDA driver is built with a C++20 compiler: %v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// Path is Build without a test.
func Path() (string, error) {
	cxx, err := compiler()
	if err != nil {
		return "", err
	}
	sum, err := kernels.HostSum()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	name, rounding := sum[:16]+"-"+filepath.Base(cxx), []string{"-ffp-contract=off"}
	if os.Getenv("FAKE_CUDA_FMA") != "" {
		name, rounding = name+"-fma", []string{"-ffp-contract=fast", "-mfma"}
	}
	dir := filepath.Join(cache, "coupling", "fakecuda", name)
	lib := filepath.Join(dir, "libcuda_fake.so")
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return lib, build(cxx, lib, rounding)
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

// build compiles the sources at once and links them. Other processes may do the same: the library appears by a rename.
func build(cxx, lib string, rounding []string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(lib), "build")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := os.CopyFS(tmp, kernels.Sources); err != nil {
		return err
	}
	sources, err := sources()
	if err != nil {
		return err
	}
	objects := make([]string, len(sources))
	errs := make([]error, len(sources))
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for k, src := range sources {
		objects[k] = filepath.Join(tmp, fmt.Sprintf("%d.o", k))
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			errs[k] = run(cxx, tmp, append(rounding[:len(rounding):len(rounding)], "-std=c++20", "-O1", "-fPIC", "-U_FORTIFY_SOURCE", "-w",
				"-x", "c++", "-c", src, "-o", objects[k])...)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	linked := filepath.Join(tmp, "lib.so")
	if err := run(cxx, tmp, append([]string{"-shared", "-o", linked}, objects...)...); err != nil {
		return err
	}
	return os.Rename(linked, lib)
}

func sources() (all []string, err error) {
	err = fs.WalkDir(kernels.Sources, ".", func(name string, e fs.DirEntry, err error) error {
		if ext := filepath.Ext(name); ext == ".cu" || ext == ".cpp" {
			all = append(all, name)
		}
		return err
	})
	return all, err
}

func run(cxx, dir string, args ...string) error {
	cmd := exec.Command(cxx, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", cxx, strings.Join(args, " "), err, out)
	}
	return nil
}
