package device

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
	"coupling/lab/device/internal/cuda"
	"coupling/lab/device/internal/host"
)

// Info describes a device.
type Info = backend.Info

// Traffic counts the calls of a GPU.
type Traffic = backend.Traffic

// Device is an open device and its arrays. Only one goroutine at a time may run operations on the
// arrays of a device; goroutines that share a device use Lock. Different devices are independent.
//
// Operations do not return errors. Like a bufio.Writer a device keeps the first error and ignores
// later operations. Copies to the host, Sync and Err return the error; Recover clears it.
type Device struct {
	b    backend.Backend
	note string

	turn   sync.Mutex // of who shares the device: Lock
	mu     sync.Mutex
	err    error
	live   map[*Array]struct{}
	bytes  int64
	peak   int64
	scopes []*Scope
	made   uint64     // arrays so far
	record *recording // under way
	track  bool
	closed bool
}

// CPU opens the processor. The zero value uses the best instruction set and all cores of the
// machine.
type CPU struct {
	ISA     cpu.ISA // instruction set; Auto obeys COUPLING_CPU and else takes the best
	Workers int     // goroutines; 0 is GOMAXPROCS at the time of each operation
}

// Open returns the device. It never fails on a machine that can run the instruction set.
func (c CPU) Open() (*Device, error) {
	b, err := host.Open(c.ISA, c.Workers)
	if err != nil {
		return nil, fmt.Errorf("device: cpu: %w", err)
	}
	return newDevice(b), nil
}

// CUDA opens an NVIDIA GPU. The zero value is the first one.
type CUDA struct {
	Ordinal int    // which GPU, as the driver counts
	Driver  string // path of libcuda.so.1; empty: COUPLING_CUDA_DRIVER, else where drivers are
	CuBLAS  string // path of libcublas; empty: COUPLING_CUBLAS, else where it usually is; "none" for our own products
	TF32    bool   // let matrix products round their factors to 10 bits; NVIDIA_TF32_OVERRIDE = 0 or 1 overrules it
}

// Open returns the device, or an error that wraps ErrNoDevice and names the files that were
// searched.
func (c CUDA) Open() (*Device, error) {
	b, err := cuda.Open(cuda.Config(c))
	if err != nil {
		return nil, fmt.Errorf("device: cuda:%d: %w", c.Ordinal, err)
	}
	return newDevice(b), nil
}

func newDevice(b backend.Backend) *Device {
	return &Device{b: b, live: map[*Array]struct{}{}}
}

// Open opens a device by name: "cpu", "cuda" or "cuda:N", either followed by ",tf32" (see
// CUDA.TF32), or "auto", which is the first GPU if there is a driver and the processor otherwise;
// Note then returns the reason. The empty name is the environment variable COUPLING_DEVICE, or "auto" where
// that is not set.
func Open(name string) (*Device, error) {
	if name == "" {
		name = os.Getenv("COUPLING_DEVICE")
	}
	if name == "" || name == "auto" {
		return openAuto()
	}
	n, err := parseName(name)
	if err != nil {
		return nil, err
	}
	if n.kind == "cpu" {
		return CPU{}.Open()
	}
	return CUDA{Ordinal: n.ordinal, TF32: n.tf32}.Open()
}

// name is a parsed device name.
type name struct {
	kind    string
	ordinal int
	tf32    bool
}

func parseName(s string) (n name, err error) {
	rest, tf32 := strings.CutSuffix(s, ",tf32")
	kind, ordinal, numbered := strings.Cut(rest, ":")
	n = name{kind: kind, tf32: tf32}
	if numbered {
		n.ordinal, err = strconv.Atoi(ordinal)
	}
	if err != nil || n.ordinal < 0 || rest != "cpu" && kind != "cuda" || rest == "cpu" && tf32 {
		return name{}, fmt.Errorf("device: %q: must be auto, cpu, cuda or cuda:N, the last two perhaps with ,tf32", s)
	}
	return n, nil
}

func (n name) key() string {
	if n.tf32 {
		return n.kind + ",tf32"
	}
	return n.kind
}

// KeyOf returns the part of a name that changes numbers, without opening the device: "cuda,tf32" of
// "cuda:1,tf32".
func KeyOf(name string) (string, error) {
	n, err := parseName(name)
	return n.key(), err
}

// Key returns the part of the device's name that changes numbers: "cpu", "cuda" or "cuda,tf32". The
// number of the GPU does not.
func (d *Device) Key() string { return name{kind: d.Info().Kind, tf32: d.Info().TF32}.key() }

