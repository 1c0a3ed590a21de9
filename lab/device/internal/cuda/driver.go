package cuda

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"coupling/lab/device/internal/backend"
)

// driver is the entry points of libcuda that this package uses. Names are the driver's, with the version that their
// arguments have.
type driver struct {
	lib *library

	cuInit, cuDriverGetVersion, cuDeviceGetCount, cuDeviceGet, cuDeviceGetName, cuDeviceGetAttribute,
	cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease, cuCtxSetCurrent, cuMemGetInfo,
	cuModuleLoadDataEx, cuModuleUnload, cuModuleGetFunction, cuLaunchKernel,
	cuMemAlloc, cuMemFree, cuMemAllocHost, cuMemFreeHost, cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemcpyDtoDAsync,
	cuMemsetD8Async,
	cuStreamCreate, cuStreamDestroy, cuStreamSynchronize, cuStreamBeginCapture, cuStreamEndCapture,
	cuGraphInstantiate, cuGraphLaunch, cuGraphExecDestroy, cuGraphDestroy,
	cuGetErrorName, cuGetErrorString uintptr
}

// driverNames are where libcuda is looked for: what the linker finds, then where containers and distributions put it.
var driverNames = []string{
	"libcuda.so.1",
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
	"/usr/lib/aarch64-linux-gnu/libcuda.so.1",
	"/usr/lib64/libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/local/nvidia/lib/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
	"/run/opengl-driver/lib/libcuda.so.1",
}

// loadDriver opens the driver at a path, that of COUPLING_CUDA_DRIVER, or the first of driverNames.
func loadDriver(path string) (*driver, error) {
	names := driverNames
	if env := os.Getenv("COUPLING_CUDA_DRIVER"); path == "" && env != "" {
		path = env
	}
	if path != "" {
		names = []string{path}
	}
	lib, err := openLibrary(names)
	if err != nil {
		return nil, fmt.Errorf("%w: no CUDA driver; looked for %s (COUPLING_CUDA_DRIVER names another)%s",
			backend.ErrNoDevice, strings.Join(names, ", "), why(err))
	}
	d := &driver{lib: lib}
	for _, s := range []struct {
		to   *uintptr
		name string
	}{
		{&d.cuInit, "cuInit"},
		{&d.cuDriverGetVersion, "cuDriverGetVersion"},
		{&d.cuDeviceGetCount, "cuDeviceGetCount"},
		{&d.cuDeviceGet, "cuDeviceGet"},
		{&d.cuDeviceGetName, "cuDeviceGetName"},
		{&d.cuDeviceGetAttribute, "cuDeviceGetAttribute"},
		{&d.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain"},
		{&d.cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2"},
		{&d.cuCtxSetCurrent, "cuCtxSetCurrent"},
		{&d.cuMemGetInfo, "cuMemGetInfo_v2"},
		{&d.cuModuleLoadDataEx, "cuModuleLoadDataEx"},
		{&d.cuModuleUnload, "cuModuleUnload"},
		{&d.cuModuleGetFunction, "cuModuleGetFunction"},
		{&d.cuLaunchKernel, "cuLaunchKernel"},
		{&d.cuMemAlloc, "cuMemAlloc_v2"},
		{&d.cuMemFree, "cuMemFree_v2"},
		{&d.cuMemAllocHost, "cuMemAllocHost_v2"},
		{&d.cuMemFreeHost, "cuMemFreeHost"},
		{&d.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"},
		{&d.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2"},
		{&d.cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2"},
		{&d.cuMemsetD8Async, "cuMemsetD8Async"},
		{&d.cuStreamCreate, "cuStreamCreate"},
		{&d.cuStreamDestroy, "cuStreamDestroy_v2"},
		{&d.cuStreamSynchronize, "cuStreamSynchronize"},
		{&d.cuStreamBeginCapture, "cuStreamBeginCapture_v2"},
		{&d.cuStreamEndCapture, "cuStreamEndCapture"},
		{&d.cuGraphInstantiate, "cuGraphInstantiateWithFlags"},
		{&d.cuGraphLaunch, "cuGraphLaunch"},
		{&d.cuGraphExecDestroy, "cuGraphExecDestroy"},
		{&d.cuGraphDestroy, "cuGraphDestroy"},
		{&d.cuGetErrorName, "cuGetErrorName"},
		{&d.cuGetErrorString, "cuGetErrorString"},
	} {
		if *s.to, err = lib.symbol(s.name); err != nil {
			return nil, fmt.Errorf("%w: the driver is too old (CUDA 11.4 is needed) or none: %w",
				backend.ErrNoDevice, err)
		}
	}
	return d, nil
}

// why holds the linker's messages about libraries that it found and could not open; absent ones need none.
func why(err error) string {
	var said strings.Builder
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.Contains(line, "No such file or directory") {
			said.WriteString(": " + line)
		}
	}
	return said.String()
}

// Codes of the driver that are told apart.
const (
	cudaSuccess       = 0
	cudaErrorMemory   = 2
	cudaErrorNoDevice = 100
)

// driverError is the result code of a call of the driver.
type driverError struct {
	call string // the function, and what it was called for
	code int32
	text string // the driver's name and description of the code
}

func (e *driverError) Error() string { return fmt.Sprintf("%s: %s", e.call, e.text) }

// Is makes every call that finds no memory ErrMemory: kernels, streams and graphs take some too.
func (e *driverError) Is(target error) bool {
	return e.code == cudaErrorMemory && target == backend.ErrMemory
}

// check turns a result into an error.
func (d *driver) check(call string, code int32) error {
	if code == cudaSuccess {
		return nil
	}
	return &driverError{call, code, d.describe(code)}
}

func (d *driver) describe(code int32) string {
	var name, text *byte
	call(d.cuGetErrorName, uintptr(code), uintptr(unsafe.Pointer(&name)))
	call(d.cuGetErrorString, uintptr(code), uintptr(unsafe.Pointer(&text)))
	if name == nil {
		return fmt.Sprintf("error %d", code)
	}
	return fmt.Sprintf("%s (%d): %s", cString(name), code, cString(text))
}

// cString is a Go copy of a C string, which ends within a page.
func cString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for n < 4096 && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
