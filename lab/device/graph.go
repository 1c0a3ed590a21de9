package device

import "fmt"

// Graph is a sequence of operations that was recorded once and is replayed as one launch. What the operations read and
// write is fixed: the same arrays each time.
type Graph struct {
	d *Device
	g interface {
		Launch() error
		Close() error
	}
}

// Record runs f, whose operations it does and records, and returns the recording, or nil when the device fails. f may
// make arrays and free them but not copy to or from the host; the memory it frees is kept for the graph until Close.
// On a CPU a graph calls f again, which gives the same.
func (d *Device) Record(f func()) *Graph {
	var g *Graph
	d.do("Record", func() error {
		rec, err := d.b.Record(func() error { f(); return d.Err() })
		if err == nil {
			g = &Graph{d: d, g: rec}
		}
		return err
	})
	return g
}

// Launch does it again. A nil graph, of a device that had failed, does nothing; one that was closed panics.
func (g *Graph) Launch() {
	if g == nil {
		return
	}
	if g.g == nil {
		panic("device: Launch: the graph is closed")
	}
	g.d.do("Launch", g.g.Launch)
}

// Close ends the graph, also on a device that has failed. A graph may be closed twice, and before its device.
func (g *Graph) Close() {
	if g == nil || g.g == nil || g.d.closed {
		return
	}
	if err := g.g.Close(); err != nil {
		g.d.fail(fmt.Errorf("device: Graph.Close: %w", err))
	}
	g.g = nil
}
