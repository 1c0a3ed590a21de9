package host

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime/debug"
	"unsafe"

	"coupling/lab/device/internal/backend"
)

// block is a piece of memory: size bytes at an address that is a multiple of alignment.
type block struct {
	at   unsafe.Pointer
	size int64
}

// alignment is that of a line of the cache and of the widest vector.
const alignment = 64

// heap hands out blocks and keeps those that are given back for the next request of their size class: a training step
// asks for the same sizes again and again, and fresh memory costs page faults and a share of the garbage collector.
type heap struct {
	pool
	used, peak int64 // bytes in use, and most in use at once
}

// pool is the blocks that are kept by their size.
type pool struct {
	kept  map[int64][]*block
	spare int64 // bytes
}

func (p *pool) put(size int64, b *block) {
	if p.kept == nil {
		p.kept = map[int64][]*block{}
	}
	p.kept[size] = append(p.kept[size], b)
	p.spare += size
}

// slack is the limit of the cache beyond half of the peak.
const slack = 64 << 20

func (h *heap) use(size int64) {
	h.used += size
	h.peak = max(h.peak, h.used)
}

// small is the size from which the machine is asked whether it has the memory. A crowd of smaller blocks is not
// guarded; asking costs some 20 microseconds.
const small = 1 << 18

// Alloc returns a block of at least the given bytes, of unknown contents, or an error that wraps ErrMemory.
func (h *heap) Alloc(n int64) (backend.Memory, error) {
	if n < 0 || n > 1<<46 {
		return nil, fmt.Errorf("%d bytes: %w", n, backend.ErrMemory)
	}
	size := class(n)
	for fit := size; fit <= size+size/2; fit = class(fit + 1) { // one that is a little larger does as well
		if free := h.kept[fit]; len(free) > 0 {
			b := free[len(free)-1]
			h.kept[fit] = free[:len(free)-1]
			h.spare -= fit
			h.use(fit)
			return b, nil
		}
	}
	if h.used+h.spare > h.peak+h.peak/2+slack {
		h.trim() // sizes have changed
	}
	if err := h.room(size); err != nil {
		return nil, err
	}
	raw := make([]byte, size+alignment)
	at := unsafe.Pointer(unsafe.SliceData(raw))
	skip := -uintptr(at) & (alignment - 1)
	h.use(size)
	return &block{at: unsafe.Add(at, skip), size: size}, nil
}

// room is nil if the machine can give a number of bytes. The cache is given up for it.
func (h *heap) room(size int64) error {
	if size < small {
		return nil
	}
	free, _, err := available()
	if errors.Is(err, errUnknown) || err == nil && size <= free {
		return nil
	}
	h.trim()
	debug.FreeOSMemory()
	if free, _, err = available(); err != nil {
		return err
	}
	if size > free {
		return fmt.Errorf("%d bytes, %d free: %w", size, free, backend.ErrMemory)
	}
	return nil
}

// Free keeps a block.
func (h *heap) Free(m backend.Memory) error {
	b := m.(*block)
	h.put(b.size, b)
	h.used -= b.size
	return nil
}

// trim releases the cache.
func (h *heap) trim() { h.pool = pool{} }

// MemInfo returns the bytes that can be allocated, and the memory of the machine or, where it is
// less, of the process's control group.
func (h *heap) MemInfo() (free, total int64, err error) {
	free, total, err = available()
	return min(free+h.spare, total), total, err
}

// class rounds a size up by at most an eighth, to one of eight sizes an octave.
func class(n int64) int64 {
	const least = 4 * alignment
	if n <= least {
		return least
	}
	step := int64(1) << (bits.Len64(uint64(n-1)) - 4)
	return (n + step - 1) / step * step
}

// view is the elements of a tensor.
func view[T any](t tensor) []T {
	b := t.Mem.(*block)
	all := unsafe.Slice((*T)(b.at), b.size/int64(unsafe.Sizeof(*new(T))))
	return all[t.Offset : t.Offset+t.Len()]
}
