package semidual

import (
	"coupling/ot/cost"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/geometry"
)

// Instance is a checked problem: normalised weights, and statistics of one scan of the costs.
type Instance struct {
	G    cost.Geometry
	N, M int
	A, B []float64
	Cost geometry.Stats

	Self   bool // the transport of a measure to itself
	Memory *Memory
}

// scanner is a geometry that scans its costs itself, and reports whether it could.
type scanner interface {
	ScanCosts(a, b []float64) (c geometry.Stats, done bool, err error)
}

// Scan reads every cost once.
func (in *Instance) Scan(workers int) (err error) {
	if d, ok := in.G.(scanner); ok {
		c, done, err := d.ScanCosts(in.A, in.B)
		if done || err != nil {
			in.Cost = c
			return err
		}
	}
	if x := Separate(in.G); x != nil {
		in.Cost, err = geometry.ScanSeparable(x, in.A, in.B, fault.OT)
		return err
	}
	scratch := func(w *Worker) []float64 { return w.Cost }
	in.Cost, err = geometry.Scan(in.G, in.A, in.B, NewSweep(in.G, workers, in.Memory), scratch, fault.OT)
	return err
}
