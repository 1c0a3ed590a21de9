package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"coupling/data"
	"coupling/data/format"
	"coupling/lab/durable"
	"coupling/lab/must"
	"coupling/ot/ottest"

	"gonum.org/v1/gonum/mat"
)

// answered runs a command and returns its summary and exit code.
func answered[S any](t *testing.T, command string, args ...string) (s S, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(append([]string{command, "--json"}, args...), &out, &errs)
	if out.Len() > 0 {
		must.Do(json.Unmarshal(out.Bytes(), &s))
	}
	t.Logf("%s", errs.String())
	return s, code
}

func solved(t *testing.T, args ...string) (summary, int) {
	return answered[summary](t, "solve", args...)
}

// saveMatrix writes an NPY file.
func saveMatrix(path string, m *mat.Dense) error {
	r, c := m.Dims()
	return durable.WriteFile(path, 0o666, func(w io.Writer) error {
		return format.WriteNPY(w, []int{r, c}, m.RawMatrix().Data)
	})
}

// caseFiles writes a reference case as the files that solve reads.
func caseFiles(t *testing.T, c *ottest.Case) []string {
	dir := t.TempDir()
	file := func(name string, rows [][]float64) string {
		path := filepath.Join(dir, name+".npy")
		must.Do(saveMatrix(path, ottest.Dense(rows)))
		return path
	}
	args := []string{"--a", file("a", [][]float64{c.A}), "--b", file("b", [][]float64{c.B}), "--out",
		filepath.Join(dir, "out")}
	if c.X == nil {
		return append(args, "--cost-matrix", file("M", c.M), "--grad", "M")
	}
	cost := map[string]string{"sqeuclidean": "sqeuclidean", "l1": "l1", "l2sq_plus_l1": "l2sq+l1"}[c.Cost]
	if cost == "l2sq+l1" {
		args = append(args, "--mix", fmt.Sprint(c.Mix))
	}
	return append(args, "--x", file("x", c.X), "--y", file("y", c.Y), "--cost", cost, "--grad", "x")
}

func TestSolveAgreesWithTheReferences(t *testing.T) {
	for _, c := range ottest.Embedded(t) {
		for _, solver := range []string{"auto", "log", "lbfgs", "newton"} {
			t.Run(c.Name+"/"+solver, func(t *testing.T) {
				args := caseFiles(t, c)
				s, code := solved(t, append(args, "--solver", solver, "--eps", strconv.FormatFloat(c.Eps, 'g', -1, 64),
					"--tol", "1e-11")...)
				if code != 0 || s.Status != "converged" || s.Gradient != "converged" || s.MarginalL1 > 1e-11 ||
					!(s.Seconds > 0) {
					t.Fatalf("exit %d, %+v", code, s)
				}
				out := args[5]
				// an L1 error of t moves no entry by more
				near(t, "plan", matrixOf(out, "plan"), c.Expected.P, 1e-11, 0)
				if c.X == nil {
					near(t, "grad_sharp_M", matrixOf(out, "grad_sharp_M"), c.Expected.GradSharpM, 0, 1e-7)
				} else {
					near(t, "grad_sharp_x", matrixOf(out, "grad_sharp_x"), c.Expected.GradSharpX, 0, 1e-7)
				}
				span := mat.Max(ottest.Dense(c.M)) - mat.Min(ottest.Dense(c.M))
				for _, v := range []struct{ got, want float64 }{{s.Sharp, c.Expected.Sharp},
					{s.RegKL, c.Expected.RegKL}, {s.RegEntropy, c.Expected.RegEntropy}} {
					if math.Abs(v.got-v.want) > 1e-10*(span+c.Eps+math.Abs(v.want)) {
						t.Errorf("loss %g, want %g", v.got, v.want)
					}
				}
			})
		}
	}
}

// The exact plan is a plan of the reference's value, and its potentials prove it: they are below
// the costs, and where there is mass they are the costs.
func TestSolveExactAgreesWithTheReferences(t *testing.T) {
	for _, c := range ottest.Embedded(t) {
		t.Run(c.Name, func(t *testing.T) {
			args := caseFiles(t, c)
			args = append(args[:len(args)-2], "--solver", "exact")
			if c.X == nil {
				args = append(args, "--grad", "M")
			}
			s, code := solved(t, args...)
			if code != 0 || math.Abs(s.Sharp-c.Expected.ExactEMD) > 1e-9*math.Abs(c.Expected.ExactEMD) ||
				s.MarginalL1 > 1e-14 {
				t.Fatalf("exit %d, %+v, want %g", code, s, c.Expected.ExactEMD)
			}
			out := args[5]
			plan, cost := matrixOf(out, "plan"), ottest.Dense(c.M)
			if c.X == nil {
				near(t, "gradient", matrixOf(out, "grad_sharp_M"), rowsOf(plan), 0, 0)
			}
			f, g := matrixOf(out, "f"), matrixOf(out, "g")
			alpha, beta := matrixOf(out, "alpha"), matrixOf(out, "beta")
			size := max(mat.Max(cost), -mat.Min(cost))
			var value, balance, last float64
			for i, a := range c.A {
				balance += a * f.At(i, 0)
				var row float64
				for j, b := range c.B {
					v := plan.At(i, j)
					row += v
					value += v * cost.At(i, j)
					slack := cost.At(i, j) - f.At(i, 0) - g.At(j, 0)
					if !(slack >= -1e-13*size) || v > 0 && slack > 1e-13*size {
						t.Errorf("slack[%d,%d] = %g at mass %g", i, j, slack, v)
					}
					if b > 0 {
						last = beta.At(j, 0)
					}
					if d := alpha.At(i, 0) + beta.At(j, 0) - f.At(i, 0) - g.At(j, 0); a > 0 && b > 0 &&
						math.Abs(d) > 1e-13*size || a*b == 0 && !math.IsInf(d, -1) {
						t.Errorf("alpha + beta − f − g = %g at weights %g, %g", d, a, b)
					}
				}
				if math.Abs(row-a) > 1e-14 {
					t.Errorf("row %d has the mass %g, want %g", i, row, a)
				}
			}
			for j, b := range c.B {
				balance -= b * g.At(j, 0)
			}
			if math.Abs(value-s.Sharp) > 1e-14*size || math.Abs(balance) > 1e-13*size || last != 0 {
				t.Errorf("<T,M> = %g, sharp %g; <a,f> − <b,g> = %g; last beta %g", value, s.Sharp, balance, last)
			}
		})
	}
}

