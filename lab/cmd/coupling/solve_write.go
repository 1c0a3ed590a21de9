package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"coupling/ot"

	"gonum.org/v1/gonum/mat"
)

// results are what a solve writes whatever else; a nil plan is not written.
type results struct {
	plan              *mat.Dense
	alpha, beta, f, g []float64
}

// resultFiles are all that any solve writes.
var resultFiles = []string{"plan", "alpha", "beta", "f", "g", "grad_sharp_M", "grad_sharp_x", "grad_sharp_y"}

// file is the path of a result.
func (c solveCmd) file(name string) string { return filepath.Join(c.Out, name+".npy") }

// write writes results in place of those of any earlier solve, all of which it removes first: what is in the folder
// belongs together.
func (c solveCmd) write(r results) error {
	for _, name := range resultFiles {
		if err := os.Remove(c.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if r.plan != nil {
		if err := writeMatrix(c.file("plan"), r.plan); err != nil {
			return err
		}
	}
	for name, v := range map[string][]float64{"alpha": r.alpha, "beta": r.beta, "f": r.f, "g": r.g} {
		if err := writeNPY(c.file(name), []int{len(v)}, v); err != nil {
			return err
		}
	}
	return nil
}

func (c solveCmd) writeGradient(g *ot.Gradient) (err error) {
	m := (*mat.Dense)(nil)
	switch c.Grad {
	case "M":
		m = g.Cost()
	case "x":
		m, err = g.X()
	case "y":
		m, err = g.Y()
	}
	if err != nil {
		return err
	}
	return writeMatrix(c.file("grad_sharp_"+c.Grad), m)
}
