package cuda

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/device/internal/backend"
)

// problem is random points and potentials, and references in float64. The plan has a few entries that matter a row.
type problem struct {
	n, m, d, k          int
	cost                backend.Cost
	inv                 float64
	x, y, u, h, v, r, s []float64
}

func newProblem(rng *rand.Rand, dt backend.DType, n, m, d, k int, c backend.Cost) *problem {
	normals := func(count int, sigma float64) []float64 {
		x := make([]float64, count)
		for i := range x {
			x[i] = sigma * rng.NormFloat64()
		}
		return round(dt, x)
	}
	p := &problem{n: n, m: m, d: d, k: k, cost: c, inv: 3}
	scale := 1 / math.Sqrt(float64(d))
	p.x, p.y = normals(n*d, scale), normals(m*d, scale)
	p.u, p.h, p.v = normals(n, 1), normals(m, 1), normals(m*k, 1)
	p.r, p.s = normals(n, 1), normals(m, 1)
	for j := 2; j < m; j += 5 {
		p.h[j] = math.Inf(-1)
	}
	return p
}

func (p *problem) c(i, j int) float64 {
	var sq, ab float64
	for a := range p.d {
		diff := p.x[i*p.d+a] - p.y[j*p.d+a]
		sq += diff * diff
		ab += math.Abs(diff)
	}
	return p.cost.Square*sq + p.cost.Abs*ab
}

func (p *problem) plan(i, j int) float64 { return math.Exp(p.u[i] + p.h[j] - p.c(i, j)*p.inv) }

func (p *problem) lse() []float64 {
	out := make([]float64, p.n)
	for i := range out {
		top, sum := math.Inf(-1), 0.0
		for j := range p.m {
			top = max(top, p.h[j]-p.c(i, j)*p.inv)
		}
		if math.IsInf(top, -1) {
			out[i] = top
			continue
		}
		for j := range p.m {
			sum += math.Exp(p.h[j] - p.c(i, j)*p.inv - top)
		}
		out[i] = top + math.Log(sum)
	}
	return out
}

// sums is Σ_j P_ij·f(i, j, a) for a below width, and Σ_j |…|, what rounding is measured by.
func (p *problem) sums(width int, f func(i, j, a int) float64) (out, size []float64) {
	out, size = make([]float64, p.n*width), make([]float64, p.n*width)
	for i := range p.n {
		for j := range p.m {
			w := p.plan(i, j)
			for a := range width {
				t := w * f(i, j, a)
				out[i*width+a] += t
				size[i*width+a] += math.Abs(t)
			}
		}
	}
	return out, size
}

func (p *problem) grad(linear bool) func(i, j, a int) float64 {
	return func(i, j, a int) float64 {
		b := p.r[i] + p.s[j]
		if !linear {
			b += 1 - p.c(i, j)*p.inv
		}
		diff := p.x[i*p.d+a] - p.y[j*p.d+a]
		g := 2 * p.cost.Square * diff
		switch {
		case diff > 0:
			g += p.cost.Abs
		case diff < 0:
			g -= p.cost.Abs
		}
		return b * g
	}
}

// within compares with a bound a term of each sum.
func (r *rig) within(what string, got, want, size []float64, rel float64) {
	r.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > rel*size[i]+1e-300 {
			r.Errorf("%s: element %d is %v, want %v: off by %.3g of its terms, allowed %.3g", what, i, got[i], want[i], math.Abs(got[i]-want[i])/size[i], rel)
			return
		}
	}
}

// TestPoints takes every kernel for points: dimensions with kernels of their own, between them and beyond them, few
// rows with many columns (splits) and the reverse, both costs.
func TestPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := [][2]int{{3, 700}, {130, 67}, {513, 5}}
	costs := []backend.Cost{{Square: 1}, {Square: 0.5, Abs: 0.3}, {Abs: 1}}
	for _, dt := range floats {
		for i, d := range []int{1, 2, 3, 4, 5, 8, 13, 16, 31, 64, 65, 130} {
			if testing.Short() && i%4 != 0 {
				continue
			}
			c := costs[(i+int(dt))%len(costs)]
			size := sizes[rng.IntN(len(sizes))]
			k := []int{1, d, d + 3, 2}[i%4]
			t.Run(fmt.Sprintf("%v/d=%d/%v", dt, d, c), func(t *testing.T) {
				r := newRig(t, Config{})
				points(r, dt, newProblem(rng, dt, size[0], size[1], d, k, c))
			})
		}
	}
}

