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
// method "exact". The costs are in memory before the clock starts, except for the method "free".
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/exact"
)

// A request asks for one solve.
type request struct {
	Method string  `json:"method"`
	N      int     `json:"n"`
	D      int     `json:"d"`
	Ratio  float64 `json:"ratio"`
	Knob   float64 `json:"knob"`
}

// A reply says what it took, and the marginal error and value that the plan has by a pass of its own.
type reply struct {
	Seconds     float64 `json:"seconds"`
	CPU         float64 `json:"cpu"`
	L1          float64 `json:"l1"`
	Value       float64 `json:"value"`
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
	for {
		var q request
		if err := requests.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p == nil || p.n != q.N || p.d != q.D {
			var err error
			if p, err = load(dir, q.N, q.D); err != nil {
				return err
			}
		}
		r, err := p.answer(q)
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
	n, d int
	x, y *mat.Dense
	a, b []float64
	cost *mat.Dense
	mean float64 // of the cost under a⊗b
}

func load(dir string, n, d int) (*problem, error) {
	p := &problem{n: n, d: d}
	var x, y []float64
	for name, v := range map[string]*[]float64{"x": &x, "y": &y, "a": &p.a, "b": &p.b} {
		size := n
		if name == "x" || name == "y" {
			size = n * d
		}
		var err error
		if *v, err = readFloats(filepath.Join(dir, fmt.Sprintf("n%d_d%d_%s.f64", n, d, name)), size); err != nil {
			return nil, err
		}
	}
	p.x, p.y = mat.NewDense(n, d, x), mat.NewDense(n, d, y)
	p.cost = ot.Cost(ot.Points(p.x, p.y, ot.SqEuclidean))
	p.mean = mat.Inner(mat.NewVecDense(n, p.a), p.cost, mat.NewVecDense(n, p.b))
	return p, nil
}

// readFloats reads a file of exactly size little-endian float64.
func readFloats(path string, size int) ([]float64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) != 8*size {
		return nil, fmt.Errorf("%s: %d bytes, want %d", path, len(data), 8*size)
	}
	v := make([]float64, size)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return v, nil
}

// answer solves by the method asked for and checks the plan.
func (p *problem) answer(q request) (reply, error) {
	if q.Method == "exact" {
		return p.exact()
	}
	eps, workers := q.Ratio*p.mean, runtime.GOMAXPROCS(0)
	prob := ot.Problem{Geometry: ot.Dense(p.cost), A: p.a, B: p.b}
	var s ot.Solver
	switch q.Method {
	case "auto", "lbfgs":
		s = ot.LBFGS{Eps: eps, Tol: q.Knob, Workers: workers}
	case "newton":
		s = ot.Newton{Eps: eps, Tol: q.Knob, Workers: workers}
	case "sinkhorn":
		s = ot.Sinkhorn{Eps: eps, Tol: q.Knob, Workers: workers}
	case "scaling":
		s = ot.Scaling{Eps: eps, Tol: q.Knob, Workers: workers}
	case "free":
		s = ot.LBFGS{Eps: eps, Tol: q.Knob, Workers: workers}
		prob.Geometry = ot.MatrixFree(p.x, p.y, ot.SqEuclidean)
	default:
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
	ones := make([]float64, p.n)
	for i := range ones {
		ones[i] = 1
	}
	r.L1 = l1(plan.Apply(ones), plan.A) + l1(plan.ApplyT(ones), plan.B)
	r.Value, r.Evaluations, r.Note = plan.Sharp(), plan.Evaluations, fmt.Sprint(plan.Status, ", ", plan.Solver)
	return r, nil
}

// exact solves without regularisation.
func (p *problem) exact() (reply, error) {
	var s *exact.Solution
	r, err := clock(func() (err error) {
		s, err = exact.Simplex{}.Solve(context.Background(), p.a, p.b, exact.Matrix(p.cost))
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

func l1(v, w []float64) float64 {
	var s float64
	for i := range v {
		s += math.Abs(v[i] - w[i])
	}
	return s
}
