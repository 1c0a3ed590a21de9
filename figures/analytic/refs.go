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

// RefParams name a reference case by its content, so that a result belongs to it and no other.
type RefParams struct {
	Case   string `json:"case" doc:"name of the reference problem"`
	SHA256 string `json:"sha256" doc:"digest of the file that has it"`
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

// refCases lists the cases that can be read; there may be none. most (0: all) limits their number.
func refCases(most int) (out []RefParams) {
	dir := refDir()
	if dir == "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.json")) // the pattern is well-formed
	slices.Sort(files)
	for _, f := range files {
		c, p, err := readRef(f)
		if err != nil || c.Expected == nil { // unreadable, or a loss of several plans
			continue
		}
		if out = append(out, p); len(out) == most {
			break
		}
	}
	return out
}

// openRef returns the case called p.Case, or an error if its content is not p's.
func openRef(p RefParams) (*refCase, error) {
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

func readRef(path string) (*refCase, RefParams, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, RefParams{}, err
	}
	var c refCase
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, RefParams{}, fmt.Errorf("%s: %w", path, err)
	}
	sum := sha256.Sum256(data)
	name := filepath.Base(path)
	return &c, RefParams{Case: name[:len(name)-len(".json")], SHA256: hex.EncodeToString(sum[:])}, nil
}
