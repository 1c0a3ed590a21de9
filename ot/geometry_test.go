package ot_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/cost"
)

// Check names what is wrong with a geometry, and Cost panics with that error rather than an index of its own.
func TestCheck(t *testing.T) {
	two, three := mat.NewDense(1, 2, nil), mat.NewDense(1, 3, nil)
	for name, g := range map[string]cost.Geometry{
		"nil":           nil,
		"nil points":    (*cost.Cloud)(nil),
		"nil matrix":    (*cost.Matrix)(nil),
		"no cost":       ot.Dense(nil),
		"no matrix":     ot.Dense((*mat.Dense)(nil)),
		"no points":     ot.Points(nil, two, ot.L1),
		"columns":       ot.Points(two, three, ot.L1),
		"point NaN":     ot.Points(mat.NewDense(1, 1, []float64{math.NaN()}), mat.NewDense(1, 1, nil), ot.L1),
		"mix NaN":       ot.Points(two, two, cost.SqEuclideanL1(math.NaN())),
		"unknown":       ot.Points(two, two, cost.Metric(99)),
		"nil cost":      ot.Points(two, two, nil),
		"empty by hand": &cost.Matrix{},
	} {
		err := cost.Check(g)
		if !errors.Is(err, ot.ErrShape) && !errors.Is(err, ot.ErrCost) && !errors.Is(err, ot.ErrParameter) {
			t.Errorf("%s: Check = %v", name, err)
		}
		func() {
			defer func() {
				if got, ok := recover().(error); !ok || got.Error() != err.Error() {
					t.Errorf("%s: Cost panics with %v, want %v", name, got, err)
				}
			}()
			ot.Cost(g)
		}()
	}
	if err := cost.Check(ot.Points(two, two, ot.L1)); err != nil {
		t.Error(err)
	}
}
