package main

import (
	"fmt"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/ot"

	"gonum.org/v1/gonum/mat"
)

// results are what a solve writes whatever else; a nil plan is not written.
type results struct {
	plan              *mat.Dense
	alpha, beta, f, g []float64
}

// claim ends the command if a file is in the way of the results.
func (c solveCmd) claim(f *durable.Folder) {
	names := []string{"alpha.npy", "beta.npy", "f.npy", "g.npy"}
	if !c.NoPlan {
		names = append(names, "plan.npy")
	}
	if c.Grad != "" {
		names = append(names, c.gradFile())
	}
	claim(f, names...)
}

func (c solveCmd) gradFile() string { return "grad_sharp_" + c.Grad + ".npy" }

// largePlan is the size of plan.npy from which the command says how large it is before it begins: 1 GiB.
const largePlan = 1 << 30

// warn says what will take gigabytes.
func (c solveCmd) warn(a *app, p ot.Problem) {
	n, m := p.Geometry.Dims()
	if size := 8 * float64(n) * float64(m); !c.NoPlan && size >= largePlan {
		fmt.Fprintf(a.err, "solve: plan.npy will be %.1f GB, in memory and in %s; --no-plan leaves it out\n",
			size/1e9, c.Out)
	}
}

// write writes results.
func (r results) write(f *durable.Folder) {
	if r.plan != nil {
		writeMatrix(f, "plan.npy", r.plan)
	}
	for name, v := range map[string][]float64{"alpha": r.alpha, "beta": r.beta, "f": r.f, "g": r.g} {
		writeNPY(f, name+".npy", []int{len(v)}, v)
	}
}

func (c solveCmd) writeGradient(f *durable.Folder, g *ot.Gradient) {
	m := (*mat.Dense)(nil)
	switch c.Grad {
	case "M":
		m = g.Cost()
	case "x":
		m = lab.Must(g.X())
	case "y":
		m = lab.Must(g.Y())
	}
	writeMatrix(f, c.gradFile(), m)
}
