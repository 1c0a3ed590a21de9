package cuda

import (
	"fmt"
	"runtime"
	"unsafe"

	"coupling/lab/device/internal/backend"
)

// fault is the record of an index out of range that a kernel writes; the struct Fault of the kernels.
type fault struct {
	set, op, index, _ int32
	at                int64
}

const faultSize = int(unsafe.Sizeof(fault{}))

// What fault.op numbers.
var faultOps = [...]string{"Gather", "Scatter", "CrossEntropy"}

// askFault begins to copy what kernels said about indices, or returns nil if none ran that could say something.
func (g *gpu) askFault() (*fault, error) {
	if !g.mayFault {
		return nil, nil
	}
	g.mayFault = false
	f := new(fault)
	g.traffic.Downloads++
	return f, g.call(cuMemcpyDtoHAsync, uintptr(unsafe.Pointer(f)), uintptr(g.faults.addr), uintptr(faultSize),
		g.stream)
}

// tell returns the error of a copied fault, and clears it on the GPU.
func (g *gpu) tell(f *fault) error {
	runtime.KeepAlive(f)
	if f == nil || f.set == 0 {
		return nil
	}
	if err := g.zero(g.faults); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s: index = %d at %d", backend.ErrIndex, faultOps[f.op], f.index, f.at)
}

// zero clears a block.
func (g *gpu) zero(m *memory) error {
	g.touch(m)
	g.ran(m.size, 0)
	return g.call(cuMemsetD8Async, uintptr(m.addr), 0, uintptr(m.size), g.stream)
}
