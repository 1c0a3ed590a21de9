// Command fakedriver builds the fake CUDA driver, whose GPU is the host, and prints where it lies:
//
//	COUPLING_CUDA_DRIVER=$(go run ./lab/device/fakedriver) COUPLING_CUBLAS=none COUPLING_DEVICE=cuda:0 go test ./lab/nn/...
//
// runs any test that asks for a device through the whole CUDA path. It needs a C++20 compiler.
package main

import (
	"fmt"
	"os"

	"coupling/lab/device/internal/cuda/fakecuda"
)

func main() {
	path, err := fakecuda.Path()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakedriver:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, path)
}
