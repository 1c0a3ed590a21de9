//go:build unix

// Peers times this module's solvers on arrays in files, one request at a time, so that rows.py can run them beside
// other libraries on the same machine in the same minutes.
//
//	go run ./ot/peers
//
// Each line of standard input is a JSON request, for example
//
//	{"method": "auto", "dir": "/tmp/problem", "ratio": 0.01, "knob": 1e-6}
//
// and each is answered by a line of JSON. The folder has the weights a.f64 and b.f64, costs c.f64 or points x.f64 and
// y.f64, and whatever else the method reads, as float64. Ratio is ε, or λ, and knob the Tol. What the folder has is in
// memory before the clock starts; "free" and the losses with their gradient by x, such as "loss sharp" and
// "divergence reg_kl", begin at the points.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/barycentre"
	"coupling/ot/cost"
	"coupling/ot/exact"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
)

// A request asks for one solve.
type request struct {
	Method string  `json:"method"`
	Dir    string  `json:"dir"`
	N      int     `json:"n"` // pixels of an axis
	Ratio  float64 `json:"ratio"`
	Rho    float64 `json:"rho"`
	Knob   float64 `json:"knob"`
}

// A reply holds the times, and the marginal error and value of the plan.
type reply struct {
	Seconds  float64 `json:"seconds"`
	CPU      float64 `json:"cpu"`
	L1       float64 `json:"l1"`
	Value    float64 `json:"value"`
	Gradient float64 `json:"gradient"` // its norm
	Note     string  `json:"note"`
}

func main() {
	log.SetFlags(0)
	if err := serve(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// serve answers requests until the input ends.
func serve(in io.Reader, out io.Writer) error {
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	var data arrays
	read := ""
	for {
		var q request
		err := requests.Decode(&q)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && (data == nil || q.Dir != read) {
			data, err = readArrays(q.Dir)
			read = q.Dir
		}
		if err != nil {
			return err
		}
		r, err := data.answer(q)
		if err != nil {
			r = reply{L1: -1, Note: err.Error()} // JSON has no NaN
		}
		if err := replies.Encode(r); err != nil {
			return err
		}
	}
}

// arrays are the data set of a request, by name.
type arrays map[string][]float64

func readArrays(dir string) (arrays, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.f64"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no arrays", dir)
	}
	if err != nil {
		return nil, err
	}
	in := arrays{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		v := make([]float64, len(data)/8)
		if _, err := binary.Decode(data, binary.LittleEndian, v); err != nil {
			return nil, err
		}
		in[strings.TrimSuffix(filepath.Base(path), ".f64")] = v
	}
	return in, nil
}

// matrix is an array by rows.
func (in arrays) matrix(name string, rows int) *mat.Dense {
	v := in[name]
	return mat.NewDense(rows, len(v)/rows, v)
}

// points are the sources and targets.
func (in arrays) points() (x, y *mat.Dense) {
	return in.matrix("x", len(in["a"])), in.matrix("y", len(in["b"]))
}

// geometry is what the costs are read from.
func (in arrays) geometry(q request) cost.Geometry {
	switch q.Method {
	case "free":
		x, y := in.points()
		return ot.MatrixFree(x, y, ot.SqEuclidean)
	case "sparse":
		return cost.Sparse(len(in["b"]), ints(in["starts"]), ints(in["targets"]), in["costs"])
	case "grid", "barycentre":
		axis := in.matrix("axis", q.N)
		return cost.Grid(axis, axis)
	}
	if in["c"] == nil {
		return nil
	}
	return ot.Dense(in.matrix("c", len(in["a"])))
}

