package ot_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/ottest"
)

func maxAbs(rows [][]float64) float64 {
	var m float64
	for _, r := range rows {
		for _, v := range r {
			m = max(m, math.Abs(v))
		}
	}
	return m
}

func maxDiff(got *mat.Dense, want [][]float64) float64 {
	var m float64
	for i, r := range want {
		for j, v := range r {
			if d := math.Abs(got.At(i, j) - v); !(d <= m) {
				m = d
			}
		}
	}
	return m
}

func TestGradientReferences(t *testing.T) {
	for _, c := range ottest.References(t) {
		t.Run(c.Name, func(t *testing.T) {
			prob, points := c.Points()
			if !points {
				prob = c.Problem()
			}
			p, err := ot.Newton{Eps: c.Eps, Tol: 1e-13}.Solve(context.Background(), prob)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []ot.Method{ot.Eliminate, ot.Cholesky, ot.CG} {
				g, err := ot.Backward{Method: m}.Gradient(context.Background(), p, ot.Sharp)
				if err != nil {
					t.Fatal(err)
				}
				dm := maxDiff(g.Cost(), c.Expected.GradSharpM) / maxAbs(c.Expected.GradSharpM)
				dx := 0.
				if points {
					x, _ := g.X()
					dx = maxDiff(x, c.Expected.GradSharpX) / maxAbs(c.Expected.GradSharpX)
				}
				t.Logf("%v L1 %.2g dP %.2g: %v->%v %v(%.2g) dM %.2g dx %.2g", p.Status, p.MarginalL1, maxDiff(p.Matrix(), c.Expected.P), m, g.Method, g.Status, g.Residual, dm, dx)
			}
		})
	}
}
