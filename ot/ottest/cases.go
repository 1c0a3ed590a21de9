package ottest

import (
	"embed"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/cost"
)

// Vector is a vector in a reference file, where null stands for −Inf.
type Vector []float64

// UnmarshalJSON reads numbers and nulls.
func (v *Vector) UnmarshalJSON(data []byte) error {
	var raw []*float64
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*v = make(Vector, len(raw))
	for i, x := range raw {
		(*v)[i] = math.Inf(-1)
		if x != nil {
			(*v)[i] = *x
		}
	}
	return nil
}

// Case is one reference problem with its solution; see the README beside the reference files for the fields.
type Case struct {
	Name     string      `json:"name"`
	Sources  int         `json:"n"`
	Targets  int         `json:"m"`
	Eps      float64     `json:"eps"`
	Cost     string      `json:"cost"`
	Mix      float64     `json:"mix"`
	X        [][]float64 `json:"x"`
	Y        [][]float64 `json:"y"`
	A        []float64   `json:"a"`
	B        []float64   `json:"b"`
	M        [][]float64 `json:"M"`
	Expected Expected    `json:"expected"`
}

// Expected is the solution of a Case, correct to the last bit or so of float64.
type Expected struct {
	P           [][]float64 `json:"P"`
	Alpha       Vector      `json:"alpha"`
	Beta        Vector      `json:"beta"`
	F           Vector      `json:"f"`
	G           Vector      `json:"g"`
	Sharp       float64     `json:"sharp"`
	SumPlogP    float64     `json:"sum_PlogP"`
	KL          float64     `json:"kl"`
	RegEntropy1 float64     `json:"reg_entropy_minus1"`
	RegEntropy  float64     `json:"reg_entropy"`
	RegKL       float64     `json:"reg_kl"`
	GradSharpM  [][]float64 `json:"grad_sharp_M"`
	GradSharpX  [][]float64 `json:"grad_sharp_x"`
	GradRegX    [][]float64 `json:"grad_reg_x"`
	DMin        float64     `json:"D_lambda_min"`
	ExactEMD    float64     `json:"exact_W_emd"`
	Divergence  *Divergence `json:"divergence"`
}

// Divergence is the Sinkhorn divergence of a Case.
type Divergence struct {
	Value      float64     `json:"value"`
	AB         float64     `json:"ot_ab"`
	AA         float64     `json:"ot_aa"`
	BB         float64     `json:"ot_bb"`
	GradX      [][]float64 `json:"grad_x"`
	SharpValue float64     `json:"sharp_value"`
	SharpAA    float64     `json:"sharp_aa"`
	SharpBB    float64     `json:"sharp_bb"`
}

// Problem returns the case with its cost matrix.
func (c *Case) Problem() ot.Problem {
	return ot.Problem{Geometry: ot.Dense(Dense(c.M)), A: c.A, B: c.B}
}

// Points returns the case with its points, or false where it has none.
func (c *Case) Points() (ot.Problem, bool) {
	if c.X == nil {
		return ot.Problem{}, false
	}
	return ot.Problem{Geometry: ot.Points(Dense(c.X), Dense(c.Y), c.PointCost()), A: c.A, B: c.B}, true
}

// PointCost returns the named cost of the case.
func (c *Case) PointCost() cost.PointCost {
	switch c.Cost {
	case "l1":
		return ot.L1
	case "l2sq_plus_l1":
		return cost.SqEuclideanL1(c.Mix)
	}
	return ot.SqEuclidean
}

// Dense copies rows into a matrix.
func Dense(rows [][]float64) *mat.Dense {
	d := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, r := range rows {
		d.SetRow(i, r)
	}
	return d
}

// Dir finds the folder of shared reference files called name (for instance "ot") by going up from
// the working directory, looking for shared/refs/name in and beside each folder on the way. It
// skips the test if there is none.
func Dir(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		ref := filepath.Join(dir, "shared", "refs", name)
		if st, err := os.Stat(ref); err == nil && st.IsDir() {
			return ref
		}
		up := filepath.Dir(dir)
		if up == dir {
			tb.Skipf("no ../shared/refs/%s above the working directory: reference cases are not checked", name)
		}
		dir = up
	}
}

// References loads every case of the shared reference folder; it skips the test where the folder is absent.
func References(tb testing.TB) []*Case {
	tb.Helper()
	return Load(tb, Dir(tb, "ot"))
}

//go:embed testdata/*.json
var embedded embed.FS

// Embedded returns the small reference cases that are part of the package, in order of name.
func Embedded(tb testing.TB) []*Case {
	tb.Helper()
	return load(tb, embedded, "testdata/*.json")
}

// Load reads every case in a folder, in order of name. Files that do not hold an expected plan (losses of several
// plans) are left out.
func Load(tb testing.TB, dir string) []*Case {
	tb.Helper()
	return load(tb, os.DirFS(dir), "*.json")
}

func load(tb testing.TB, files fs.FS, pattern string) (out []*Case) {
	tb.Helper()
	names, err := fs.Glob(files, pattern)
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			tb.Fatal(err)
		}
		c := &Case{}
		if err := json.Unmarshal(data, c); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		if c.Expected.P != nil {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		tb.Fatalf("no reference cases in %s of %v", pattern, files)
	}
	return out
}
