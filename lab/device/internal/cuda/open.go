package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"coupling/lab/device/internal/backend"
)

// Config selects the GPU and its libraries.
type Config struct {
	Ordinal        int    // which GPU
	Driver, CuBLAS string // paths; see package device
	TF32           bool   // let cuBLAS round factors to 10 bits
}

// What the PTX needs: cuGraphInstantiateWithFlags is of CUDA 11.4, PTX 7.0 of 11.0; sm_80 is what the kernels are
// compiled for.
const (
	needDriver     = 11040
	needCapability = 80
)

// Device attributes, as the driver numbers them.
const (
	attributeClock           = 13 // kHz
	attributeMultiprocessors = 16
	attributeMajor           = 75
	attributeMinor           = 76
)

// streamNonBlocking keeps the stream apart from the default one, which others in the process use.
const streamNonBlocking = 1

// gpu is an open GPU.
type gpu struct {
	*driver
	cfg     Config
	ordinal int32
	context uintptr
	stream  uintptr
	limits  limits
	machine bool // the embedded machine code fits
	info    backend.Info

	mu       sync.Mutex
	modules  map[string]*module
	slots    *launchSlots
	recent   []string // kernels since the last wait
	pool     pool
	total    int64  // bytes of the GPU's memory
	record   *graph // the recording that is under way
	faults   *memory
	mayFault bool
	blas     *cublas
	scratch  *memory // three float64, for steps of optimisers
	stage    stage
	traffic  backend.Traffic
	closed   bool

	err  error     // the first failure since Begin
	held []*memory // what they borrowed
}

// Open returns the GPU, or an error that wraps ErrNoDevice and names the files that were searched.
func Open(c Config) (backend.Backend, error) {
	d, err := loadDriver(c.Driver)
	if err != nil {
		return nil, err
	}
	g := &gpu{driver: d, cfg: c, modules: map[string]*module{}, slots: newLaunchSlots(), limits: standard}
	g.pool.exact = os.Getenv("COUPLING_CUDA_NO_CACHE") == "1"
	if err := g.find(); err != nil {
		return nil, fmt.Errorf("%w: %w (driver: %s)", backend.ErrNoDevice, err, d.path)
	}
	if err := g.call(cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(&g.context)), uintptr(g.ordinal)); err != nil {
		return nil, err
	}
	if err := g.do(g.prepare); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// find checks the driver's version and takes the device.
