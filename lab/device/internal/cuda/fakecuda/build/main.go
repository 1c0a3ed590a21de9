// Command build builds the fake CUDA driver and prints its path, so that any program runs on it:
//
//	COUPLING_CUDA_DRIVER=$(go run ./lab/device/internal/cuda/fakecuda/build) COUPLING_DEVICE=cuda go test ./lab/nn/...
package main

import (
	"fmt"
	"os"

	"coupling/lab/device/internal/cuda/fakecuda"
)

func main() {
	path, err := fakecuda.Path()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, path)
}
