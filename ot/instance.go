package ot

import "coupling/ot/cost"

// instance is a checked problem: normalised weights, and statistics of one scan of the costs.
type instance struct {
	g    Geometry
	n, m int
	a, b []float64
	cost cost.Stats

	self   bool // the transport of a measure to itself
	memory *memory
}

// scanner is a geometry that scans its costs itself, and reports whether it could.
type scanner interface {
	ScanCosts(a, b []float64) (c cost.Stats, done bool, err error)
}

// scan reads every cost once.
func (in *instance) scan(workers int) (err error) {
	if d, ok := in.g.(scanner); ok {
		c, done, err := d.ScanCosts(in.a, in.b)
		if done || err != nil {
			in.cost = c
			return err
		}
	}
	scratch := func(w *worker) (costs, spare []float64) { return w.cost, w.exp }
	in.cost, err = cost.Scan(in.g, in.a, in.b, newSweep(in.g, workers, in.memory), scratch, bad)
	return err
}