func rowsOf(m *mat.Dense) [][]float64 {
	n, _ := m.Dims()
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = m.RawRowView(i)
	}
	return rows
}

// A gradient whose linear system did not converge is no success, though the plan is.
func TestSolveVerdict(t *testing.T) {
	for _, tc := range []struct {
		s     summary
		code  int
		names string
	}{
		{summary{Status: "converged"}, 0, ""},
		{summary{Status: "converged", Gradient: "converged"}, 0, ""},
		{summary{Status: "converged", Gradient: "iteration limit", residual: 0.5}, exitUnconverged,
			"relative residual of 0.5"},
		{summary{Status: "stagnated", Gradient: "converged"}, exitUnconverged, "stagnated"},
	} {
		err := solveCmd{}.verdict(tc.s)
		var e exitError
		if tc.code == 0 && err != nil || tc.code != 0 &&
			(!errors.As(err, &e) || e.code != tc.code || !strings.Contains(err.Error(), tc.names)) {
			t.Errorf("%+v: err = %v", tc.s, err)
		}
	}
}

func TestSolveSaysWhenItDidNotConverge(t *testing.T) {
	c := ottest.Embedded(t)[0]
	args := caseFiles(t, c)
	s, code := solved(t, append(args, "--solver", "log", "--eps", strconv.FormatFloat(c.Eps, 'g', -1, 64), "--max-iter",
		"1", "--tol", "1e-14")...)
	if code != exitUnconverged || s.Status == "converged" {
		t.Errorf("exit %d, %+v", code, s)
	}
	matrixOf(args[5], "plan") // and yet writes what it has
}

func matrixOf(dir, name string) *mat.Dense {
	return must.Get(data.ReadPoints(filepath.Join(dir, name+".npy")))
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

// What was solved, from which files and how it ended stays beside the results; inputs may be
// members of an archive; a device gives the plan of the host.
func TestSolveSummaryArchiveAndDevice(t *testing.T) {
	dir := t.TempDir()
	archive := must.Get(os.Create(filepath.Join(dir, "clouds.npz")))
	z := zip.NewWriter(archive)
	for name, rows := range map[string][][]float64{"x.npy": {{0, 0}, {1, 0}, {0, 1}}, "y.npy": {{1, 1}, {2, 0}}} {
		w := must.Get(z.Create(name))
		m := ottest.Dense(rows)
		r, c := m.Dims()
		must.Do(format.WriteNPY(w, []int{r, c}, m.RawMatrix().Data))
	}
	must.Do(errors.Join(z.Close(), archive.Close()))
	args := func(out string) []string {
		return []string{"--x", archive.Name() + ":x", "--y", archive.Name() + ":y", "--eps", "0.5", "--out",
			filepath.Join(dir, out)}
	}
	s, code := solved(t, args("host")...)
	b := must.Get(os.ReadFile(filepath.Join(dir, "host", summaryFile)))
	var kept summary
	must.Do(json.Unmarshal(b, &kept))
	if code != 0 || kept.Status != "converged" || kept.Sharp != s.Sharp || kept.Eps != 0.5 || kept.Sources != 3 ||
		kept.Targets != 2 || len(kept.Inputs["x"]) != 64 {
		t.Errorf("exit %d, summary.json holds %+v", code, kept)
	}
	if _, code := solved(t, append(args("device"), "--device", "cpu")...); code != 0 {
		t.Fatalf("exit %d on a device", code)
	}
	near(t, "plan on a device", matrixOf(filepath.Join(dir, "device"), "plan"),
		rowsOf(matrixOf(filepath.Join(dir, "host"), "plan")), 1e-9, 0)
	if _, code := solved(t, "--x", archive.Name()+":z", "--y", archive.Name()+":y", "--eps", "1", "--out",
		dir); code != exitUsage {
		t.Errorf("a member that is not there: exit %d, want %d", code, exitUsage)
	}
}
