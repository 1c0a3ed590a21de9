package host

import (
	"unsafe"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// engine does the operations in one float type.
type engine[T cpu.Float] struct {
	*crew
	k     cpu.Kernels[T]
	pads  []*pad[T]
	parts []partial // of a reduction
	held  [3][]T    // what all workers of an operation share
}

// hold is shared scratch memory i with n elements of unknown contents, until it is held again.
func (e *engine[T]) hold(i, n int) []T {
	if cap(e.held[i]) < n {
		e.held[i] = make([]T, n)
	}
	return e.held[i][:n]
}

// pad is the scratch memory of one worker. Buffers keep their size for the next operation.
type pad[T cpu.Float] struct {
	gemm cpu.Gemm[T]
	bufs [4][]T
}

// eachPad is each for work that needs scratch memory: a worker lends its own.
func (e *engine[T]) eachPad(n, size int, work func(p *pad[T], lo, hi int)) {
	team := e.workers()
	for len(e.pads) < team {
		e.pads = append(e.pads, &pad[T]{gemm: cpu.Gemm[T]{Kernels: e.k}})
	}
	e.share(team, n, size, func(w, lo, hi int) { work(e.pads[w], lo, hi) })
}

// itemsPad is items for work that needs scratch memory.
func (e *engine[T]) itemsPad(n, size int, work func(p *pad[T], i int)) {
	e.eachPad(n, size, func(p *pad[T], lo, hi int) {
		for i := lo; i < hi; i++ {
			work(p, i)
		}
	})
}

// buf is buffer i with n elements of unknown contents.
func (p *pad[T]) buf(i, n int) []T {
	if cap(p.bufs[i]) < n {
		p.bufs[i] = make([]T, n)
	}
	return p.bufs[i][:n]
}

// zeros is buf with zeros.
func (p *pad[T]) zeros(i, n int) []T {
	b := p.buf(i, n)
	clear(b)
	return b
}

// is64 reports whether T is float64, a constant when compiled.
func is64[T cpu.Float]() bool { return unsafe.Sizeof(T(0)) == 8 }

// Of is the engine of a type.
func (h *Host) Of(t backend.DType) backend.Operations {
	if t == backend.Float64 {
		return &h.f64
	}
	return &h.f32
}
