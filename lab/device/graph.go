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
func (d *Device) Record(f func()) *Graph {
	var g *Graph
	d.doOutside("Record", func() error {
		rec, err := d.b.Record(func() error { d.recorded(f); return d.Err() })
		if err == nil {
			g = &Graph{d: d, g: rec}
		}
		return err
	})
	return g
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

// recorded calls f and panics where it changes what lives.
func (d *Device) recorded(f func()) {
	d.record = &recording{first: d.made}
	defer func() { d.record = nil }()
	f()
	if n := d.record.alive; n > 0 && d.Err() == nil {
		panic(fmt.Sprintf("device: Record: %d arrays that were made in the recording outlive it: %s", n, d.since(d.record.first)))
	}
}

// since lists live arrays from a number on.
func (d *Device) since(first uint64) (list string) {
	for a := range d.live {
		if a.number >= first {
			list += fmt.Sprintf(" %v%v %s", a.t.Type, a.t.Shape, a.made)
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
	g.g = nil
}
