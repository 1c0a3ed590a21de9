package main

import (
	"errors"
	"fmt"
	"time"

	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/durable"
	"coupling/ot"
	"coupling/ot/cost"

	"gonum.org/v1/gonum/mat"
)

type solveCmd struct {
	X          string   `placeholder:"FILE"`
	Y          string   `placeholder:"FILE"`
	CostMatrix string   `placeholder:"FILE"`
	A          string   `placeholder:"FILE"`
	B          string   `placeholder:"FILE"`
	Cost       string   `default:"sqeuclidean" enum:"${costs}"`
	Mix        float64  `default:"1" min:">-Inf" max:"<Inf"`
	Eps        *float64 `min:">0" max:"<Inf" placeholder:"EPS"`
	Solver     string   `default:"auto" enum:"${solvers},exact"`
	Tol        float64  `default:"1e-9" min:">0" max:"<Inf"`
	MaxIter    *int     `min:"1"`
	Device     string   `default:""`
	MatrixFree bool
	NoPlan     bool
	Grad       string `enum:",M,x,y" default:""`
	Out        string `required:"" placeholder:"DIR"`
	JSON       bool
}

// summary is what --json prints and summary.json holds.
type summary struct {
	Sources    int     `json:"sources"`
	Targets    int     `json:"targets"`
	Eps        float64 `json:"eps"` // 0 for exact
	Tol        float64 `json:"tol"`
	Solver     string  `json:"solver"`
	Status     string  `json:"status"`
	Iterations int     `json:"iterations"`
	Seconds    float64 `json:"seconds"`
	MarginalL1 float64 `json:"marginal_l1"`
	Sharp      float64 `json:"sharp"`
	RegKL      float64 `json:"reg_kl"`
	RegEntropy float64 `json:"reg_entropy"`
	Gradient   string  `json:"gradient,omitempty"` // the status of its linear system
	// Inputs holds the SHA-256 of each file read, by flag, and Files that of each file written, by name.
	Inputs map[string]string `json:"inputs"`
	Files  map[string]string `json:"files"`

	residual float64 // of it
}

func (c solveCmd) Run(a *app) error {
	lab.Check(usage(c.check()))
	in := a.inputs()
	prob := c.problem(in)
	if g, ok := prob.Geometry.(*ot.OnDevice); ok {
		defer g.Close()
	}
	out := openOut(c.Out, in)
	defer out.Close()
	c.claim(out)
	c.warn(a, prob)
	var s summary
	var err error
	if c.Solver == "exact" {
		s, err = c.exact(a.run.ctx, prob, out)
	} else {
		s, err = c.entropic(a, prob, out)
	}
	if err != nil && s.Status == "" {
		return blame(err)
	}
	s.Sources, s.Targets = prob.Geometry.Dims()
	s.Tol = c.Tol
	if c.Eps != nil {
		s.Eps = *c.Eps
	}
	s.Inputs, s.Files = in.digests(), out.Files()
	lab.Check(errors.Join(err, commit(out, s))) // err: an interrupted solve, the files of which are written
	lab.Check(c.print(a, s))
	return c.verdict(s)
}

// verdict is the error of a solve or a gradient that did not converge.
func (c solveCmd) verdict(s summary) error {
	converged := ot.Converged.String()
	switch {
	case s.Status != converged && c.Solver == "exact":
		return unconverged("solve: %s: the plan after %d pivots (--max-iter) has the marginals, but it is not known "+
			"to be optimal", s.Status, s.Iterations)
	case s.Status != converged:
		return unconverged("solve: %s: marginal error %.3g after %d iterations, wanted %.3g", s.Status, s.MarginalL1,
			s.Iterations, c.Tol)
	case s.Gradient != "" && s.Gradient != converged:
		return unconverged("solve: the plan converged and the gradient did not: %s at a relative residual of %.3g",
			s.Gradient, s.residual)
	}
	return nil
}

