package cuda

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"coupling/lab/device/internal/backend"
	"coupling/lab/must"
)

// TestFunctions holds the elementary functions to values of 200 bits (testdata/functions.py, mpmath): in units in the
// last place of the result, arguments over all magnitudes.
func TestFunctions(t *testing.T) {
	f := must.Get(os.Open("testdata/functions.csv"))
	defer f.Close()
	rows := must.Get(csv.NewReader(f).ReadAll())
	type point struct{ x, hi, lo float64 }
	points := map[string][]point{}
	for _, row := range rows {
		var v [3]float64
		for i := range v {
			v[i] = must.Get(strconv.ParseFloat(row[i+1], 64))
		}
		points[row[0]] = append(points[row[0]], point{v[0], v[1], v[2]})
	}
	// What numeric.h and trig.h promise.
	for name, c := range map[string]struct {
		f     backend.Unary
		bound float64
	}{
		"Exp": {backend.Exp, 2}, "Log": {backend.Log, 2}, "Sin": {backend.Sin, 2}, "Cos": {backend.Cos, 2},
		"Tanh": {backend.Tanh, 3}, "Sigmoid": {backend.Sigmoid, 3}, "Softplus": {backend.Softplus, 3},
		"ELU": {backend.ELU, 2},
	} {
		for _, dt := range floats {
			t.Run(name+"/"+dt.String(), func(t *testing.T) {
				r := newRig(t, Config{})
				var x []float64
				for _, p := range points[name] {
					x = append(x, p.x)
				}
				if len(x) < 50 {
					t.Fatalf("%d points", len(x))
				}
				y, at := r.new(dt, len(x)), r.set(dt, x, len(x))
				r.do(func() { r.g.Map(y, at, c.f, 1) })
				worst, place := 0.0, 0
				for i, got := range r.get(y) {
					p := points[name][i]
					if e := math.Abs(got-p.hi-p.lo) / ulp(dt, p.hi); !(e <= worst) {
						worst, place = e, i
					}
				}
				t.Logf("%.2f ulp at %v", worst, x[place])
				if !(worst <= c.bound) {
					t.Errorf("%.2f ulp at %v, more than %v", worst, x[place], c.bound)
				}
			})
		}
	}
}

// ulp is a unit in the last place of numbers like x, which may be denormal.
func ulp(dt backend.DType, x float64) float64 {
	_, e := math.Frexp(x)
	if dt == backend.Float64 {
		return math.Ldexp(1, max(e-53, -1074))
	}
	return math.Ldexp(1, max(e-24, -149))
}