func points(r *rig, dt backend.DType, p *problem) {
	// A score has magnitude to 40 here and is rounded a few times, a distance once a coordinate: that is the relative
	// error of a plan's entries.
	tol := float64(200+2*p.d) * eps(dt)
	x, y := r.set(dt, p.x, p.n, p.d), r.set(dt, p.y, p.m, p.d)
	u, h, v := r.set(dt, p.u, p.n), r.set(dt, p.h, p.m), r.set(dt, p.v, p.m, p.k)
	rr, s := r.set(dt, p.r, p.n), r.set(dt, p.s, p.m)

	lse := r.new(dt, p.n)
	r.ok(r.g.PointLSE(lse, x, y, h, p.cost, p.inv))
	r.near("PointLSE", r.get(lse), p.lse(), 8*eps(dt), tol)

	apply := r.new(dt, p.n, p.k)
	r.ok(r.g.PointApply(apply, x, y, u, h, v, p.cost, p.inv))
	want, size := p.sums(p.k, func(_, j, a int) float64 { return p.v[j*p.k+a] })
	r.within("PointApply", r.get(apply), want, size, tol)

	pc := r.new(dt, p.n)
	r.ok(r.g.PointCost(pc, x, y, u, h, p.cost, p.inv))
	want, size = p.sums(1, func(i, j, _ int) float64 { return p.c(i, j) })
	r.within("PointCost", r.get(pc), want, size, tol)

	for _, linear := range []bool{false, true} {
		grad := r.new(dt, p.n, p.d)
		r.ok(r.g.PointGrad(grad, x, y, u, h, rr, s, p.cost, p.inv, linear))
		want, _ = p.sums(p.d, p.grad(linear))
		// The bracket cancels: its size is that of its terms.
		_, size = p.sums(p.d, func(i, j, a int) float64 {
			g := 2*p.cost.Square*math.Abs(p.x[i*p.d+a]-p.y[j*p.d+a]) + p.cost.Abs
			return (1 + math.Abs(p.r[i]) + math.Abs(p.s[j]) + p.c(i, j)*p.inv) * g
		})
		r.within(fmt.Sprintf("PointGrad linear=%v", linear), r.get(grad), want, size, tol)
	}

	held := r.new(dt, p.n, p.m)
	r.ok(r.g.Costs(held, x, y, p.cost))
	costs := make([]float64, p.n*p.m)
	for i := range p.n {
		for j := range p.m {
			costs[i*p.m+j] = p.c(i, j)
		}
	}
	r.near("Costs", r.get(held), costs, float64(p.d+4)*eps(dt), 0)

	rows := r.new(dt, p.n)
	r.ok(r.g.LSERows(rows, held, h, p.inv))
	r.near("LSERows", r.get(rows), p.lse(), 8*eps(dt), tol)
	r.ok(r.g.PlanRows(apply, held, u, h, v, p.inv))
	want, size = p.sums(p.k, func(_, j, a int) float64 { return p.v[j*p.k+a] })
	r.within("PlanRows", r.get(apply), want, size, tol)
	// Columns are the rows of the transposed problem.
	q := &problem{n: p.m, m: p.n, d: p.d, k: 2, cost: p.cost, inv: p.inv, x: p.y, y: p.x, u: p.h, h: p.u, v: make([]float64, 2*p.n)}
	for i := range q.v {
		q.v[i] = float64(i%7) - 3
	}
	cols := r.new(dt, p.m)
	r.ok(r.g.LSECols(cols, held, u, p.inv))
	r.near("LSECols", r.get(cols), q.lse(), 8*eps(dt), tol)
	for _, k := range []int{1, 2} {
		out := r.new(dt, p.m, k)
		w := make([]float64, p.n*k)
		for i := range p.n {
			copy(w[i*k:(i+1)*k], q.v[i*2:])
		}
		r.ok(r.g.PlanCols(out, held, u, h, r.set(dt, w, p.n, k), p.inv))
		want, size = q.sums(k, func(_, j, a int) float64 { return q.v[j*2+a] })
		r.within(fmt.Sprintf("PlanCols k=%d", k), r.get(out), want, size, tol)
	}
}

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
			r.g.launch("point_lse_1", "point_lse1_f32", grid{x: 1, y: 1}, array(lse), none, none, array(x), array(dy), array(dh),
				i64(1), i64(m), i32(1), i64(m), record(c)),
			r.g.launch("point_sum_1", "point_mass1_f32", grid{x: 1, y: 1}, array(mass), array(x), array(dy), array(zero), array(dh), array(dv),
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
		if count, chunk := standard.splits(blocks, m, standard.pointUnit(blocks, m)); blocks*count < 64 || count*chunk < m {
			t.Errorf("%s: %d blocks of %d points", name, blocks*count, chunk)
		}
	}
	for _, blocks := range []int{1, 100, 5000} {
		if unit := standard.pointUnit(blocks, 1<<20); unit != 256 {
			t.Errorf("%d blocks: unit %d", blocks, unit)
		}
	}
}
