package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
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
	r.do(func() {
		r.g.launch("point_lse_1", "point_lse1_f32", grid{x: 1, y: 1}, lse, none, none, x,
			dy, dh, 1, m, int32(1), m, record(c))
		r.g.launch("point_sum_1", "point_mass1_f32", grid{x: 1, y: 1}, mass, x, dy,
			zero, dh, dv,
			none, none, 1, m, int32(1), int32(1), m, record(c), false)
	})
	// A tile is 128 terms, each sum of them off by half a unit; an exponential is off by 4.
	const tol = 64 + 4
	r.near("PointLSE", r.get(lse), []float64{math.Log(want)}, eps(dt), tol*eps(dt))
	r.near("mass", r.get(mass), []float64{want}, tol*eps(dt), 0)
}

// TestTensorProducts bounds what three products of TF32 lose: of two targets the one whose weight is
// 0 moves the middle, and the log-sum-exp is the other's −|x−y|²/ε. Dropped are 2^-22 of |x||y|,
// each of d/8 large products may lose a digit of each of nine terms, and the norms, the shift and
// the end are rounded some eight times. One product would be off by up to 2^-10.
func TestTensorProducts(t *testing.T) {
	r := newRig(t, Config{})
	rng := rand.New(rand.NewPCG(1, 2))
	const n, inv, dt = 300, 7, backend.Float32
	for _, d := range []int{9, 16, 31, 64} {
		x, y := make([]float64, n*d), make([]float64, 2*d)
		for _, v := range [][]float64{x, y} {
			for i := range v {
				v[i] = float64(float32(rng.NormFloat64()))
			}
		}
		want, tol := make([]float64, n), 0.0
		for i := range want {
			var sq, nx, ny float64
			for k := range d {
				a, b := x[i*d+k], y[k]
				middle := (y[k] + y[d+k]) / 2
				sq += (a - b) * (a - b)
				nx += (a - middle) * (a - middle)
				ny += (b - middle) * (b - middle)
			}
			want[i] = -inv * sq
			tol = max(tol, inv*(math.Sqrt(nx)+math.Sqrt(ny))*(math.Sqrt(nx)+math.Sqrt(ny)))
		}
		tol *= (9*float64((d+7)/8) + 8) * 0x1p-23
		out := r.new(dt, n)
		from, to, h := r.set(dt, x, n, d), r.set(dt, y, 2, d), r.set(dt, []float64{0, math.Inf(-1)}, 2)
		r.do(func() { r.g.PointLSE(out, from, to, h, backend.Cost{Square: 1}, inv) })
		r.near(fmt.Sprintf("d = %d", d), r.get(out), want, 0, tol)
	}
}

// TestInfiniteSums: a sum that is infinite after its first tile stays so over the next ones.
func TestInfiniteSums(t *testing.T) {
	r := newRig(t, Config{})
	r.g.limits.split = 1 // a block takes all tiles
	const n, m = 3, 300
	for _, dt := range floats {
		for _, d := range []int{1, 2, 3, 4, 8, 16} { // wider sums are not compensated
			for _, width := range []int{1, d} {
				out, v := r.new(dt, n, width), r.full(dt, math.Inf(1), m, width)
				x, y, u, h := r.full(dt, 0, n, d), r.full(dt, 0, m, d), r.full(dt, 0, n), r.full(dt, 0, m)
				r.do(func() { r.g.PointApply(out, x, y, u, h, v, backend.Cost{Abs: 1}, 1) })
				r.near(fmt.Sprintf("d = %d, width %d", d, width), r.get(out), r.get(v)[:n*width], 0, 0)
			}
		}
	}
}

// TestCancelled: sums of float64 keep what is left where large terms cancel, in each lane.
func TestCancelled(t *testing.T) {
	r := newRig(t, Config{})
	const n, dt = 3 * 256, backend.Float64
	x := make([]float64, n)
	for i := range x {
		x[i] = []float64{0x1p60, 1, -0x1p60}[i/256]
	}
	sum, dot, a, ones := r.new(dt, 1), r.new(dt, 1), r.set(dt, x, n), r.full(dt, 1, n)
	r.do(func() { r.g.Reduce(sum, a, backend.Sum); r.g.ReduceDot(dot, a, ones) })
	r.near("Sum", r.get(sum), []float64{256}, 0, 0)
	r.near("ReduceDot", r.get(dot), []float64{256}, 0, 0)
}

// TestJoin joins as many splits as large problems have, of which some are empty, and as many as an
// unrolled loop takes at once.
func TestJoin(t *testing.T) {
	r := newRig(t, Config{})
	for _, dt := range floats {
		for _, splits := range []int{8, 67} {
			r.join(dt, splits)
		}
	}
}

func (r *rig) join(dt backend.DType, splits int) {
	const rows = 300 // more than a block has threads
	rng := rand.New(rand.NewPCG(5, uint64(dt)))
	far := 100. // as far apart as what 2^x holds
	if dt == backend.Float64 {
		far = 1000
	}
	tops, sums, want := make([]float64, rows*splits), make([]float64, rows*splits), make([]float64, rows)
	for i := range tops {
		tops[i], sums[i] = float64(float32(far*rng.NormFloat64())), float64(float32(1+rng.Float64()))
		if i%5 == 1 {
			tops[i], sums[i] = -math.MaxFloat32, 0
		}
	}
	for i := 2; i < rows; i += 5 { // a largest that no other may stand for
		tops[i%splits*rows+i] = 10 * far
	}
	total := make([]float64, rows)
	for i := range want {
		top, sum := math.Inf(-1), 0.
		for at := i; at < len(tops); at += rows {
			top = max(top, tops[at])
		}
		for at := i; at < len(tops); at += rows {
			sum += sums[at] * math.Exp2(tops[at]-top)
			total[i] += sums[at]
		}
		want[i] = top*math.Ln2 + math.Log(sum)
	}
	n, s, atops, asums := rows, splits, r.set(dt, tops, splits, rows), r.set(dt, sums, splits, rows)
	double := r.set(backend.Float64, sums, splits, rows)
	joined, added, wide, products := r.new(dt, rows), r.new(dt, rows), r.new(dt, rows), r.new(dt, rows)
	r.do(func() {
		r.g.launch("dense", "lse_join"+suffix(dt), grid{x: 2}, joined, atops, asums, n, s)
		r.g.launch("dense", "join_sums"+suffix(dt), grid{x: 1}, added, asums, n, s)
		r.g.launch("dense", "join_wide"+suffix(dt), grid{x: 1}, wide, double, n, s)
		r.g.launch("gemm", "gemm_join"+suffix(dt), grid{x: 1, y: 1}, products, asums, 1, n, s,
			1.0, 0.0)
	})
	r.near("lse_join", r.get(joined), want, 2*eps(dt), 8*eps(dt))
	r.near("join_sums", r.get(added), total, 70*eps(backend.Float64)+eps(dt), 0)
	r.near("join_wide", r.get(wide), total, 70*eps(backend.Float64)+eps(dt), 0)
	r.near("gemm_join", r.get(products), total, float64(splits)*eps(dt), 0)
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
