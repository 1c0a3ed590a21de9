package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"coupling/ot/ottest"

	"gonum.org/v1/gonum/mat"
)

// solved runs `coupling solve` and returns its summary and exit code.
func solved(t *testing.T, args ...string) (summary, int) {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(append([]string{"solve", "--json"}, args...), &out, &errs)
	var s summary
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &s); err != nil {
			t.Fatalf("%v: %s", err, out.Bytes())
		}
	}
	t.Logf("%s", errs.String())
	return s, code
}

// caseFiles writes a reference case as the files that solve reads.
func caseFiles(t *testing.T, c *ottest.Case) []string {
	t.Helper()
	dir := t.TempDir()
	file := func(name string, rows [][]float64) string {
		path := filepath.Join(dir, name+".npy")
		if err := writeMatrix(path, ottest.Dense(rows)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := []string{
		"--a", file("a", [][]float64{c.A}), "--b", file("b", [][]float64{c.B}),
		"--eps", strconv.FormatFloat(c.Eps, 'g', -1, 64), "--out", filepath.Join(dir, "out"),
	}
	if c.X == nil {
		return append(args, "--cost-matrix", file("M", c.M), "--grad", "M")
	}
	cost := map[string]string{"sqeuclidean": "sqeuclidean", "l1": "l1", "l2sq_plus_l1": "l2sq+l1"}[c.Cost]
	return append(args, "--x", file("x", c.X), "--y", file("y", c.Y), "--cost", cost, "--mix", fmt.Sprint(c.Mix), "--grad", "x")
}

func TestSolveAgreesWithTheReferences(t *testing.T) {
	for _, c := range ottest.Embedded(t) {
		for _, solver := range []string{"auto", "log", "lbfgs", "newton"} {
			t.Run(c.Name+"/"+solver, func(t *testing.T) {
				args := caseFiles(t, c)
				s, code := solved(t, append(args, "--solver", solver, "--tol", "1e-11")...)
				if code != 0 || s.Status != "converged" || s.MarginalL1 > 1e-11 {
					t.Fatalf("exit %d, %+v", code, s)
				}
				out := args[7]
				near(t, "plan", matrixOf(t, out, "plan"), c.Expected.P, 1e-11, 0) // an L1 error of t moves no entry by more
				if c.X == nil {
					near(t, "grad_sharp_M", matrixOf(t, out, "grad_sharp_M"), c.Expected.GradSharpM, 0, 1e-7)
				} else {
					near(t, "grad_sharp_x", matrixOf(t, out, "grad_sharp_x"), c.Expected.GradSharpX, 0, 1e-7)
				}
				span := mat.Max(ottest.Dense(c.M)) - mat.Min(ottest.Dense(c.M))
				for _, v := range []struct{ got, want float64 }{{s.Sharp, c.Expected.Sharp}, {s.RegKL, c.Expected.RegKL}, {s.RegEntropy, c.Expected.RegEntropy}} {
					if math.Abs(v.got-v.want) > 1e-10*(span+c.Eps+math.Abs(v.want)) {
						t.Errorf("loss %g, want %g", v.got, v.want)
					}
				}
			})
		}
	}
}

func TestSolveExactAgreesWithTheReferences(t *testing.T) {
	for _, c := range ottest.Embedded(t) {
		args := caseFiles(t, c)
		s, code := solved(t, append(args[:len(args)-2], "--solver", "exact")...)
		if code != 0 || math.Abs(s.Sharp-c.Expected.ExactEMD) > 1e-9*math.Abs(c.Expected.ExactEMD) {
			t.Errorf("%s: exit %d, value %g, want %g", c.Name, code, s.Sharp, c.Expected.ExactEMD)
		}
	}
}

func TestSolveSaysWhenItDidNotConverge(t *testing.T) {
	c := ottest.Embedded(t)[0]
	args := caseFiles(t, c)
	s, code := solved(t, append(args, "--solver", "log", "--max-iter", "1", "--tol", "1e-14")...)
	if code != exitUnconverged || s.Status == "converged" {
		t.Errorf("exit %d, %+v", code, s)
	}
	matrixOf(t, args[7], "plan") // and yet writes what it has
}

func matrixOf(t *testing.T, dir, name string) *mat.Dense {
	t.Helper()
	m, err := readMatrix(filepath.Join(dir, name+".npy"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// near demands |got − want| ≤ abs + rel max|want|.
func near(t *testing.T, what string, got *mat.Dense, want [][]float64, abs, rel float64) {
	t.Helper()
	w := ottest.Dense(want)
	var d mat.Dense
	d.Sub(got, w)
	if err := mat.Max(absolute(&d)); err > abs+rel*mat.Max(absolute(w)) {
		t.Errorf("%s is off by %g", what, err)
	}
}

func absolute(m *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, m)
	return &out
}
