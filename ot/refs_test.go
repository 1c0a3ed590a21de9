package ot_test

import (
	"context"
	"math"
	"testing"

	"coupling/ot"
	"coupling/ot/ottest"
)

func TestSinkhornReferences(t *testing.T) {
	for _, c := range ottest.References(t) {
		t.Run(c.Name, func(t *testing.T) {
			p, err := ot.Newton{Eps: c.Eps, Tol: 1e-12}.Solve(context.Background(), c.Problem())
			if err != nil {
				t.Fatal(err)
			}
			P := p.Matrix()
			var worst float64
			for i, r := range c.Expected.P {
				for j, v := range r {
					worst = math.Max(worst, math.Abs(v-P.At(i, j)))
				}
			}
			t.Logf("%v it %d l1 %.2g dP %.2g sharp %.2g regkl %.2g", p.Status, p.Iterations, p.MarginalL1, worst, p.Sharp()-c.Expected.Sharp, p.RegKL()-c.Expected.RegKL)
		})
	}
}
