package host

import (
	"fmt"
	"runtime"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// Host is the processor with its memory.
type Host struct {
	heap
	crew
	isa   cpu.ISA
	model string
	f32   engine[float32]
	f64   engine[float64]
}

// Open returns the processor with an instruction set, cpu.Auto for that of COUPLING_CPU or the best
// of the machine, and with a number of workers, 0 for GOMAXPROCS at the time of each operation. It
// fails where the machine lacks the set.
func Open(isa cpu.ISA, workers int) (backend.Backend, error) {
	if workers < 0 {
		return nil, fmt.Errorf("workers = %d: must be at least 0", workers)
	}
	active, err := cpu.Active()
	if isa == cpu.Auto && err != nil {
		return nil, err
	}
	if isa == cpu.Auto {
		isa = active
	}
	available := cpu.Available()
	if isa > available[len(available)-1] {
		return nil, fmt.Errorf("ISA = %s: %w on this machine, whose best is %s", isa, cpu.ErrISA,
			available[len(available)-1])
	}
	h := &Host{isa: isa, model: modelName()}
	h.size = workers
	h.f32 = engine[float32]{crew: &h.crew, k: cpu.Kernels[float32]{ISA: isa}}
	h.f64 = engine[float64]{crew: &h.crew, k: cpu.Kernels[float64]{ISA: isa}}
	return h, nil
}

// Traffic is nothing.
func (h *Host) Traffic() backend.Traffic { return backend.Traffic{} }

// Info names the processor, the instruction set and the number of workers.
func (h *Host) Info() backend.Info {
	return backend.Info{
		Kind:   "cpu",
		Name:   fmt.Sprintf("%s (%s)", h.model, h.isa),
		Detail: fmt.Sprintf("%s/%s, %d workers", runtime.GOOS, runtime.GOARCH, h.workers()),
	}
}

// Sync has nothing to wait for: operations return when they are done.
func (h *Host) Sync() error { return nil }

// Close gives the kept memory back.
func (h *Host) Close() error {
	h.trim()
	return nil
}

// graph is the launches of a recording, and the memory that was made and freed in it.
type graph struct {
	h        *Host
	launches []launch
	pool     pool
}

// Record does f and keeps what it launches. Memory that f frees is the graph's until it is closed.
func (h *Host) Record(f func() error) (backend.Graph, error) {
	g := &graph{h: h}
	much := h.spare > slack
	h.trim()
	if much { // its memory serves the recording, or it would be resident twice
		runtime.GC()
	}
	outside := h.pool
	h.record, h.pool = &g.launches, pool{}
	defer func() { h.record, g.pool, h.pool = nil, h.pool, outside }()
	return g, f()
}

// Launch runs the launches again.
func (g *graph) Launch() error {
	for _, l := range g.launches {
		g.h.run(l)
	}
	return g.h.End()
}

// Close gives the memory back.
func (g *graph) Close() error {
	for size, blocks := range g.pool.kept {
		for _, b := range blocks {
			g.h.put(size, b)
		}
	}
	g.launches, g.pool = nil, pool{}
	return nil
}
