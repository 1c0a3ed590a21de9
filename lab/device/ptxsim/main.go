// Command ptxsim builds a CUDA driver whose GPU is an emulator of PTX, and prints where it lies:
//
//	COUPLING_CUDA_DRIVER=$(go run ./lab/device/ptxsim) COUPLING_CUBLAS=none COUPLING_DEVICE=cuda:0 \
//	    go test ./lab/nn/...
//
// runs any test that asks for a device through the whole CUDA path. It needs a C++20 compiler.
package main

import (
	"fmt"
	"os"

	"coupling/lab/device/internal/cuda/ptxsim"
)

func main() {
	path, err := ptxsim.Path()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ptxsim:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, path)
}
