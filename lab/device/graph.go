package device

import (
	"errors"
	"fmt"
)

// Graph is a sequence of operations that was recorded once and is replayed as one launch. What the operations read and
// write is fixed: the same arrays each time.
type Graph struct {
	d *Device
	g interface {
		Launch() error
		Close() error
	}
	kept []*Array // made when it was recorded, and not freed
}

// Record runs f, whose operations it does and records, and returns the recording, or nil when the
// device fails. The memory that f frees is kept for the graph until Close. Arrays that f makes and
// leaves are the graph's: they hold what its latest launch wrote, and Close frees them.
//
// Launch does what f asked for when it was recorded, and does not call f: on a CPU too, where it
// allocates nothing, so that a step of a small network costs its arithmetic alone. To free an array
// that f did not make is a mistake and panics. Copies to or from the host, Sync, and other graphs
// have no place in a recording; they fail with an error, and nothing is recorded. What Record
// cannot see is what f does to variables of the program: numbers that change from launch to launch
// are in arrays.
//
// A recording starts by waiting for earlier operations, and with all free memory; a step that also runs unrecorded
// runs so first, as Replay does.
func (d *Device) Record(f func()) (g *Graph) {
	d.doOutside("Record", func() error {
		var kept []*Array
		rec, err := d.b.Record(func() error { kept = d.recorded(f); return d.Err() })
		if err != nil {
			release(kept)
			return err
		}
		g = &Graph{d: d, g: rec, kept: kept}
		return nil
	})
	return g
}

// A Replay does the same work many times: as it is the first time, recorded the second, and from then on as one launch.
// The zero value is ready.
type Replay struct {
	graph *Graph
	warm  bool
}

// Do does f, for which the rules of Record hold, the same each time. What the first call makes and
// leaves belongs to the caller's Scope; what the second leaves is the recording's, and holds the
// results of every later call.
func (r *Replay) Do(d *Device, f func()) {
	switch {
	case !r.warm:
		f()
		r.warm = true
	case r.graph == nil:
		r.graph = d.Record(f)
	default:
		r.graph.Launch()
	}
}

// Close frees what the recording kept. A Replay may be closed twice, and begins again if it is used after that.
func (r *Replay) Close() {
	r.graph.Close()
	*r = Replay{}
}

// recording is one that is under way.
type recording struct {
	first uint64 // number of the first array that it makes
}

// errRecording reports a call that cannot be recorded.
var errRecording = errors.New("not within a recording")

// doOutside runs an operation that cannot be recorded.
func (d *Device) doOutside(op string, f func() error) {
	d.do(op, func() error {
		if d.record != nil {
			return errRecording
		}
		return f()
	})
}

// recorded calls f and returns the arrays that it made and left.
func (d *Device) recorded(f func()) (kept []*Array) {
	d.record = &recording{first: d.made}
	defer func() { d.record = nil }()
	s := d.Scope()
	defer s.Close()
	f()
	if d.Err() == nil {
		kept, s.arrays = s.arrays, nil
	}
	return kept
}

// release frees those that are not freed yet.
func release(arrays []*Array) {
	for _, a := range arrays {
		if !a.freed {
			a.release()
		}
	}
}

// leave looks at an array that is freed.
func (r *recording) leave(a *Array) {
	if r != nil && a.number < r.first {
		panic(fmt.Sprintf("device: Free: %v%v was made before the recording", a.t.Type, a.t.Shape))
	}
}

// Launch does it again. A nil graph, of a device that had failed, does nothing; one that was closed panics.
func (g *Graph) Launch() {
	if g == nil {
		return
	}
	if g.g == nil {
		panic("device: Launch: the graph is closed")
	}
	g.d.doOutside("Launch", g.g.Launch)
}

// Close ends the graph, also on a device that has failed. A graph may be closed twice, and before its device.
func (g *Graph) Close() {
	if g == nil || g.g == nil || g.d.closed {
		return
	}
	if g.d.record != nil {
		g.d.fail(fmt.Errorf("device: Graph.Close: %w", errRecording))
		return
	}
	if err := g.g.Close(); err != nil {
		g.d.fail(fmt.Errorf("device: Graph.Close: %w", err))
	}
	release(g.kept)
	g.g, g.kept = nil, nil
}
