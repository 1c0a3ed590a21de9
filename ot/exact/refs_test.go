package exact_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"coupling/lab/must"

	"gonum.org/v1/gonum/mat"
)

// TestReferences compares with the unregularised optima of the reference cases (POT's network simplex, SciPy's HiGHS).
func TestReferences(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/refs/ot/*.json")
	if len(files) == 0 {
		t.Skip("no reference cases in ../../../shared/refs/ot")
	}
	tried := 0
	for _, file := range files {
		raw := must.Get(os.ReadFile(file))
		var k struct {
			Name, Cost string
			Mix        float64
			Targets    int         `json:"m"` // keeps encoding/json from matching it with M
			M          [][]float64 `json:"M"`
			X, Y       [][]float64
			A, B       []float64
			Expected   struct {
				Emd   *float64 `json:"exact_W_emd"`
				Highs *float64 `json:"exact_W_highs"`
			}
		}
		if err := json.Unmarshal(raw, &k); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if k.Expected.Emd == nil {
			continue
		}
		tried++
		t.Run(k.Name, func(t *testing.T) {
			normalise(k.A)
			normalise(k.B)
			c := mat.NewDense(len(k.A), len(k.B), nil)
			c.Apply(func(i, j int, _ float64) float64 {
				if k.M != nil {
					return k.M[i][j]
				}
				return named(k.Cost, k.Mix, k.X[i], k.Y[j])
			}, c)
			sol := solve(t, k.A, k.B, c)
			// Both references are float64 solvers whose marginals are right to 1e-15: 1e-14 of the cost's range.
			tol := 1e-14 * (mat.Max(c) - mat.Min(c))
			if d := math.Abs(sol.Value - *k.Expected.Emd); d > tol {
				t.Errorf("value %v, POT %v, difference %v", sol.Value, *k.Expected.Emd, d)
			}
			if k.Expected.Highs != nil && math.Abs(sol.Value-*k.Expected.Highs) > tol {
				t.Errorf("value %v, HiGHS %v", sol.Value, *k.Expected.Highs)
			}
		})
	}
	if tried < 20 {
		t.Errorf("only %d of %d cases have an exact value", tried, len(files))
	}
}

func named(cost string, mix float64, x, y []float64) float64 {
	l1, l2 := 0., 0.
	for k := range x {
		d := x[k] - y[k]
		l1, l2 = l1+math.Abs(d), l2+d*d
	}
	switch cost {
	case "l1":
		return l1
	case "l2sq_plus_l1":
		return l2 + mix*l1
	default:
		return l2
	}
}
