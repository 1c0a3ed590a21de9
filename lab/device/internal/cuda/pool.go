package cuda

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"coupling/lab/device/internal/backend"
)

// memory is a block of the GPU's memory.
type memory struct {
	addr  uint64
	size  int64  // of its class
	refs  int    // recordings that use it
	freed bool   // by its owner, but a recording still uses it
	seen  *graph // the last recording that used it
}

// pool keeps freed blocks for the next array of their class. Everything runs in one stream, so a block may be given
// out again while kernels that use it still run. The latest freed is given out first: a step that is repeated gets the
// same addresses.
type pool struct {
	exact bool // nothing is kept and nothing rounded up: for checkers of memory (COUPLING_CUDA_NO_CACHE=1)
	free  map[int64][]*memory
	idle  int64 // bytes in free
}

// class rounds a size up: to 512 bytes, above 1 MiB to an eighth of the next power of two below.
func (p *pool) class(bytes int64) int64 {
	unit := int64(512)
	if bytes > 1<<20 {
		unit = 1 << (bits.Len64(uint64(bytes)) - 4)
	}
	if p.exact {
		unit = 1
	}
	return (bytes + unit - 1) / unit * unit
}

func (p *pool) take(class int64) *memory {
	list := p.free[class]
	if len(list) == 0 {
		return nil
	}
	m := list[len(list)-1]
	p.free[class] = list[:len(list)-1]
	p.idle -= class
	return m
}

func (p *pool) put(m *memory) {
	if p.free == nil {
		p.free = map[int64][]*memory{}
	}
	p.free[m.size] = append(p.free[m.size], m)
	p.idle += m.size
}

// Alloc returns a block of at least that many bytes, of unknown contents.
func (g *gpu) Alloc(bytes int64) (m backend.Memory, err error) {
	err = g.do(func() error { m, err = g.alloc(bytes); return err })
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (g *gpu) alloc(bytes int64) (*memory, error) {
	if bytes == 0 {
		return &memory{}, nil
	}
	if bytes < 0 || bytes > g.total { // also before class, which rounds up
		return nil, fmt.Errorf("%w: %d bytes asked for, the GPU has %d", backend.ErrMemory, bytes, g.total)
	}
	class := g.pool.class(bytes)
	if g.record != nil {
		if m := g.record.pool.take(class); m != nil {
			return m, nil
		}
	}
	if m := g.pool.take(class); m != nil {
		return m, nil
	}
	m := &memory{size: class}
	err := g.call(cuMemAlloc, uintptr(unsafe.Pointer(&m.addr)), uintptr(class))
	if errors.Is(err, backend.ErrMemory) && g.record == nil {
		if err := g.trim(); err != nil {
			return nil, err
		}
		err = g.call(cuMemAlloc, uintptr(unsafe.Pointer(&m.addr)), uintptr(class))
	}
	if errors.Is(err, backend.ErrMemory) {
		free, total, infoErr := g.memInfo()
		if infoErr != nil {
			return nil, infoErr
		}
		return nil, fmt.Errorf("%w: %d bytes asked for, %d of %d free: %w", backend.ErrMemory, bytes, free, total, err)
	}
	return m, err
}

// Free gives a block back; kernels that use it may still run.
func (g *gpu) Free(m backend.Memory) error {
	return g.do(func() error { return g.release(m.(*memory)) })
}

func (g *gpu) release(m *memory) error {
	switch {
	case m.addr == 0:
		return nil
	case g.record != nil:
		g.touch(m)
		if m.refs > 1 { // another graph writes it at each launch
			m.freed = true
			return nil
		}
		g.record.pool.put(m) // kept for this recording, within which it may be given out again
		return nil
	case m.refs > 0:
		m.freed = true
		return nil
	case g.pool.exact:
		return g.give(m)
	}
	g.pool.put(m)
	return nil
}

// borrow returns a block of scratch memory, which goes back when the round ends. It has no address for 0 bytes and
// after a failure.
func (g *gpu) borrow(bytes int) arg {
	if g.err != nil || bytes == 0 {
		return block(&memory{})
	}
	m, err := g.alloc(int64(bytes))
	if err != nil {
		g.keep(err)
		return block(&memory{})
	}
	g.held = append(g.held, m)
	return block(m)
}

// borrowTensor is borrow for a tensor of unknown contents.
func (g *gpu) borrowTensor(t backend.DType, shape ...int) tensor {
	s := tensor{Type: t, Shape: shape}
	s.Mem = g.borrow(s.Len() * t.Size()).mem
	return s
}

// round calls f and gives back what f borrows.
func (g *gpu) round(f func()) {
	first := len(g.held)
	f()
	g.giveBack(first)
}

// giveBack gives back all but the first blocks that were borrowed, the latest first.
func (g *gpu) giveBack(first int) {
	for _, m := range slices.Backward(g.held[first:]) {
		g.keep(g.release(m))
	}
	g.held = g.held[:first]
}

// give returns a block to the driver.
func (g *gpu) give(m *memory) error {
	err := g.call(cuMemFree, uintptr(m.addr))
	m.addr = 0
	return err
}

// trim returns the cache to the driver, which waits for the stream first. A pending index error is reported by the next
// read.
func (g *gpu) trim() error {
	if err := g.drain(); err != nil {
		return err
	}
	return g.releaseAll()
}

// releaseAll returns cached memory, in order of size and age, so that runs do not differ.
func (g *gpu) releaseAll() error {
	var classes []int64
	for class := range g.pool.free {
		classes = append(classes, class)
	}
	slices.Sort(classes)
	var errs []error
	for _, class := range classes {
		for _, m := range g.pool.free[class] {
			errs = append(errs, g.give(m))
		}
	}
	g.pool.free, g.pool.idle = nil, 0
	return errors.Join(errs...)
}

// touch notes that the recording under way uses a block.
func (g *gpu) touch(m *memory) {
	if m == nil || g.record == nil || m.seen == g.record {
		return
	}
	m.seen = g.record
	m.refs++
	g.record.uses = append(g.record.uses, m)
}
