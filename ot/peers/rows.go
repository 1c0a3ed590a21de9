//go:build unix

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/barycentre"
	"coupling/ot/cost"
	"coupling/ot/exact"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
	"coupling/ot/ottest"
)

// arrays are the data set of a request of rows.py: files of float64, by name.
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

// problem is the entropic problem of two clouds, the weights being a and b; ratios are ε.
func (in arrays) problem(n int) *problem {
	a, b := in["a"], in["b"]
	p := &problem{&ottest.Timing{A: a, B: b, MeanCost: 1}, n, 0, nil}
	if in["x"] != nil {
		p.X, p.Y = in.matrix("x", len(a)), in.matrix("y", len(b))
		p.d = p.X.RawMatrix().Cols
	}
	if in["c"] != nil {
		p.cost = in.matrix("c", len(a))
	}
	return p
}

// row times what a request of rows.py asks for.
func (in arrays) row(q request) (r reply, err error) {
	var solve func() (reply, error)
	ctx, p := context.Background(), in.problem(q.N)
	switch q.Method {
	case "sparse":
		g := cost.Sparse(len(p.B), ints(in["starts"]), ints(in["targets"]), in["costs"])
		solve = func() (reply, error) {
			return value(exact.Simplex{}.Solve(ctx, ot.Problem{Geometry: g, A: p.A, B: p.B}))
		}
	case "line":
		solve = func() (r reply, err error) {
			r.Value, err = exact.Line{}.Value(in["x"], p.A, in["y"], p.B)
			return r, err
		}
	case "sliced":
		solve = func() (r reply, err error) {
			r.Value, err = exact.Sliced{}.Value(ctx, rand.New(rand.NewPCG(1, 2)), p.X, p.Y, p.A, p.B)
			return r, err
		}
	case "quadratic":
		solver := freg.Solver{F: fdiv.ChiSquare, Lambda: q.Ratio, Tol: q.Knob}
		solve = func() (reply, error) {
			plan, err := solver.Solve(ctx, ot.Problem{Geometry: ot.Dense(p.cost), A: p.A, B: p.B})
			if err != nil {
				return reply{}, err
			}
			return reply{Value: plan.Sharp, L1: plan.MarginalL1, Note: plan.Status.String()}, nil
		}
	case "barycentre":
		problems := in.images(q.N)
		solve = func() (reply, error) {
			out, err := barycentre.Fixed{Eps: q.Ratio, Tol: q.Knob}.Solve(ctx, problems, nil)
			if err != nil {
				return reply{}, err
			}
			return reply{Value: moment(out.B), L1: out.Error, Note: out.Status.String()}, nil
		}
	case "unbalanced":
		solver := ot.Unbalanced{Eps: q.Ratio, RhoA: q.Rho, RhoB: q.Rho, Tol: q.Knob}
		solve = func() (reply, error) {
			return sharp(solver.Solve(ctx, ot.Problem{Geometry: ot.Dense(p.cost), A: p.A, B: p.B}))
		}
	case "grid":
		axis := in.matrix("axis", q.N)
		prob := ot.Problem{Geometry: cost.Grid(axis, axis), A: p.A, B: p.B}
		solve = func() (reply, error) { return sharp(ot.LBFGS{Eps: q.Ratio, Tol: q.Knob}.Solve(ctx, prob)) }
	default:
		return p.answer(q)
	}
	var out reply
	r, err = clock(func() (err error) {
		out, err = solve()
		return err
	})
	out.Seconds, out.CPU = r.Seconds, r.CPU
	return out, err
}

// images are the barycentre's measures on n×n pixels.
func (in arrays) images(n int) (problems []ot.Problem) {
	axis := in.matrix("axis", n)
	for v := in["images"]; len(v) > 0; v = v[n*n:] {
		problems = append(problems, ot.Problem{Geometry: cost.Grid(axis, axis), A: v[:n*n]})
	}
	return problems
}

func value(plan *exact.Plan, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return reply{Value: plan.Value, Note: plan.Status.String()}, nil
}

func sharp(plan *ot.Plan, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return reply{Value: plan.Sharp(), L1: plan.MarginalL1, Note: plan.Status.String()}, nil
}

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
