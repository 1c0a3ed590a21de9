package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"coupling/lab/device/internal/backend"
)

// graph is a recording: a captured stream as one launch.
type graph struct {
	g      *gpu
	exec   uintptr
	uses   []*memory // every block that a kernel in it touches
	pool   pool      // blocks that were freed while it was recorded
	faults bool      // it can report a bad index

	traffic backend.Traffic // of one launch
}

// captureRelaxed lets the driver allocate memory and load kernels while the stream is captured, neither of which
// touches the stream.
const captureRelaxed = 2

// Record captures what f launches, and launches it once. Package device refuses what has no place in a recording, and
// launches of closed graphs. Memory that is kept for later is returned to the driver first:
// while it records the driver lets nothing go, so that f has all that MemInfo calls free.
func (g *gpu) Record(f func() error) (backend.Graph, error) {
	rec := &graph{g: g}
	rec.pool.exact = g.pool.exact
	err := g.do(func() error {
		if err := g.wait(); err != nil { // an index error before the recording is not the recording's
			return err
		}
		if err := g.releaseAll(); err != nil {
			return err
		}
		err := g.call(cuStreamBeginCapture, g.stream, captureRelaxed)
		if err == nil {
			g.record = rec
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if g.record == rec { // f panicked
			_ = g.do(func() error { return rec.end(false) })
			_ = rec.Close()
		}
	}()
	ferr := f()
	err = g.do(func() error { return errors.Join(ferr, rec.end(ferr == nil)) })
	if err == nil {
		err = rec.Launch()
	}
	if err != nil {
		return nil, errors.Join(err, rec.Close())
	}
	return rec, nil
}

// end stops the capture and makes it executable.
func (r *graph) end(ok bool) error {
	g := r.g
	g.record = nil
	r.faults, g.mayFault = g.mayFault, false
	var captured uintptr
	if err := g.call(cuStreamEndCapture, g.stream, uintptr(unsafe.Pointer(&captured))); err != nil {
		return fmt.Errorf("%w (recording %v)", err, g.recent)
	}
	var err error
	if ok {
		err = g.call(cuGraphInstantiateWithFlags, uintptr(unsafe.Pointer(&r.exec)), captured, 0)
	}
	return errors.Join(err, g.call(cuGraphDestroy, captured))
}

// Launch does it again.
func (r *graph) Launch() error {
	g := r.g
	return g.do(func() error {
		g.mayFault = g.mayFault || r.faults
		g.note("a graph")
		t, one := &g.traffic, r.traffic
		t.Launches, t.Kernels, t.Bytes, t.FLOP = t.Launches+1, t.Kernels+one.Kernels, t.Bytes+one.Bytes, t.FLOP+one.FLOP
		return g.call(cuGraphLaunch, r.exec, g.stream)
	})
}

// Close ends the graph, after its launches, and gives back the memory that it kept.
func (r *graph) Close() error {
	g := r.g
	return g.do(func() error {
		var errs []error
		if r.exec != 0 {
			errs = append(errs, g.wait(), g.call(cuGraphExecDestroy, r.exec))
		}
		r.exec = 0
		for _, kept := range r.pool.free {
			for _, m := range kept {
				m.freed = true
			}
		}
		for _, m := range r.uses {
			if m.refs--; m.refs == 0 && m.freed {
				m.freed = false
				errs = append(errs, g.release(m))
			}
		}
		r.uses, r.pool.free = nil, nil
		return errors.Join(errs...)
	})
}
