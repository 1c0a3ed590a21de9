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

// Record runs f, whose operations it does and records, and returns the recording, or nil when the device fails. The
// memory that f frees is kept for the graph until Close.
//
// Launch does what f asked for when it was recorded, and does not call f: on a CPU too, where it allocates nothing, so
// that a step of a small network costs its arithmetic alone. f leaves what lives as it found it: an array that f makes
// and does not free, or frees and did not make, is a mistake and panics (make intermediates inside a Scope of f, results
// outside). Copies to or from the host, Sync, and other graphs have no place in a recording; they fail with an error, and
// nothing is recorded. What Record cannot see is what f does to variables of the program: numbers that change from launch
// to launch are in arrays.
//
// A recording starts by waiting for what was asked before, and with all free memory; a step that also runs unrecorded
// runs so first.
func (d *Device) Record(f func()) *Graph { return d.recordGraph(f, false) }

// recordGraph is Record. With keep, arrays that f makes and does not free are the graph's: they live until Close, and each
// launch writes them.
func (d *Device) recordGraph(f func(), keep bool) (g *Graph) {
	d.doOutside("Record", func() error {
		var kept []*Array
		rec, err := d.b.Record(func() error { kept = d.recorded(f, keep); return d.Err() })
		if err == nil {
			g = &Graph{d: d, g: rec, kept: kept}
		}
		return err
	})
	return g
}

// A Replay does the same work many times: as it is the first time, recorded the second, and from then on as one launch.
// The zero value is ready.
type Replay struct {
	graph *Graph
	warm  bool
}

// Do does f, for which the rules of Record hold, but that arrays which f makes and leaves are for the caller to read: those
// of the first call belong to the caller's Scope, later ones to the Replay until Close, and the same hold the results of
// every later call. f is the same each time.
func (r *Replay) Do(d *Device, f func()) {
	switch {
	case !r.warm:
		f()
		r.warm = true
	case r.graph == nil:
		r.graph = d.recordGraph(f, true)
	default:
		r.graph.Launch()
	}
}

// Close frees what the recording kept. A Replay may be closed twice, and begins again if it is used after that.
func (r *Replay) Close() {
	r.graph.Close()
	*r = Replay{}
}

// recording is what a recording, or its replay on a CPU, makes and frees.
type recording struct {
	first uint64 // number of the first array that it makes
	alive int    // of those that it made
}

// errRecording is what a recording cannot hold.
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

// recorded calls f and returns the arrays that it made and left, which must be none unless they are to be kept.
func (d *Device) recorded(f func(), keep bool) (kept []*Array) {
	d.record = &recording{first: d.made}
	defer func() { d.record = nil }()
	if keep {
		s := d.Scope()
		defer s.Close()
		f()
		if d.Err() == nil {
			kept, s.arrays = s.arrays, nil
		}
		return kept
	}
	f()
	if n := d.record.alive; n > 0 && d.Err() == nil {
		panic(fmt.Sprintf("device: Record: %d arrays that were made in the recording outlive it: %s", n, d.since(d.record.first)))
	}
	return nil
}

// since lists live arrays from a number on.
func (d *Device) since(first uint64) (list string) {
	for a := range d.live {
		if a.number >= first {
			list += fmt.Sprintf(" %v%v %s", a.t.Type, a.t.Shape, caller(a.made))
		}
	}
	return list
}

// enter notes a new array.
func (r *recording) enter() {
	if r != nil {
		r.alive++
	}
}

// leave notes that an array is freed.
func (r *recording) leave(a *Array) {
	if r == nil {
		return
	}
	if a.number < r.first {
		panic(fmt.Sprintf("device: Free: %v%v was made before the recording", a.t.Type, a.t.Shape))
	}
	r.alive--
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
	for _, a := range g.kept {
		if !a.freed {
			a.release()
		}
	}
	g.g, g.kept = nil, nil
}
