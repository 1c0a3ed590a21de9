package cuda

import (
	"errors"
	"math"
	"testing"

	"coupling/lab/device/internal/backend"
)

// TestLongSums: one thread that adds 2^17 columns loses what it would with one tile, since tiles are added with
// compensation. Without, repeated numbers would be rounded the same way again and again: hundreds of units.
func TestLongSums(t *testing.T) {
	r := newRig(t, Config{})
	const m, dt = 1 << 17, backend.Float32
	y, one := make([]float64, m), make([]float64, m)
	want := 0.0
	for j := range y {
		y[j], one[j] = float64(j%5)/8, 1
		want += math.Exp(-(0.25 - y[j]) * (0.25 - y[j]))
	}
	x, dy := r.set(dt, []float64{0.25}, 1, 1), r.set(dt, y, m, 1)
	zero, dh, dv := r.set(dt, []float64{0}, 1), r.set(dt, make([]float64, m), m), r.set(dt, one, m, 1)
	lse, mass := r.new(dt, 1), r.new(dt, 1)
	c, none := &cost{1, 0, 1}, block(&memory{})
	r.ok(r.g.do(func() error {
		return errors.Join(
			r.g.launch("point_lse_1", "point_lse1_f32", grid{x: 1, y: 1}, array(lse), none, none, array(x),
				array(dy), array(dh),
				i64(1), i64(m), i32(1), i64(m), record(c)),
			r.g.launch("point_sum_1", "point_mass1_f32", grid{x: 1, y: 1}, array(mass), array(x), array(dy),
				array(zero), array(dh), array(dv),
				none, none, i64(1), i64(m), i32(1), i32(1), i64(m), record(c), flag(false)))
	}))
	// A tile is 128 terms, each sum of them off by half a unit; an exponential is off by 4.
	const tol = 64 + 4
	r.near("PointLSE", r.get(lse), []float64{math.Log(want)}, eps(dt), tol*eps(dt))
	r.near("mass", r.get(mass), []float64{want}, tol*eps(dt), 0)
}

// TestSmallProblemsFill: a thousand points of two coordinates are spread over 64 blocks at least, and large problems
// are cut as coarsely as before.
func TestSmallProblemsFill(t *testing.T) {
	const n, m = 1000, 1000
	for name, per := range map[string]int{"PointLSE": 128 * lseRowsOf(2, backend.Float32), "PointGrad": 128} {
		blocks := (n + per - 1) / per
		if count, chunk := standard.splits(blocks, m, standard.pointUnit(blocks, m)); blocks*count < 64 ||
			count*chunk < m {
			t.Errorf("%s: %d blocks of %d points", name, blocks*count, chunk)
		}
	}
	for _, blocks := range []int{1, 100, 5000} {
		if unit := standard.pointUnit(blocks, 1<<20); unit != 256 {
			t.Errorf("%d blocks: unit %d", blocks, unit)
		}
	}
}
