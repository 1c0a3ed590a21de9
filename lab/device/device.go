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

// Traffic is what was asked of a GPU.
type Traffic = backend.Traffic

// Device is an open device and what lives on it. Operations on the arrays of one device are for one goroutine at a
// time, of which Lock makes sure where several share it; different devices are independent.
//
// Operations do not return errors. Like a bufio.Writer a device keeps the first error, does nothing from then on, and
// gives it back where results leave it: from the copies to the host, Sync and Err. Recover forgets it.
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

// CPU opens the processor. The zero value uses what the machine has.
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

// Open returns the device, or an error that wraps ErrNoDevice and names what was looked for.
func (c CUDA) Open() (*Device, error) {
	b, err := cuda.Open(cuda.Config{Ordinal: c.Ordinal, Driver: c.Driver, CuBLAS: c.CuBLAS, TF32: c.TF32})
	if err != nil {
		return nil, fmt.Errorf("device: cuda:%d: %w", c.Ordinal, err)
	}
	return newDevice(b), nil
}

func newDevice(b backend.Backend) *Device {
	return &Device{b: b, live: map[*Array]struct{}{}}
}

// Open opens a device by name: "cpu", "cuda" or "cuda:N", either with ",tf32" behind it (see CUDA.TF32), or "auto",
// which is the first GPU where there is a driver and the processor otherwise; Note then says why. The empty name is the
// environment variable COUPLING_DEVICE, or "auto" where that is not set.
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

// name is a device's name taken apart.
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

// KeyOf returns what of a name changes numbers, without opening the device: "cuda,tf32" of "cuda:1,tf32".
func KeyOf(name string) (string, error) {
	n, err := parseName(name)
	return n.key(), err
}

// Key is what of the device changes numbers: "cpu", "cuda" or "cuda,tf32". Which GPU it is does not.
func (d *Device) Key() string { return name{kind: d.Info().Kind, tf32: d.Info().TF32}.key() }

// OpenKey opens a device with a Key. Which GPU it is says COUPLING_DEVICE if that names one; else it is the first.
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
		err = errors.Join(fmt.Errorf("device: %s was asked for and this is %s: is NVIDIA_TF32_OVERRIDE set?", key, d.Key()), d.Close())
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

// Lock gives the device to the calling goroutine until Unlock, and waits while another has it. Operations do not lock:
// goroutines that share a device lock it around each piece of work, which closes the scopes that it opens and leaves
// alone what others made.
func (d *Device) Lock() { d.turn.Lock() }

// Unlock lets the next goroutine have the device.
func (d *Device) Unlock() { d.turn.Unlock() }

// Info describes the device.
func (d *Device) Info() Info { return d.b.Info() }

// String is the kind and the name.
func (d *Device) String() string { i := d.Info(); return i.Kind + " (" + i.Name + ")" }

// Note is what Open had to say, empty if nothing: why "auto" did not take a GPU.
func (d *Device) Note() string { return d.note }

// Memory returns the free and the total bytes of the device's memory.
func (d *Device) Memory() (free, total int64, err error) { return d.b.MemInfo() }

// Traffic is what was asked of the device since it was opened: launches, waits and copies are what bounds small steps on a
// GPU. It is zero on a processor.
func (d *Device) Traffic() Traffic { return d.b.Traffic() }

// Sync waits until everything that was asked is done and returns the first error.
func (d *Device) Sync() error {
	d.doOutside("Sync", d.b.Sync)
	return d.Err()
}

// Err is the first error since the device was opened or recovered.
func (d *Device) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// Recover returns the error and forgets it: after a failed allocation, say, once arrays were freed. What the
// operations in between should have written is undefined.
func (d *Device) Recover() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.err
	d.err = nil
	return err
}

// Close waits, frees what is still live and closes the device. It returns the first error, or ErrLeak and where the
// arrays were made that nobody freed.
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

// Track makes arrays remember where they were made, for the message of ErrLeak. It costs a microsecond an array.
func (d *Device) Track(on bool) { d.track = on }

// Live returns the number of arrays that hold memory, their bytes, and the most bytes there were at once.
func (d *Device) Live() (arrays int, bytes, peak int64) { return len(d.live), d.bytes, d.peak }

func (d *Device) leaks() error {
	if len(d.live) == 0 {
		return nil
	}
	var where strings.Builder
	for a := range d.live {
		if a.made != "" {
			fmt.Fprintf(&where, "\n\t%v%v made at %s", a.t.Type, a.t.Shape, a.made)
		}
	}
	if !d.track {
		where.WriteString(" (Track tells where they were made)")
	}
	return fmt.Errorf("device: %w: %d arrays, %d bytes%s", ErrLeak, len(d.live), d.bytes, where.String())
}

// caller is the file and line outside this package.
func caller() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
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