// answer solves by the method asked for, on the clock, and looks at the result.
func (in arrays) answer(q request) (reply, error) {
	ctx, a, b := context.Background(), in["a"], in["b"]
	prob := ot.Problem{Geometry: in.geometry(q), A: a, B: b}
	lbfgs := ot.LBFGS{Eps: q.Ratio, Tol: q.Knob}
	solver := map[string]ot.Solver{
		"auto":       lbfgs,
		"free":       lbfgs,
		"grid":       lbfgs,
		"newton":     ot.Newton(lbfgs),
		"scaling":    ot.Scaling{Eps: q.Ratio, Tol: q.Knob},
		"unbalanced": ot.Unbalanced{Eps: q.Ratio, RhoA: q.Rho, RhoB: q.Rho, Tol: q.Knob},
	}[q.Method]
	if solver != nil {
		return clock(func() (*ot.Plan, error) { return solver.Solve(ctx, prob) }, entropic)
	}
	if what, loss, ok := strings.Cut(q.Method, " "); ok {
		return in.gradient(lbfgs, what, loss)
	}
	switch q.Method {
	case "exact", "sparse":
		return clock(func() (*exact.Plan, error) { return exact.Simplex{}.Solve(ctx, prob) },
			func(p *exact.Plan) reply { return reply{Value: p.Value, Note: p.Status.String()} })
	case "line":
		return clock(func() (float64, error) { return exact.Line{}.Value(in["x"], a, in["y"], b) }, number)
	case "sliced":
		x, y := in.points()
		rng := rand.New(rand.NewPCG(1, 2))
		return clock(func() (float64, error) { return exact.Sliced{}.Value(ctx, rng, x, y, a, b) }, number)
	case "quadratic":
		solver := freg.Solver{F: fdiv.ChiSquare, Lambda: q.Ratio, Tol: q.Knob}
		return clock(func() (*freg.Plan, error) { return solver.Solve(ctx, prob) },
			func(p *freg.Plan) reply { return reply{Value: p.Sharp, L1: p.MarginalL1, Note: p.Status.String()} })
	case "barycentre":
		var images []ot.Problem
		for v := range slices.Chunk(in["images"], q.N*q.N) {
			images = append(images, ot.Problem{Geometry: prob.Geometry, A: v})
		}
		solver := barycentre.Fixed{Eps: q.Ratio, Tol: q.Knob}
		return clock(func() (*barycentre.Result, error) { return solver.Solve(ctx, images, nil) },
			func(r *barycentre.Result) reply {
				return reply{Value: moment(r.B), L1: r.Error, Note: r.Status.String()}
			})
	}
	return reply{}, fmt.Errorf("method = %q: unknown", q.Method)
}

// gradient evaluates a loss with its gradient by the sources, as a step of a training loop does.
func (in arrays) gradient(solver ot.LBFGS, what, loss string) (reply, error) {
	of := ot.Objective{Solver: solver, Loss: ot.RegKL}
	if loss == ot.Sharp.String() {
		of.Loss = ot.Sharp
	}
	ctx, div := context.Background(), &ot.Divergence{Of: of}
	x, y := in.points()
	return clock(func() (*ot.Divergences, error) {
		if what == "divergence" {
			return div.Eval(ctx, x, y, in["a"], in["b"], ot.SqEuclidean, ot.ByX)
		}
		t, err := of.Eval(ctx, x, y, in["a"], in["b"], ot.SqEuclidean, ot.ByX)
		if err != nil {
			return nil, err
		}
		return &ot.Divergences{Value: t.Value, X: t.X, Status: t.Status, AB: t}, nil
	}, func(d *ot.Divergences) reply {
		return reply{Value: d.Value, Gradient: mat.Norm(d.X, 2), L1: d.AB.MarginalL1, Note: d.Status.String()}
	})
}

// clock runs solve, and adds its wall and processor seconds to what look says of the result.
func clock[T any](solve func() (T, error), look func(T) reply) (reply, error) {
	runtime.GC()
	cpu, wall := processor(), time.Now()
	result, err := solve()
	seconds, used := time.Since(wall), processor()-cpu
	if err != nil {
		return reply{}, err
	}
	r := look(result)
	r.Seconds, r.CPU = seconds.Seconds(), used.Seconds()
	return r, nil
}

// processor returns the processor time that the process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// entropic measures a plan's marginals by a pass of its own; those of unbalanced transport have no aim, and its error
// is what the solver says.
func entropic(p *ot.Plan) reply {
	r := reply{L1: p.MarginalL1, Value: p.Sharp(), Note: fmt.Sprint(p.Status, ", ", p.Solver)}
	if p.Solver != "unbalanced" {
		rows := p.Apply(slices.Repeat([]float64{1}, len(p.B)))
		columns := p.ApplyT(slices.Repeat([]float64{1}, len(p.A)))
		r.L1 = floats.Distance(rows, p.A, 1) + floats.Distance(columns, p.B, 1)
	}
	return r
}

func number(v float64) reply { return reply{Value: v} }

// moment is a number of an image by which two can be told apart.
func moment(b []float64) (sum float64) {
	for i, v := range b {
		sum += v * float64(i*i) / float64(len(b)*len(b))
	}
	return sum
}

func ints(v []float64) []int {
	out := make([]int, len(v))
	for i, x := range v {
		out[i] = int(x)
	}
	return out
}