// OpenKey opens a device with a Key. It is the GPU that COUPLING_DEVICE names, else the first.
func OpenKey(key string) (*Device, error) {
	n, err := parseName(key)
	if err != nil {
		return nil, err
	}
	if n.kind == "cpu" {
		return CPU{}.Open()
	}
	n.ordinal = ordinalFor(n.kind, os.Getenv("COUPLING_DEVICE"))
	d, err := CUDA{Ordinal: n.ordinal, TF32: n.tf32}.Open()
	if err == nil && d.Key() != key {
		err = errors.Join(fmt.Errorf("device: %s was asked for and this is %s: is NVIDIA_TF32_OVERRIDE set?", key,
			d.Key()), d.Close())
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// ordinalFor returns which device of a kind a name chooses.
func ordinalFor(kind, chosen string) int {
	if n, err := parseName(chosen); err == nil && n.kind == kind {
		return n.ordinal
	}
	return 0
}

func openAuto() (*Device, error) {
	gpu, gpuErr := CUDA{}.Open()
	if gpuErr == nil {
		return gpu, nil
	}
	d, err := CPU{}.Open()
	if err != nil {
		return nil, err
	}
	d.note = fmt.Sprintf("auto took the cpu: %v", gpuErr)
	return d, nil
}

// Lock reserves the device for the calling goroutine until Unlock, and waits while another has it.
// Operations do not lock. Goroutines that share a device lock it around each piece of work, which
// must close the scopes that it opens and must not touch arrays of others.
func (d *Device) Lock() { d.turn.Lock() }

// Unlock releases the device.
func (d *Device) Unlock() { d.turn.Unlock() }

// Info describes the device.
func (d *Device) Info() Info { return d.b.Info() }

// String returns the kind and the name.
func (d *Device) String() string { i := d.Info(); return i.Kind + " (" + i.Name + ")" }

// Note returns a remark of Open, such as why "auto" did not take a GPU; empty if there is none.
func (d *Device) Note() string { return d.note }

// Memory returns the free and the total bytes of the device's memory.
func (d *Device) Memory() (free, total int64, err error) { return d.b.MemInfo() }

// Traffic returns the calls of the device since it was opened: launches, waits and copies bound the
// time of small steps on a GPU. It is zero on a processor.
func (d *Device) Traffic() Traffic { return d.b.Traffic() }

// Sync waits until all operations are done and returns the first error.
func (d *Device) Sync() error {
	d.doOutside("Sync", d.b.Sync)
	return d.Err()
}

// Err returns the first error since the device was opened or recovered.
func (d *Device) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// Recover returns the error and clears it, for example after a failed allocation once arrays were
// freed. Results of operations since the error are undefined.
func (d *Device) Recover() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.err
	d.err = nil
	return err
}

// Close waits, frees the remaining arrays and closes the device. It returns the first error, or
// ErrLeak with the places where the remaining arrays were made.
func (d *Device) Close() error {
	if d.closed {
		return nil
	}
	_ = d.Sync() // the device keeps what it says
	leak := d.leaks()
	for a := range d.live {
		a.release()
	}
	d.closed = true
	return errors.Join(d.Err(), leak, d.b.Close())
}

// fail keeps the first error.
func (d *Device) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
}

// do runs an operation unless one failed before.
func (d *Device) do(op string, f func() error) {
	if d.closed {
		panic("device: " + op + ": the device is closed")
	}
	if d.Err() != nil {
		return
	}
	if err := f(); err != nil {
		d.fail(fmt.Errorf("device: %s: %w", op, err))
	}
}

// Track records where arrays are made, for the message of ErrLeak. It costs a microsecond an array.
func (d *Device) Track(on bool) { d.track = on }

// Live returns the number of arrays that hold memory, their bytes, and the most bytes there were at once.
func (d *Device) Live() (arrays int, bytes, peak int64) { return len(d.live), d.bytes, d.peak }

func (d *Device) leaks() error {
	if len(d.live) == 0 {
		return nil
	}
	var where strings.Builder
	for a := range d.live {
		if a.made != nil {
			fmt.Fprintf(&where, "\n\t%v%v made at %s", a.t.Type, a.t.Shape, caller(a.made))
		}
	}
	if !d.track {
		where.WriteString(" (Track tells where they were made)")
	}
	return fmt.Errorf("device: %w: %d arrays, %d bytes%s", ErrLeak, len(d.live), d.bytes, where.String())
}

// caller is the file and line of a stack outside this package, and empty of none.
func caller(stack []uintptr) string {
	if len(stack) == 0 {
		return ""
	}
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if !strings.Contains(f.Function, "coupling/lab/device.") || strings.HasSuffix(f.File, "_test.go") {
			return f.File + ":" + strconv.Itoa(f.Line)
		}
		if !more {
			return "?"
		}
	}
}