func (c solveCmd) check() error {
	switch points := c.X != "" && c.Y != ""; {
	case c.CostMatrix != "" && (c.X != "" || c.Y != ""):
		return errors.New("--cost-matrix and --x, --y: give one or the other")
	case c.CostMatrix == "" && !points:
		return errors.New("give --x and --y, or --cost-matrix")
	case c.CostMatrix != "" && (c.Grad == "x" || c.Grad == "y"):
		return fmt.Errorf("--grad %s: there are no points, only a cost matrix", c.Grad)
	case c.CostMatrix != "" && c.MatrixFree:
		return errors.New("--matrix-free: the costs are given as a matrix")
	case c.Solver == "exact" && c.Device != "":
		return errors.New("--device: exact runs on the processor")
	case c.Device != "" && c.MatrixFree:
		return errors.New("--device: devices make costs on the way wherever they can; leave out --matrix-free")
	case c.Solver == "exact" && c.Eps != nil:
		return fmt.Errorf("--eps %g: --solver exact does not use it; leave it out, or choose another solver", *c.Eps)
	case c.Mix != 1 && c.Cost != "l2sq+l1":
		return fmt.Errorf("--mix %g: it is used only with --cost l2sq+l1", c.Mix)
	case c.Solver == "exact" && (c.Grad == "x" || c.Grad == "y"):
		return fmt.Errorf("--grad %s: the exact loss is not differentiable in the points; use a solver with --eps",
			c.Grad)
	case c.Solver != "exact" && c.Eps == nil:
		return errors.New("--eps is missing: give a regularisation that is > 0, in units of cost, or --solver exact")
	}
	return nil
}

func (c solveCmd) problem(in *inputs) (p ot.Problem) {
	p.Geometry = c.geometry(in)
	a, b := in.weights("a", c.A), in.weights("b", c.B)
	lab.Check(usage(c.sizes(in, len(a), len(b))))
	lab.Check(usage(blame(cost.Check(p.Geometry))))
	var err error
	p.A, p.B, err = sameMass(a, b)
	lab.Check(usage(err))
	return p
}

func (c solveCmd) sizes(in *inputs, a, b int) error {
	rows, columns := "x", "y"
	n, m := 0, 0
	if costs, ok := in.read["cost-matrix"]; ok {
		rows, columns = "cost-matrix", "cost-matrix"
		n, m = costs.X.Dims()
	} else {
		var d, e int
		n, d = in.read["x"].X.Dims()
		if m, e = in.read["y"].X.Dims(); d != e {
			return fmt.Errorf("--x has points of %s, --y of %d: must be equal", plural(d, "dimension"), e)
		}
	}
	for _, side := range []struct {
		weights, of, what string
		have, want        int
	}{{"a", rows, "source", a, n}, {"b", columns, "target", b, m}} {
		if side.have != 0 && side.have != side.want {
			return fmt.Errorf("--%s has %s, --%s %s: must be as many",
				side.weights, plural(side.have, "weight"), side.of, plural(side.want, side.what))
		}
	}
	return nil
}

// costs are those that --cost names.
func (c solveCmd) costs() map[string]cost.PointCost {
	return map[string]cost.PointCost{
		"sqeuclidean": ot.SqEuclidean, "l1": ot.L1, "euclidean": ot.Euclidean, "cosine": ot.Cosine,
		"l2sq+l1": cost.SqEuclideanL1(c.Mix),
	}
}

func (c solveCmd) geometry(files *inputs) cost.Geometry {
	var in []*mat.Dense // the costs, or two clouds
	if c.CostMatrix != "" {
		in = append(in, files.matrix("cost-matrix", c.CostMatrix))
	} else {
		in = append(in, files.points("x", c.X), files.points("y", c.Y))
	}
	var dev *device.Device
	if c.Device != "" {
		dev = orUsage(device.Open(c.Device))
	}
	cost := c.costs()[c.Cost]
	switch {
	case len(in) == 1 && dev != nil:
		return ot.DenseOn(dev, in[0])
	case len(in) == 1:
		return ot.Dense(in[0])
	case dev != nil:
		return ot.PointsOn(dev, in[0], in[1], cost)
	case c.MatrixFree:
		return ot.MatrixFree(in[0], in[1], cost)
	}
	return ot.Points(in[0], in[1], cost)
}

