package device_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"coupling/lab/must"
)

// program uses a solver and opens whatever device there is.
const program = `package main

import (
	"context"
	"fmt"
	"os"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/ot"
)

func main() {
	dev, err := device.Open("auto")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	x := mat.NewDense(3, 1, []float64{0, 1, 2})
	g := ot.PointsOn(dev, x, x, ot.SqEuclidean)
	plan, err := ot.LBFGS{Eps: 0.1}.Solve(context.Background(), ot.Problem{Geometry: g})
	g.Close()
	fmt.Println(plan.Status, err, dev.Info().Kind, dev.Note(), dev.Close())
}
`

// A program that imports ot and this package alone is small, and runs without a driver on the processor. With the build
// tag nocuda nothing is linked at run time; without it, what opens the driver, which is the C library.
func TestProgram(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("builds programs")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	must.Do(os.WriteFile(source, []byte(program), 0o600))
	for _, tag := range []string{"", "nocuda"} {
		binary := filepath.Join(dir, "program"+tag)
		build := exec.Command("go", "build", "-tags", tag, "-o", binary, source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		info, err := os.Stat(binary)
		if err != nil || info.Size() >= 8e6 {
			t.Errorf("tag %q: %d bytes: must be less than 8 MB; %v", tag, info.Size(), err)
		}
		run := exec.Command(binary)
		run.Env = append(os.Environ(), "COUPLING_DEVICE=", "COUPLING_CUDA_DRIVER="+filepath.Join(dir, "libcuda.so.1"))
		out, err := run.CombinedOutput()
		if text := string(out); err != nil || !strings.HasPrefix(text, "converged <nil> cpu auto took the cpu: ") ||
			!strings.Contains(text, "libcuda") {
			t.Errorf("tag %q: %v\n%s", tag, err, out)
		}
		libraries := linked(binary)
		t.Logf("tag %q: %d bytes, needs %v", tag, info.Size(), libraries)
		if tag == "nocuda" && len(libraries) > 0 ||
			slices.ContainsFunc(libraries, func(l string) bool { return strings.Contains(l, "cuda") }) {
			t.Errorf("tag %q: needs %v", tag, libraries)
		}
	}
}

// linked is the libraries that a program wants to start.
func linked(path string) []string {
	f := must.Get(elf.Open(path))
	defer func() { _ = f.Close() }()
	return must.Get(f.ImportedLibraries())
}
