//go:build unix

// Peers times this module's solvers on the timing problems, one request at a time, so that peers.py can run them beside
// other libraries on the same machine in the same minutes.
//
//	go run ./ot/peers ../shared/refs/ot-bench
//
// Each line of standard input is a JSON request, for example
//
//	{"method": "auto", "n": 1024, "d": 2, "ratio": 0.01, "knob": 1e-6}
//
// and each is answered by a line of JSON. Knob is the solver's Tol, and ratio is ε over the mean cost; 0 is for the
// method "exact". The costs are in memory before the clock starts, except for the method "free" and for losses with
// their gradient by x, which begin at the points: "loss reg_kl", "loss sharp", "divergence reg_kl", "divergence sharp".
// A request of rows.py names the folder of its arrays, and its ratio is ε.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/exact"
	"coupling/ot/ottest"
)

// A request asks for one solve.
type request struct {
	Method string  `json:"method"`
	Dir    string  `json:"dir"`
	N      int     `json:"n"`
	D      int     `json:"d"`
	Ratio  float64 `json:"ratio"`
	Rho    float64 `json:"rho"`
	Knob   float64 `json:"knob"`
}

// A reply holds the times, and the marginal error and value of the plan by a separate pass.
type reply struct {
	Seconds     float64 `json:"seconds"`
	CPU         float64 `json:"cpu"`
	L1          float64 `json:"l1"`
	Value       float64 `json:"value"`
	Gradient    float64 `json:"gradient"` // its norm
	Evaluations int     `json:"evaluations"`
	Note        string  `json:"note"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: peers DIR")
	}
	if err := serve(os.Args[1], os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// serve answers requests until the input ends.
func serve(dir string, in io.Reader, out io.Writer) error {
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	var p *problem
	var data arrays
	read := ""
	for {
		var q request
		err := requests.Decode(&q)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
		case q.Dir != "":
			if q.Dir != read {
				data, err = readArrays(q.Dir)
				read = q.Dir
			}
		case p == nil || p.n != q.N || p.d != q.D:
			p, err = load(dir, q.N, q.D)
		}
		if err != nil {
			return err
		}
		answer := p.answer
		if q.Dir != "" {
			answer = data.row
		}
		r, err := answer(q)
		if err != nil {
			r = reply{L1: -1, Note: err.Error()} // JSON has no NaN
		}
		if err := replies.Encode(r); err != nil {
			return err
		}
	}
}

// A problem is one of the timing problems with its costs.
type problem struct {
	*ottest.Timing
	n, d int
	cost *mat.Dense
}

func load(dir string, n, d int) (*problem, error) {
	t, err := ottest.ReadTiming(dir, n, d)
	if err != nil {
		return nil, err
	}
	return &problem{t, n, d, ot.Cost(ot.Points(t.X, t.Y, ot.SqEuclidean))}, nil
}

// answer solves by the method asked for and checks the plan.
func (p *problem) answer(q request) (reply, error) {
	if q.Method == "exact" {
		return p.exact()
	}
	if what, loss, ok := strings.Cut(q.Method, " "); ok {
		return p.gradient(q, what, loss)
	}
	eps, prob := q.Ratio*p.MeanCost, ot.Problem{Geometry: ot.Dense(p.cost), A: p.A, B: p.B}
	if q.Method == "free" {
		prob.Geometry = ot.MatrixFree(p.X, p.Y, ot.SqEuclidean)
	}
	lbfgs := ot.LBFGS{Eps: eps, Tol: q.Knob}
	s, known := map[string]ot.Solver{
		"auto":     lbfgs,
		"lbfgs":    lbfgs,
		"free":     lbfgs,
		"newton":   ot.Newton(lbfgs),
		"sinkhorn": ot.Sinkhorn{Eps: eps, Tol: q.Knob},
		"scaling":  ot.Scaling{Eps: eps, Tol: q.Knob},
	}[q.Method]
	if !known {
		return reply{}, fmt.Errorf("method = %q: unknown", q.Method)
	}
	var plan *ot.Plan
	r, err := clock(func() (err error) {
		plan, err = s.Solve(context.Background(), prob)
		return err
	})
	if err != nil {
		return r, err
	}
	ones := func(n int) []float64 { return slices.Repeat([]float64{1}, n) }
	rows, columns := plan.Apply(ones(len(p.B))), plan.ApplyT(ones(len(p.A)))
	r.L1 = floats.Distance(rows, plan.A, 1) + floats.Distance(columns, plan.B, 1)
	r.Value, r.Evaluations, r.Note = plan.Sharp(), plan.Evaluations, fmt.Sprint(plan.Status, ", ", plan.Solver)
	return r, nil
}

// gradient evaluates a loss with its gradient by the sources, as a step of a training loop does.
func (p *problem) gradient(q request, what, loss string) (reply, error) {
	of := ot.Objective{Solver: ot.LBFGS{Eps: q.Ratio * p.MeanCost, Tol: q.Knob}, Loss: ot.RegKL}
	if loss == ot.Sharp.String() {
		of.Loss = ot.Sharp
	}
	ctx, div, term := context.Background(), &ot.Divergence{Of: of}, &ot.Divergences{}
	r, err := clock(func() (err error) {
		if what == "divergence" {
			term, err = div.Eval(ctx, p.X, p.Y, p.A, p.B, ot.SqEuclidean, ot.ByX)
			return err
		}
		term.AB, err = of.Eval(ctx, p.X, p.Y, p.A, p.B, ot.SqEuclidean, ot.ByX)
		term.Value, term.X = term.AB.Value, term.AB.X
		return err
	})
	if err != nil {
		return r, err
	}
	r.Value, r.Gradient, r.L1, r.Note = term.Value, mat.Norm(term.X, 2), term.AB.MarginalL1, term.AB.Status.String()
	return r, nil
}

// exact solves without regularisation.
func (p *problem) exact() (reply, error) {
	var s *exact.Plan
	r, err := clock(func() (err error) {
		s, err = exact.Simplex{}.Solve(context.Background(), ot.Problem{Geometry: ot.Dense(p.cost), A: p.A, B: p.B})
		return err
	})
	if err != nil {
		return r, err
	}
	r.Value, r.Note = s.Value, s.Status.String()
	return r, nil
}

// clock runs f and returns its wall and processor seconds.
func clock(f func() error) (reply, error) {
	runtime.GC()
	cpu, wall := processor(), time.Now()
	err := f()
	return reply{Seconds: time.Since(wall).Seconds(), CPU: (processor() - cpu).Seconds()}, err
}

// processor returns the processor time that the process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