func (g *gpu) find() error {
	var version, count, major, minor int32
	if err := g.call(cuInit, 0); errors.Is(err, errNoGPU) {
		return fmt.Errorf("the driver finds no GPU: %w", err)
	} else if err != nil {
		return err
	}
	if err := g.call(cuDriverGetVersion, uintptr(unsafe.Pointer(&version))); err != nil {
		return err
	}
	if version < needDriver {
		return fmt.Errorf("the driver is for CUDA %s, too old: the kernels need %s", cudaVersion(version),
			cudaVersion(needDriver))
	}
	if err := g.call(cuDeviceGetCount, uintptr(unsafe.Pointer(&count))); err != nil {
		return err
	}
	if g.cfg.Ordinal < 0 || g.cfg.Ordinal >= int(count) {
		return fmt.Errorf("ordinal = %d: there are %d GPUs", g.cfg.Ordinal, count)
	}
	name := make([]byte, 256)
	err := errors.Join(
		g.call(cuDeviceGet, uintptr(unsafe.Pointer(&g.ordinal)), uintptr(g.cfg.Ordinal)),
		g.call(cuDeviceGetName, uintptr(unsafe.Pointer(&name[0])), 256, uintptr(g.ordinal)),
		g.attribute(&major, attributeMajor), g.attribute(&minor, attributeMinor),
	)
	if err != nil {
		return err
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	if 10*major+minor < needCapability {
		return fmt.Errorf("%s has compute capability %d.%d, too old: the kernels need %d.%d", name, major, minor,
			needCapability/10, needCapability%10)
	}
	g.machine = 10*major+minor == machineCapability && version >= machineDriver
	var units, clock int32 // for who computes limits: unknown is no failure
	if g.attribute(&units, attributeMultiprocessors) != nil {
		units = 0
	}
	if g.attribute(&clock, attributeClock) != nil {
		clock = 0
	}
	g.info = backend.Info{
		Units:    int(units),
		ClockMHz: int(clock) / 1000,

		Kind:   "cuda",
		Name:   string(name),
		Detail: fmt.Sprintf("compute capability %d.%d, driver for CUDA %s", major, minor, cudaVersion(version)),
	}
	return nil
}

// attribute reads one of the device's.
func (g *gpu) attribute(v *int32, number uintptr) error {
	return g.call(cuDeviceGetAttribute, uintptr(unsafe.Pointer(v)), number, uintptr(g.ordinal))
}

// prepare makes what lives as long as the device does.
func (g *gpu) prepare() (err error) {
	if err := g.call(cuStreamCreate, uintptr(unsafe.Pointer(&g.stream)), streamNonBlocking); err != nil {
		return err
	}
	if _, g.total, err = g.memInfo(); err != nil {
		return err
	}
	if g.faults, err = g.alloc(int64(faultSize)); err != nil {
		return err
	}
	if g.scratch, err = g.alloc(24); err != nil {
		return err
	}
	if err := g.zero(g.faults); err != nil {
		return err
	}
	if g.blas, err = g.openBLAS(); err != nil {
		return err
	}
	g.info.Detail += ", products by " + g.blas.String()
	g.info.TF32 = g.blas.tf32()
	return nil
}

func cudaVersion(v int32) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Begin makes the context current on a pinned thread, with nobody else on the device, until End.
func (g *gpu) Begin() {
	g.mu.Lock()
	runtime.LockOSThread()
	if g.closed {
		g.err = errors.New("cuda: the device is closed")
	} else {
		g.err = g.call(cuCtxSetCurrent, g.context)
	}
}

// End gives back what operations borrowed.
func (g *gpu) End() error {
	g.giveBack(0)
	err := g.err
	g.err = nil
	runtime.UnlockOSThread()
	g.mu.Unlock()
	return err
}

// do runs f between Begin and End.
func (g *gpu) do(f func() error) (err error) {
	g.Begin()
	defer func() { err = g.End() }()
	if g.err == nil {
		g.keep(f())
	}
	return nil
}

// keep keeps the first failure since Begin.
func (g *gpu) keep(err error) {
	if g.err == nil {
		g.err = err
	}
}

// Info describes the device.
func (g *gpu) Info() backend.Info { return g.info }

// MemInfo returns the free and the total bytes of the GPU's memory; memory that is kept for the next array counts as
// free.
func (g *gpu) MemInfo() (free, total int64, err error) {
	err = g.do(func() error {
		free, total, err = g.memInfo()
		free += g.pool.idle
		return err
	})
	return free, total, err
}

func (g *gpu) memInfo() (free, total int64, err error) {
	err = g.call(cuMemGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return free, total, err
}

// Traffic returns the calls so far.
func (g *gpu) Traffic() backend.Traffic {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.traffic
}

// ran counts something that the GPU does, for the recording under way or at once.
func (g *gpu) ran(bytes int64, flop float64) {
	t := &g.traffic
	if g.record != nil {
		t = &g.record.traffic
	}
	t.Launches++
	t.Kernels++
	t.Bytes += bytes
	t.FLOP += flop
}

// Sync waits until everything is done and returns what failed.
func (g *gpu) Sync() error { return g.do(g.wait) }

// Close gives everything back.
func (g *gpu) Close() error {
	err := g.do(func() error {
		errs := []error{g.wait()}
		if g.blas != nil {
			errs = append(errs, g.blas.close())
		}
		for _, m := range []*memory{g.faults, g.scratch} {
			if m != nil {
				errs = append(errs, g.give(m))
			}
		}
		if g.stage.memory != nil {
			errs = append(errs, g.call(cuMemFreeHost, uintptr(unsafe.Pointer(&g.stage.memory[0]))))
		}
		errs = append(errs, g.releaseAll())
		for _, m := range g.modules {
			errs = append(errs, g.call(cuModuleUnload, m.handle))
		}
		if g.stream != 0 {
			errs = append(errs, g.call(cuStreamDestroy, g.stream))
		}
		g.slots.unpin()
		errs = append(errs, g.call(cuDevicePrimaryCtxRelease, uintptr(g.ordinal)))
		return firstOf(errs)
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	return err
}

// firstOf is the first error: after a kernel failed, every call of the driver repeats it.
func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
