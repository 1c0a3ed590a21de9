// Package cuda is an NVIDIA GPU as a device, without cgo and without a toolkit: the driver is
// opened at run time through purego, the kernels under kernels/ are compiled ahead to PTX,
// committed and embedded, and the driver compiles them for the GPU when they are first used (and
// keeps that in its own cache). For compute capability 9.0 (H100, H200) they are also assembled
// ahead, so that a driver for CUDA 12 compiles nothing there.
//
//	b, err := cuda.Open(cuda.Config{})    // the first GPU; an error that wraps backend.ErrNoDevice if there is none
//	m, err := b.Alloc(4 * n)
//	t := backend.Tensor{Mem: m, Type: backend.Float32, Shape: []int{n}}
//	err = b.Upload(t, address)            // of as many elements
//	err = b.Map(t, t, backend.Exp, 0)     // launches and returns
//	err = b.Download(address, t)          // waits, and reports what failed on the way
//
// # How it works
//
// Everything runs in one stream, in the order of the calls; only Upload, Download, Sync and Close wait. Every call of
// the driver is checked. An error names the call, the driver's code and the kernel; of a kernel that fails while it
// runs, which the driver tells only later, the kernels launched since the last wait are named. After such an error the
// GPU is lost to the process: every later call gives the same error, and so does a device that is opened anew, for the
// driver wants the process ended and started again (CUDA_ERROR_ILLEGAL_ADDRESS and its like in its reference).
//
// Contexts belong to OS threads, goroutines do not: each operation pins its thread and makes the context current.
//
// Memory is kept by size for the next array of that size (see pool), which makes repeated steps use the same addresses.
// Memory that was freed while a Graph was recorded is kept for the graph. Cached memory is returned to the
// driver before a recording, during which it lets nothing go.
//
// COUPLING_CUDA_NO_CACHE=1 gives memory back at once, for compute-sanitizer and the emulator's checks.
//
// Matrix products are cuBLAS's where libcublas is found (CUDA 11, 12 or 13), in full float32 unless Config.TF32 is
// set, and else the kernels of gemm.cu.
//
// # Kernels
//
// kernels/*.cu are written in a small dialect (kernels/common.h) that Debian's clang-19 compiles to PTX. Tests of this
// package and of others execute that PTX, without a GPU, on the emulator of package ptxsim: a library with the driver's
// entry points, where every access is checked, races are errors, work is done when something waits, and failures can be
// asked for.
//
//	apt-get install clang-19        # and ptxas, of nvidia-cuda-toolkit: see ptx-check in the Makefile
//	go generate ./lab/device/internal/cuda
//
// writes kernels/ptx again: PTX and machine code. A test compares sums of the sources with those
// that the PTX was made from.
//
// The PTX is version 7.0 for compute capability 8.0: drivers from CUDA 11.4 (470) on, GPUs from Ampere on.
package cuda

//go:generate go run ./internal/gen
