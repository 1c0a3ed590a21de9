package freg_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
)

// Every bad input is an error of the right kind that names the argument.
func TestBadInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	c := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	ok := ot.Problem{Geometry: ot.Dense(c)}
	cost := func(v float64) ot.Problem {
		d := mat.DenseCopyOf(c)
		d.Set(1, 2, v)
		return ot.Problem{Geometry: ot.Dense(d)}
	}
	with := func(a, b []float64) ot.Problem { return ot.Problem{Geometry: ok.Geometry, A: a, B: b} }
	one := freg.Solver{Lambda: 1}
	for _, tc := range []struct {
		name  string
		s     freg.Solver
		p     ot.Problem
		kind  error
		names string
	}{
		{"lambda 0", freg.Solver{}, ok, ot.ErrParameter, "Lambda = 0"},
		{"lambda negative", freg.Solver{Lambda: -1}, ok, ot.ErrParameter, "Lambda = -1"},
		{"lambda NaN", freg.Solver{Lambda: nan}, ok, ot.ErrParameter, "Lambda = NaN"},
		{"lambda Inf", freg.Solver{Lambda: inf}, ok, ot.ErrParameter, "Lambda = +Inf"},
		{"lambda hopeless", freg.Solver{Lambda: 1e-20}, ok, ot.ErrParameter, "Lambda = 1e-20"},
		{"divergence", freg.Solver{F: 99, Lambda: 1}, ok, ot.ErrParameter, "Divergence(99)"},
		{"tol negative", freg.Solver{Lambda: 1, Tol: -1}, ok, ot.ErrParameter, "Tol = -1"},
		{"tol NaN", freg.Solver{Lambda: 1, Tol: nan}, ok, ot.ErrParameter, "Tol = NaN"},
		{"tol Inf", freg.Solver{Lambda: 1, Tol: inf}, ok, ot.ErrParameter, "Tol = +Inf"},
		{"iterations", freg.Solver{Lambda: 1, MaxIter: -1}, ok, ot.ErrParameter, "MaxIter = -1"},
		{"start length", freg.Solver{Lambda: 1, Start: []float64{1}}, ok, ot.ErrShape, "Start has 1"},
		{"start NaN", freg.Solver{Lambda: 1, Start: []float64{0, 0, nan}}, ok, ot.ErrParameter, "Start[2] = NaN"},
		{"no geometry", one, ot.Problem{}, ot.ErrShape, "geometry is nil"},
		{"nil matrix", one, ot.Problem{Geometry: ot.Dense(nil)}, ot.ErrShape, "cost is nil"},
		{"bad points", one, ot.Problem{Geometry: ot.Points(mat.NewDense(1, 1, []float64{2}), c, ot.L1)}, ot.ErrShape,
			"columns"},
		{"cost NaN", one, cost(nan), ot.ErrCost, "cost[1,2] = NaN"},
		{"cost Inf", one, cost(-inf), ot.ErrCost, "cost[1,2] = -Inf"},
		{"cost huge", freg.Solver{Lambda: 1e295}, cost(1e305), ot.ErrCost, "1e+305"},
		{"A short", one, with([]float64{1}, nil), ot.ErrShape, "Problem.A has 1"},
		{"B long", one, with(nil, make([]float64, 4)), ot.ErrShape, "Problem.B has 4"},
		{"A NaN", one, with([]float64{1, nan}, nil), ot.ErrWeights, "Problem.A[1] = NaN"},
		{"B Inf", one, with(nil, []float64{1, inf, 1}), ot.ErrWeights, "Problem.B[1] = +Inf"},
		{"A negative", one, with([]float64{1, -1}, nil), ot.ErrWeights, "Problem.A[1] = -1"},
		{"B zero", one, with(nil, make([]float64, 3)), ot.ErrWeights, "Problem.B sums to 0"},
		{"unequal", one, with([]float64{1, 1}, []float64{1, 1, 1}), ot.ErrWeights, "Problem.B sums to 3"},
	} {
		plan, err := tc.s.Solve(t.Context(), tc.p)
		if !errors.Is(err, tc.kind) || plan != nil {
			t.Errorf("%s: plan %v, err = %v, want %v", tc.name, plan != nil, err, tc.kind)
			continue
		}
		if !strings.Contains(err.Error(), tc.names) {
			t.Errorf("%s: err = %q does not name %q", tc.name, err, tc.names)
		}
	}
}

// FuzzSolve: any finite input ends, with a plan whose certificate holds or with an error.
func FuzzSolve(f *testing.F) {
	add := func(which uint8, lambda float64, n uint8, v ...float64) {
		raw := make([]byte, 0, 8*len(v))
		for _, x := range v {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
		}
		f.Add(which, lambda, n, raw)
	}
	add(0, 1, 2, 0, 1, 1, 0)
	add(1, 1e-3, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	add(2, 1e-9, 2, 1, 5, -3, 1e3, 1e-3, 2)
	add(3, 1e10, 1, 1e12, -4, 1e-300)
	add(4, 0.1, 2, 1e8, 0, 0, 1e8)
	add(5, 1e-300, 2, 1e-290, 0, 0, 1e-298)
	add(6, 1e299, 2, 1e300, -1e300, 0, 0)
	f.Fuzz(func(t *testing.T, which uint8, lambda float64, n uint8, raw []byte) {
		var v []float64
		for ; len(raw) >= 8 && len(v) < 64; raw = raw[8:] {
			v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
		}
		rows := int(n%8) + 1
		cols := len(v)/rows - 1 // one column is for weights
		if cols < 1 {
			t.Skip()
		}
		p := ot.Problem{Geometry: ot.Dense(mat.NewDense(rows, cols, v[:rows*cols]))}
		if n >= 128 {
			p.A = v[rows*cols : rows*cols+rows]
		}
		d := fdiv.All()[int(which)%7]
		plan, err := freg.Solver{F: d, Lambda: lambda, MaxIter: 100}.Solve(t.Context(), p)
		if err != nil {
			for _, kind := range []error{ot.ErrCost, ot.ErrParameter, ot.ErrWeights} {
				if errors.Is(err, kind) {
					return
				}
			}
			t.Fatalf("%v, λ = %g: err = %v", d, lambda, err)
		}
		z := math.Max(math.Abs(mat.Max(ot.Cost(p.Geometry))), math.Abs(mat.Min(ot.Cost(p.Geometry)))) + lambda
		if !(plan.Gap >= 0) || !(math.Abs(plan.Primal-plan.Dual-plan.Gap) <= 1e-9*z) {
			t.Fatalf("%v, λ = %g: primal %g, dual %g, gap %g", d, lambda, plan.Primal, plan.Dual, plan.Gap)
		}
		if plan.Status == ot.Converged && !(plan.MarginalL1 <= 1e-9) {
			t.Fatalf("%v, λ = %g: converged at %g", d, lambda, plan.MarginalL1)
		}
		for _, x := range append(plan.Matrix().RawMatrix().Data, plan.Feasible().RawMatrix().Data...) {
			if !(x >= 0 && x <= 1+1e-9) {
				t.Fatalf("%v, λ = %g: an entry of %g", d, lambda, x)
			}
		}
		for _, x := range append(append([]float64(nil), plan.Phi...), plan.Psi...) {
			if x-x != 0 {
				t.Fatalf("%v, λ = %g: a potential of %g", d, lambda, x)
			}
		}
	})
}
