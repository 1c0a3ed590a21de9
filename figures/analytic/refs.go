package analytic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"coupling/ot"

	"gonum.org/v1/gonum/mat"
)

// refCase is what this package reads of a shared reference case, solved in 113 bits.
type refCase struct {
	Name     string      `json:"name"`
	Targets  int         `json:"m"` // or it would be taken for M
	Eps      float64     `json:"eps"`
	A        []float64   `json:"a"`
	B        []float64   `json:"b"`
	M        [][]float64 `json:"M"`
	Expected *struct {
		Grad [][]float64 `json:"grad_sharp_M"`
		DMin float64     `json:"D_lambda_min"`
	} `json:"expected"`
}

func (c *refCase) problem() ot.Problem {
	return ot.Problem{Geometry: ot.Dense(dense(c.M)), A: c.A, B: c.B}
}

func dense(rows [][]float64) *mat.Dense {
	d := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, r := range rows {
		d.SetRow(i, r)
	}
	return d
}

// refParams name a reference case by its content, so that a result belongs to it and no other.
type refParams struct {
	Case   string `json:"case"`
	SHA256 string `json:"sha256"`
}

// refDir is ../shared/refs/ot, looked for from the working directory upwards; empty where there is none.
func refDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		ref := filepath.Join(dir, "shared", "refs", "ot")
		if st, err := os.Stat(ref); err == nil && st.IsDir() {
			return ref
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// refCases lists the cases that are there; none is not an error. most (0: all) limits their number.
func refCases(most int) ([]refParams, error) {
	dir := refDir()
	if dir == "" {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var out []refParams
	for _, f := range files {
		c, p, err := readRef(f)
		if err != nil {
			return nil, err
		}
		if c.Expected == nil { // a loss of several plans
			continue
		}
		if out = append(out, p); len(out) == most {
			break
		}
	}
	return out, nil
}

// openRef returns the case called p.Case, or an error if its content is not p's.
func openRef(p refParams) (*refCase, error) {
	dir := refDir()
	if dir == "" {
		return nil, fmt.Errorf("analytic: reference case %s: there is no ../shared/refs/ot", p.Case)
	}
	c, got, err := readRef(filepath.Join(dir, p.Case+".json"))
	if err == nil && got.SHA256 != p.SHA256 {
		err = fmt.Errorf("analytic: reference case %s has changed: SHA-256 %s, want %s", p.Case, got.SHA256, p.SHA256)
	}
	return c, err
}

func readRef(path string) (*refCase, refParams, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, refParams{}, err
	}
	var c refCase
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, refParams{}, fmt.Errorf("%s: %w", path, err)
	}
	sum := sha256.Sum256(data)
	name := filepath.Base(path)
	return &c, refParams{Case: name[:len(name)-len(".json")], SHA256: hex.EncodeToString(sum[:])}, nil
}
