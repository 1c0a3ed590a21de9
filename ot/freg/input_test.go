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
	check := func(s freg.Solver, p ot.Problem, kind error, names string) {
		t.Helper()
		plan, err := s.Solve(t.Context(), p)
		if !errors.Is(err, kind) || plan != nil || !strings.Contains(err.Error(), names) {
			t.Errorf("plan %v, err = %v, want %v naming %q", plan != nil, err, kind, names)
		}
	}
	for names, s := range map[string]freg.Solver{
		"Lambda = 0":     {},
		"Lambda = -1":    {Lambda: -1},
		"Lambda = NaN":   {Lambda: nan},
		"Lambda = +Inf":  {Lambda: inf},
		"Lambda = 1e-20": {Lambda: 1e-20},
		"Divergence(99)": {F: 99, Lambda: 1},
		"Tol = -1":       {Lambda: 1, Tol: -1},
		"Tol = NaN":      {Lambda: 1, Tol: nan},
		"Tol = +Inf":     {Lambda: 1, Tol: inf},
		"MaxIter = -1":   {Lambda: 1, MaxIter: -1},
		"Start[2] = NaN": {Lambda: 1, Start: []float64{0, 0, nan}},
	} {
		check(s, ok, ot.ErrParameter, names)
	}
	check(freg.Solver{Lambda: 1, Start: []float64{1}}, ok, ot.ErrShape, "Start has 1")
	check(freg.Solver{Lambda: 1e295}, cost(1e305), ot.ErrCost, "1e+305")
	for kind, problems := range map[error]map[string]ot.Problem{
		ot.ErrShape: {
			"geometry is nil": {},
			"cost is nil":     {Geometry: ot.Dense(nil)},
			"columns":         {Geometry: ot.Points(mat.NewDense(1, 1, []float64{2}), c, ot.L1)},
			"Problem.A has 1": with([]float64{1}, nil),
			"Problem.B has 4": with(nil, make([]float64, 4)),
		},
		ot.ErrCost: {"cost[1,2] = NaN": cost(nan), "cost[1,2] = -Inf": cost(-inf)},
		ot.ErrWeights: {
			"Problem.A[1] = NaN":  with([]float64{1, nan}, nil),
			"Problem.B[1] = +Inf": with(nil, []float64{1, inf, 1}),
			"Problem.A[1] = -1":   with([]float64{1, -1}, nil),
			"Problem.B sums to 0": with(nil, make([]float64, 3)),
			"Problem.B sums to 3": with([]float64{1, 1}, []float64{1, 1, 1}),
		},
	} {
		for names, p := range problems {
			check(one, p, kind, names)
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