// solvers are those that --solver names beside exact.
func (c solveCmd) solvers(eps float64, control ot.Control) map[string]ot.Solver {
	return map[string]ot.Solver{
		"auto":    ot.LBFGS{Eps: eps, Tol: c.Tol, Control: control},
		"scaling": ot.Scaling{Eps: eps, Tol: c.Tol, Control: control},
		"log":     ot.Sinkhorn{Eps: eps, Tol: c.Tol, Control: control},
		"lbfgs":   ot.LBFGS{Eps: eps, Tol: c.Tol, Control: control},
		"newton":  ot.Newton{Eps: eps, Tol: c.Tol, Control: control},
	}
}

func (c solveCmd) entropic(a *app, p ot.Problem, to *durable.Folder) (summary, error) {
	trace, clear := stepLine(a)
	defer clear()
	solver := c.solvers(*c.Eps, ot.Control{MaxIter: given(c.MaxIter), Trace: trace})[c.Solver]
	began := time.Now()
	plan, stopped := solver.Solve(a.run.ctx, p)
	if plan == nil {
		return summary{}, stopped
	}
	seconds := time.Since(began).Seconds()
	clear()
	v := plan.Value()
	s := summary{
		Solver:     plan.Solver,
		Status:     plan.Status.String(),
		Iterations: plan.Iterations,
		Seconds:    seconds,
		MarginalL1: plan.MarginalL1,
		Sharp:      v.Sharp,
		RegKL:      v.RegKL,
		RegEntropy: v.RegEntropy,
	}
	out := results{alpha: plan.Alpha, beta: plan.Beta, f: plan.F, g: plan.G}
	if !c.NoPlan {
		out.plan = plan.Matrix()
	}
	out.write(to)
	if stopped != nil || c.Grad == "" {
		return s, stopped
	}
	g, err := ot.Backward{}.Gradient(a.run.ctx, plan, ot.Sharp)
	if err != nil {
		return s, err
	}
	s.Gradient, s.residual = g.Status.String(), g.Residual
	c.writeGradient(to, g)
	return s, nil
}

func (c solveCmd) print(a *app, s summary) error {
	if c.JSON {
		return writeJSON(a, s)
	}
	a.printf("%s: %s after %d iterations, %.3g s\nmarginal error   %.3g\n<T,M>            %.15g\n",
		s.Solver, s.Status, s.Iterations, s.Seconds, s.MarginalL1, s.Sharp)
	if c.Solver != "exact" {
		a.printf("+ eps KL(T|ab')  %.15g\n+ eps sum TlogT  %.15g\n", s.RegKL, s.RegEntropy)
	}
	what := "the plan and its potentials"
	if c.NoPlan {
		what = "the potentials"
	}
	a.printf("wrote %s to %s\n", what, c.Out)
	return nil
}

// stepLine returns a trace that shows the newest step on a terminal, and a
// function that removes the line.
func stepLine(a *app) (trace func(ot.Step) error, clear func()) {
	status := a.status(0)
	return func(s ot.Step) error {
		status.say(fmt.Sprintf("%d iterations, eps %.3g, marginal error %.3g", s.Iteration, s.Eps, s.MarginalL1))
		return nil
	}, status.clear
}

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

// warn warns of what will take gigabytes.
func (c solveCmd) warn(a *app, p ot.Problem) {
	n, m := p.Geometry.Dims()
	if size := 8 * float64(n) * float64(m); !c.NoPlan && size >= largePlan {
		a.note("solve: plan.npy will be %.1f GB, in memory and in %s; --no-plan leaves it out\n", size/1e9, c.Out)
	}
}

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
