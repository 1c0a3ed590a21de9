package cuda

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"coupling/lab/device/internal/backend"
)

type tensor = backend.Tensor

// arg is an argument of a kernel.
type arg struct {
	bits uint64
	size int
	blob unsafe.Pointer // of size bytes, in place of bits
	mem  *memory
	all  int64 // bytes of the array, for who counts
}

func i32(v int) arg { return arg{bits: uint64(uint32(int32(v))), size: 4} }
func i64(v int) arg { return arg{bits: uint64(v), size: 8} }

// f64 is a real argument; kernels take all of them as double and round to their own type.
func f64(v float64) arg { return arg{bits: *(*uint64)(unsafe.Pointer(&v)), size: 8} }

// flag is 1 or 0.
func flag(v bool) arg {
	if v {
		return i32(1)
	}
	return i32(0)
}

// array is the address of a tensor's first element.
func array(t tensor) arg {
	m, _ := t.Mem.(*memory)
	if m == nil || m.addr == 0 {
		return arg{size: 8}
	}
	return arg{bits: m.addr + uint64(t.Offset)*uint64(t.Type.Size()), size: 8, mem: m, all: int64(bytesOf(t))}
}

func block(m *memory) arg { return arg{bits: m.addr, size: 8, mem: m} }

// record is a struct by value, laid out as C does.
func record[T any](v *T) arg { return arg{blob: unsafe.Pointer(v), size: int(unsafe.Sizeof(*v))} }

// grid is the number of blocks.
type grid struct{ x, y, z int }

// launchSlots is where the driver finds arguments. It copies them before a launch returns, so one set does.
type launchSlots struct {
	values   [1024]uint64
	pointers [24]unsafe.Pointer
	pin      runtime.Pinner
}

func newLaunchSlots() *launchSlots {
	s := &launchSlots{}
	s.pin.Pin(s)
	return s
}

func (s *launchSlots) unpin() { s.pin.Unpin() }

// fill lays the arguments out and checks them against the kernel's parameters.
func (s *launchSlots) fill(e *entry, args []arg) error {
	if len(args) != len(e.params) {
		return fmt.Errorf("cuda: %s takes %d arguments, not %d", e.name, len(e.params), len(args))
	}
	at := 0
	for k, a := range args {
		if a.size != e.params[k] {
			return fmt.Errorf("cuda: argument %d of %s has %d bytes, not %d", k, e.name, e.params[k], a.size)
		}
		s.pointers[k] = unsafe.Pointer(&s.values[at])
		if a.blob == nil {
			s.values[at] = a.bits
			at++
			continue
		}
		words := (a.size + 7) / 8
		copy(unsafe.Slice((*byte)(s.pointers[k]), a.size), unsafe.Slice((*byte)(a.blob), a.size))
		at += words
	}
	return nil
}

// suffix is the end of the names of kernels of a type.
func suffix(t backend.DType) string {
	switch t {
	case backend.Float64:
		return "_f64"
	case backend.Int32:
		return "_i32"
	}
	return "_f32"
}

// each launches a kernel with a thread for each of n elements, or as many as are worth it.
func (g *gpu) each(module, name string, n int, args ...arg) error {
	if n == 0 {
		return nil
	}
	e, err := g.entry(module, name)
	if err != nil {
		return err
	}
	return g.start(e, grid{x: min((n-1)/e.block+1, g.limits.blocks)}, args)
}

// eachOf is each of the kernel for the type of t.
func (g *gpu) eachOf(module, name string, t tensor, n int, args ...arg) error {
	return g.each(module, name+suffix(t.Type), n, args...)
}

// launchOf is launch of the kernel for the type of t.
func (g *gpu) launchOf(module, name string, t tensor, size grid, args ...arg) error {
	return g.launch(module, name+suffix(t.Type), size, args...)
}

// launch launches a kernel. An empty grid launches nothing.
func (g *gpu) launch(module, name string, size grid, args ...arg) error {
	if size.x == 0 {
		return nil
	}
	e, err := g.entry(module, name)
	if err != nil {
		return err
	}
	return g.start(e, size, args)
}

func (g *gpu) start(e *entry, size grid, args []arg) error {
	if err := g.slots.fill(e, args); err != nil {
		return err
	}
	var bytes int64
	for _, a := range args {
		g.touch(a.mem)
		bytes += a.all
	}
	g.ran(bytes, 0)
	err := g.call(cuLaunchKernel, e.handle, uintptr(size.x), uintptr(max(size.y, 1)), uintptr(max(size.z, 1)),
		uintptr(e.block), 1, 1, 0, g.stream, uintptr(unsafe.Pointer(&g.slots.pointers[0])), 0)
	if err != nil {
		return calledFor(e.name, err)
	}
	g.note(e.name)
	return nil
}

// note remembers the last kernels for the message when one of them fails.
func (g *gpu) note(name string) {
	const most = 8
	if n := len(g.recent); n > 0 && g.recent[n-1] == name {
		return
	}
	if len(g.recent) == most {
		copy(g.recent, g.recent[1:])
		g.recent = g.recent[:most-1]
	}
	g.recent = append(g.recent, name)
}

// wait waits for the stream and reports what failed in it, a bad index too.
func (g *gpu) wait() error {
	f, err := g.askFault()
	if err != nil {
		return err
	}
	if err := g.drain(); err != nil {
		return err
	}
	return g.tell(f)
}

// drain waits for the stream.
func (g *gpu) drain() error {
	g.traffic.Waits++
	if err := g.call(cuStreamSynchronize, g.stream); err != nil {
		if len(g.recent) == 0 {
			return err
		}
		return fmt.Errorf("%w (the last kernels were %s; with CUDA_LAUNCH_BLOCKING=1 the one that failed is named)",
			err, strings.Join(g.recent, ", "))
	}
	g.recent, g.stage.used = g.recent[:0], 0
	return nil
}
