package cuda

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"coupling/lab/device/internal/backend"
)

// driver is libcuda.
type driver struct {
	*library
	at []uintptr // of functions
}

// The functions of libcuda that this package uses.
const (
	cuInit = iota
	cuDriverGetVersion
	cuDeviceGetCount
	cuDeviceGet
	cuDeviceGetName
	cuDeviceGetAttribute
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuCtxSetCurrent
	cuMemGetInfo
	cuModuleLoadDataEx
	cuModuleUnload
	cuModuleGetFunction
	cuLaunchKernel
	cuMemAlloc
	cuMemFree
	cuMemAllocHost
	cuMemFreeHost
	cuMemcpyHtoDAsync
	cuMemcpyDtoHAsync
	cuMemcpyDtoDAsync
	cuMemsetD8Async
	cuStreamCreate
	cuStreamDestroy
	cuStreamSynchronize
	cuStreamBeginCapture
	cuStreamEndCapture
	cuGraphInstantiateWithFlags
	cuGraphLaunch
	cuGraphExecDestroy
	cuGraphDestroy
	cuGetErrorName
	cuGetErrorString
)

// functions are their names, with the version that their arguments have.
var functions = []string{
	cuInit:                      "cuInit",
	cuDriverGetVersion:          "cuDriverGetVersion",
	cuDeviceGetCount:            "cuDeviceGetCount",
	cuDeviceGet:                 "cuDeviceGet",
	cuDeviceGetName:             "cuDeviceGetName",
	cuDeviceGetAttribute:        "cuDeviceGetAttribute",
	cuDevicePrimaryCtxRetain:    "cuDevicePrimaryCtxRetain",
	cuDevicePrimaryCtxRelease:   "cuDevicePrimaryCtxRelease_v2",
	cuCtxSetCurrent:             "cuCtxSetCurrent",
	cuMemGetInfo:                "cuMemGetInfo_v2",
	cuModuleLoadDataEx:          "cuModuleLoadDataEx",
	cuModuleUnload:              "cuModuleUnload",
	cuModuleGetFunction:         "cuModuleGetFunction",
	cuLaunchKernel:              "cuLaunchKernel",
	cuMemAlloc:                  "cuMemAlloc_v2",
	cuMemFree:                   "cuMemFree_v2",
	cuMemAllocHost:              "cuMemAllocHost_v2",
	cuMemFreeHost:               "cuMemFreeHost",
	cuMemcpyHtoDAsync:           "cuMemcpyHtoDAsync_v2",
	cuMemcpyDtoHAsync:           "cuMemcpyDtoHAsync_v2",
	cuMemcpyDtoDAsync:           "cuMemcpyDtoDAsync_v2",
	cuMemsetD8Async:             "cuMemsetD8Async",
	cuStreamCreate:              "cuStreamCreate",
	cuStreamDestroy:             "cuStreamDestroy_v2",
	cuStreamSynchronize:         "cuStreamSynchronize",
	cuStreamBeginCapture:        "cuStreamBeginCapture_v2",
	cuStreamEndCapture:          "cuStreamEndCapture",
	cuGraphInstantiateWithFlags: "cuGraphInstantiateWithFlags",
	cuGraphLaunch:               "cuGraphLaunch",
	cuGraphExecDestroy:          "cuGraphExecDestroy",
	cuGraphDestroy:              "cuGraphDestroy",
	cuGetErrorName:              "cuGetErrorName",
	cuGetErrorString:            "cuGetErrorString",
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
	d := &driver{library: lib}
	if d.at, err = lib.symbols(functions); err != nil {
		return nil, fmt.Errorf("%w: the driver is too old (CUDA 11.4 is needed) or none: %w", backend.ErrNoDevice, err)
	}
	return d, nil
}

// symbols is the addresses of functions.
func (l *library) symbols(names []string) ([]uintptr, error) {
	at := make([]uintptr, len(names))
	for i, name := range names {
		var err error
		if at[i], err = l.symbol(name); err != nil {
			return nil, err
		}
	}
	return at, nil
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

var errNoGPU = errors.New("no GPU")

// driverError is the result code of a call of the driver.
type driverError struct {
	call string // the function, and what it was called for
	code int32
	text string // the driver's name and description of the code
}

func (e *driverError) Error() string { return fmt.Sprintf("%s: %s", e.call, e.text) }

// Is makes every call that finds no memory ErrMemory: kernels, streams and graphs take some too.
func (e *driverError) Is(target error) bool {
	return e.code == cudaErrorMemory && target == backend.ErrMemory || e.code == cudaErrorNoDevice && target == errNoGPU
}

// call calls a function.
//
//go:uintptrescapes
func (d *driver) call(function int, args ...uintptr) error {
	if code := call(d.at[function], args...); code != cudaSuccess {
		return d.failure(strings.TrimSuffix(functions[function], "_v2"), code)
	}
	return nil
}

// failure is the error of a call.
func (d *driver) failure(call string, code int32) error {
	return &driverError{call, code, d.describe(code)}
}

// calledFor adds to the error of a call what it was for.
func calledFor(what string, err error) error {
	if e := new(driverError); errors.As(err, &e) {
		e.call += " " + what
	}
	return err
}

func (d *driver) describe(code int32) string {
	var name, text *byte
	call(d.at[cuGetErrorName], uintptr(code), uintptr(unsafe.Pointer(&name)))
	call(d.at[cuGetErrorString], uintptr(code), uintptr(unsafe.Pointer(&text)))
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
