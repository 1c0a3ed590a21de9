package cuda

import (
	"strconv"
	"testing"

	"coupling/lab/device/internal/backend"
	"coupling/lab/must"
)

// borrowers are operations that need memory of their own, on sizes where they do.
func borrowers(r *rig) map[string]func() {
	g, f := r.g, backend.Float32
	const n, m, d = 40, 3000, 2
	wide := make([]float64, n*m)
	c, ct := r.set(f, wide, n, m), r.set(f, wide, m, n)
	x, y := r.set(f, wide[:n*d], n, d), r.set(f, wide[:m*d], m, d)
	u, h := r.set(f, wide[:n], n), r.set(f, wide[:m], m)
	v, vt := r.set(f, wide[:m], m, 1), r.set(f, wide[:2*m], m, 2)
	far, farY := r.set(f, wide[:n*70], n, 70), r.set(f, wide[:1000*70], 1000, 70)
	hFar := r.set(f, wide[:1000], 1000)
	long, hLong, few := r.set(f, wide[:2*9000], 2, 9000), r.set(f, wide[:9000], 9000), r.new(f, 2)
	out, outCols, grad := r.new(f, n), r.new(f, n), r.new(f, n, d)
	column, pair, product := r.new(f, n, 1), r.new(f, n, 2), r.new(f, n, n)
	total := r.new(f, 1, 1)
	square := backend.Cost{Square: 1}
	return map[string]func(){
		"LSERows":    func() { g.LSERows(few, long, hLong, 1) },
		"LSECols":    func() { g.LSECols(outCols, ct, h, 1) },
		"PointLSE":   func() { g.PointLSE(out, x, y, h, square, 1) },
		"far":        func() { g.PointLSE(out, far, farY, hFar, square, 1) },
		"PointApply": func() { g.PointApply(column, x, y, u, h, v, square, 1) },
		"PointGrad":  func() { g.PointGrad(grad, x, y, u, h, u, h, square, 1, false) },
		"PlanCols":   func() { g.PlanCols(column, ct, h, u, v, 1) },
		"PlanRows":   func() { g.PlanRows(pair, c, u, h, vt, 1) },
		"Gemm":       func() { g.Gemm(product, 1, c, false, c, true, 0) },
		"Reduce":     func() { g.Reduce(total, c, backend.Sum) },
	}
}

// TestNothingLostWithoutMemory: an operation that finds no memory for itself, at whichever of its allocations, or whose
// launch is refused, has given back what it had when it says so.
func TestNothingLostWithoutMemory(t *testing.T) {
	r := newRig(t, Config{})
	ops := borrowers(r)
	for name, op := range ops {
		t.Run(name, func(t *testing.T) {
			r := &rig{t, r.g}
			r.do(op)
			r.ok(r.g.Sync())
			before, total, err := r.g.MemInfo()
			r.ok(err)
			failed := 0
			for room := int64(0); ; room = room*5/4 + 64 {
				t.Setenv("PTXSIM_MEMORY", strconv.FormatInt(total-before+room, 10))
				err := r.op(op)()
				t.Setenv("PTXSIM_MEMORY", "")
				r.ok(r.g.Sync())
				if after, _, infoErr := r.g.MemInfo(); infoErr != nil || after != before {
					t.Fatalf("room for %d bytes, %v: %d bytes are lost (%v)", room, err, before-after, infoErr)
				}
				if err == nil {
					break
				}
				wants(t, err, backend.ErrMemory)
				failed++
			}
			if failed == 0 {
				t.Error("needs no memory: the test looks at nothing")
			}
		})
	}
	for name, kernel := range map[string]string{
		"LSECols": "lse_join_f32", "Reduce": "sum_f32", "PointApply": "join_sums_f32", "Gemm": "gemm_join_f32",
		"PlanCols": "col_mass_f32",
	} {
		before, _, err := r.g.MemInfo()
		r.ok(err)
		t.Setenv("PTXSIM_FAIL", "launch:"+kernel)
		if err := r.op(ops[name])(); err == nil {
			t.Errorf("%s launches no %s", name, kernel)
		}
		t.Setenv("PTXSIM_FAIL", "")
		r.ok(r.g.Sync())
		if after, _, err := r.g.MemInfo(); err != nil || after != before {
			t.Errorf("%s without %s: %d bytes are lost (%v)", name, kernel, before-after, err)
		}
	}
}

// TestIndexErrorStaysWhereItBelongs: an allocation that waits for the stream does not report another's bad index.
func TestIndexErrorStaysWhereItBelongs(t *testing.T) {
	t.Setenv("PTXSIM_MEMORY", "10000000")
	r := newCachingRig(t, Config{})
	table, row := r.set(backend.Float32, []float64{1, 2}, 2, 1), r.new(backend.Float32, 1, 1)
	index := r.ints([]int32{5}, 1)
	m := must.Get(r.g.Alloc(6 << 20))
	r.ok(r.g.Free(m))
	r.do(func() { r.g.Gather(row, table, index) })
	m = must.Get(r.g.Alloc(8 << 20)) // gives the 6 MB up first
	wants(t, r.g.Sync(), backend.ErrIndex, "Gather: index = 5 at 0")
	r.ok(r.g.Free(m))
}
