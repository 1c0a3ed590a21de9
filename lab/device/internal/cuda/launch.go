package cuda

import (
	"fmt"
	"math"
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

// argOf is the argument that a value makes: a tensor its address, a whole number 64 bits, an int32, a flag or the
// number of a function 32. Kernels take all reals as double and round to their own type. No pointer is a value, so that
// values stay on the stack.
func argOf(v any) arg {
	switch v := v.(type) {
	case arg:
		return v
	case tensor:
		return array(v)
	case int:
		return arg{bits: uint64(v), size: 8}
	case float64:
		return arg{bits: math.Float64bits(v), size: 8}
	case int32:
		return arg{bits: uint64(uint32(v)), size: 4}
	case bool:
		if v {
			return arg{bits: 1, size: 4}
		}
		return arg{size: 4}
	case backend.Unary:
		return arg{bits: uint64(v), size: 4}
	case backend.Binary:
		return arg{bits: uint64(v), size: 4}
	}
	panic("cuda: no kernel takes an argument of such a type")
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

// grid is the number of blocks, or in place of x that of the threads of all.
type grid struct{ x, y, z, threads int }

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

// fill lays the arguments out and checks them against the kernel's parameters. It returns the bytes of the arrays.
func (g *gpu) fill(e *entry, args []any) (bytes int64, err error) {
	if len(args) != len(e.params) {
		return 0, fmt.Errorf("cuda: %s takes %d arguments, not %d", e.name, len(e.params), len(args))
	}
	s, at := g.slots, 0
	for k, v := range args {
		a := argOf(v)
		if a.size != e.params[k] {
			return 0, fmt.Errorf("cuda: argument %d of %s has %d bytes, not %d", k, e.name, e.params[k], a.size)
		}
		g.touch(a.mem)
		bytes += a.all
		s.pointers[k] = unsafe.Pointer(&s.values[at])
		if a.blob == nil {
			s.values[at] = a.bits
		} else {
			copy(unsafe.Slice((*byte)(s.pointers[k]), a.size), unsafe.Slice((*byte)(a.blob), a.size))
		}
		at += (a.size + 7) / 8
	}
	return bytes, nil
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
func (g *gpu) each(module, name string, n int, args ...any) {
	g.launch(module, name, grid{threads: n}, args...)
}

// eachOf is each of the kernel for the type of t.
func (g *gpu) eachOf(module, name string, t tensor, n int, args ...any) {
	g.each(module, name+suffix(t.Type), n, args...)
}

// launchOf is launch of the kernel for the type of t.
func (g *gpu) launchOf(module, name string, t tensor, size grid, args ...any) {
	g.launch(module, name+suffix(t.Type), size, args...)
}

// launch launches a kernel, unless an operation failed. An empty grid launches nothing.
func (g *gpu) launch(module, name string, size grid, args ...any) {
	if g.err == nil && max(size.x, size.threads) > 0 {
		g.keep(g.start(module, name, size, args))
	}
}

func (g *gpu) start(module, name string, size grid, args []any) error {
	e, err := g.entry(module, name)
	if err != nil {
		return err
	}
	if size.threads > 0 {
		size.x = min((size.threads-1)/e.block+1, g.limits.blocks)
	}
	bytes, err := g.fill(e, args)
	if err != nil {
		return err
	}
	g.ran(bytes, 0)
	err = g.call(cuLaunchKernel, e.handle, uintptr(size.x), uintptr(max(size.y, 1)), uintptr(max(size.z, 1)),
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
