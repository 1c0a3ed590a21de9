package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A rowCase is one row of arguments with its reference, all in float64.
type rowCase[T Float] struct {
	h, c     []T
	inv      T
	x, slack []float64 // arguments h − c·inv, and how far rounding may move them
	top, lse float64
}

// newRow draws a row; wild rows hold −Inf, huge, tiny and denormal values.
func newRow[T Float](r *rand.Rand, n int, wild bool) rowCase[T] {
	rc := rowCase[T]{h: random[T](r, n, 3), c: random[T](r, n, 3), inv: T(math.Exp(2 * r.NormFloat64()))}
	if wild {
		for j := range n {
			switch r.IntN(8) {
			case 0:
				rc.h[j] = T(math.Inf(-1))
			case 1:
				rc.c[j] = T(math.Inf(1))
			case 2:
				rc.c[j] = 1e30
			case 3:
				rc.h[j] = -1e30
			case 4:
				rc.c[j] = T(math.SmallestNonzeroFloat64)
			case 5:
				rc.c[j], rc.h[j] = T(math.SmallestNonzeroFloat32), -T(math.SmallestNonzeroFloat32)
			}
		}
	}
	rc.refer()
	return rc
}

// refer computes the reference from h, c and inv.
func (rc *rowCase[T]) refer() {
	n := len(rc.h)
	rc.x, rc.slack, rc.top = make([]float64, n), make([]float64, n), math.Inf(-1)
	for j := range n {
		h, p := float64(rc.h[j]), float64(rc.c[j])*float64(rc.inv)
		rc.x[j] = math.FMA(-float64(rc.c[j]), float64(rc.inv), h)
		if !math.IsInf(rc.x[j], 0) {
			rc.slack[j] = unit[T]() * (math.Abs(h) + math.Abs(p))
		}
		rc.top = math.Max(rc.top, rc.x[j])
	}
	var exps total
	for _, x := range rc.x {
		if !math.IsInf(x, -1) {
			exps.add(math.Exp(x - rc.top))
		}
	}
	sum := exps.value()
	rc.lse = rc.top + math.Log(sum)
	if sum == 0 {
		rc.lse = math.Inf(-1)
	}
}

// tol is how far exp(x_j − shift) may be from its reference.
func (rc *rowCase[T]) tol(j int, shift, want float64) float64 {
	d := rc.x[j] - shift
	if math.IsInf(d, 0) {
		return 0
	}
	highest := math.Exp(d + 2*rc.slack[j] + unit[T]()*(2*math.Abs(d)+4))
	if math.IsInf(highest, 1) { // rounding alone may move the argument anywhere
		return highest
	}
	return highest - want + 2*math.Exp(expFloor[T]())
}

// lseTol is how far a log-sum-exp may be: the rounding of the arguments that
// count, of the sum, and of differences from a shift that is up to 16 away.
func (rc *rowCase[T]) lseTol() float64 {
	tol := unit[T]() * (16 + math.Abs(rc.top) + float64(len(rc.x))/8)
	worst := 0.0
	for j, x := range rc.x {
		if x >= rc.top-40 {
			worst = max(worst, rc.slack[j])
		}
	}
	return tol + 2*worst
}

func TestRows(t *testing.T) { onAll(t, rows[float64], rows[float32]) }

func rows[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(3)
	for _, n := range lengths {
		for _, wild := range []bool{false, true} {
			checkRow(t, k, newRow[T](r, n, wild), label("n = %d, wild = %v: ", n, wild).String())
			if t.Failed() {
				return
			}
		}
	}
}

// checkRow compares every kernel on a dense row with the reference.
func checkRow[T Float](t *testing.T, k Kernels[T], rc rowCase[T], what string) {
	t.Helper()
	n := len(rc.h)
	topTol := rc.lseTol()
	near(t, what+"RowMax", k.RowMax(rc.h, rc.c, rc.inv), rc.top, topTol)
	near(t, what+"RowLSE", k.RowLSE(rc.h, rc.c, rc.inv), rc.lse, topTol)

	logits, intact := guarded[T](n)
	near(t, what+"RowLogits", k.RowLogits(logits, rc.h, rc.c, rc.inv), rc.top, topTol)
	for j, v := range logits {
		near(t, label("%sRowLogits[%d]", what, j), v, rc.x[j], rc.slack[j]*2+smallest[T]())
	}
	if !intact() {
		t.Fatal(what + "RowLogits wrote outside dst")
	}

	dst, intact := guarded[T](n)
	top, sum := k.RowExp(dst, rc.h, rc.c, rc.inv)
	near(t, what+"RowExp top", top, rc.top, topTol)
	shift := float64(finite(top))
	checkExps(t, &rc, dst, sum, shift, what+"RowExp")
	if !intact() {
		t.Fatal(what + "RowExp wrote outside dst")
	}
	for j, v := range dst {
		if v < 0 || v > 1 {
			t.Errorf("%sRowExp[%d] = %v, want within [0, 1]", what, j, v)
		}
	}

	at := T(shift + 1.5)
	clear(dst)
	sum = k.RowExpAt(dst, rc.h, rc.c, rc.inv, at)
	checkExps(t, &rc, dst, sum, float64(at), what+"RowExpAt")
}

// checkExps compares stored exponentials and their sum with the reference.
func checkExps[T Float](t *testing.T, rc *rowCase[T], dst []T, sum T, shift float64, what string) {
	t.Helper()
	var exps total
	tol := 0.0
	for j, v := range dst {
		want := math.Exp(rc.x[j] - shift)
		near(t, label("%s[%d] (x = %v)", what, j, rc.x[j]), v, want, rc.tol(j, shift, want))
		exps.add(want)
		tol += rc.tol(j, shift, want)
	}
	want := exps.value() // plain Go rounds at every term, half a unit each
	near(t, what+" sum", sum, want, tol+unit[T]()*want*float64(4+len(dst)/2))
}

func TestRowExpScaled(t *testing.T) { onAll(t, rowExpScaled[float64], rowExpScaled[float32]) }

// rowExpScaled: differences of large numbers that cancel exactly stay exact.
func rowExpScaled[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(15)
	for _, n := range lengths {
		const far = 1 << 15
		h, c, logits := make([]T, n), make([]T, n), make([]T, n)
		for j := range n {
			h[j], c[j] = T(far+r.IntN(64)), T(far+r.IntN(64))
		}
		if n > 3 {
			h[n/2] = T(math.Inf(-1))
		}
		shift := finite(k.RowLogits(logits, h, c, 1))
		dst, intact := guarded[T](n)
		sum := k.RowExpScaled(dst, h, c, shift, 0.125)
		want := 0.0
		for j, v := range dst {
			x := (float64(h[j]) - float64(c[j]) - float64(shift)) / 8
			e := math.Exp(x)
			near(t, label("RowExpScaled[%d] of %d", j, n), v, e, relative((3-min(0, max(x, -100))/8)*unit[T](), e))
			want += e
		}
		near(t, label("RowExpScaled sum of %d", n), sum, want, unit[T]()*want*float64(8+n/8))
		if again := k.ExpScaled(logits, logits, shift, 0.125); again != sum {
			t.Errorf("ExpScaled of %d = %v, RowExpScaled = %v: want equal", n, again, sum)
		}
		for j, v := range dst {
			if logits[j] != v {
				t.Fatalf("ExpScaled[%d] of %d = %v, RowExpScaled %v: want equal", j, n, logits[j], v)
			}
		}
		if !intact() {
			t.Fatalf("RowExpScaled of %d wrote outside dst", n)
		}
	}
}

func TestRowNothing(t *testing.T) { onAll(t, rowNothing[float64], rowNothing[float32]) }

// rowNothing: empty rows and rows without mass.
func rowNothing[T Float](t *testing.T, k Kernels[T]) {
	inf := T(math.Inf(1))
	for _, n := range []int{0, 1, 7, 64, 100} {
		h, c, dst := make([]T, n), make([]T, n), make([]T, n)
		for j := range n {
			h[j], dst[j] = -inf, 9
		}
		top, sum := k.RowExp(dst, h, c, 3)
		if top != -inf || sum != 0 {
			t.Errorf("RowExp of %d times -Inf = %v, %v, want -Inf, 0", n, top, sum)
		}
		for j, v := range dst {
			if v != 0 {
				t.Errorf("RowExp of -Inf: dst[%d] = %v, want 0", j, v)
			}
		}
		if got := k.RowLSE(h, c, 3); got != -inf {
			t.Errorf("RowLSE of %d times -Inf = %v, want -Inf", n, got)
		}
	}
}

func TestRowNaN(t *testing.T) { onAll(t, rowNaN[float64], rowNaN[float32]) }

// rowNaN: top ignores NaN, the exponential and the sum keep it, wherever it is.
func rowNaN[T Float](t *testing.T, k Kernels[T]) {
	nan := T(math.NaN())
	for _, n := range []int{1, 9, 70} {
		for bad := range n {
			for _, inCost := range []bool{true, false} {
				h, c, dst := make([]T, n), make([]T, n), make([]T, n)
				for j := range n {
					c[j] = T(j + 1)
				}
				if inCost {
					c[bad] = nan
				} else {
					h[bad] = nan
				}
				top, sum := k.RowExp(dst, h, c, 1)
				wantTop := T(-1)
				switch {
				case n == 1:
					wantTop = T(math.Inf(-1))
				case bad == 0:
					wantTop = -2
				}
				if top != wantTop || sum == sum || dst[bad] == dst[bad] {
					t.Fatalf("RowExp with NaN at %d of %d = %v, %v with dst %v there; want %v, NaN with NaN", bad, n,
						top, sum, dst[bad], wantTop)
				}
				for j, v := range dst {
					if j != bad && v != v {
						t.Fatalf("RowExp with NaN at %d: NaN at %d too", bad, j)
					}
				}
				if lse := k.RowLSE(h, c, 1); lse == lse {
					t.Fatalf("RowLSE with NaN at %d of %d = %v, want NaN", bad, n, lse)
				}
			}
		}
	}
}

func TestPoints(t *testing.T) { onAll(t, points[float64], points[float32]) }

func points[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(4)
	for _, n := range lengths {
		for _, cost := range []Cost[T]{{Square: 1}, {Square: 0.5}, {Abs: 1}, {Square: 1e-38, Abs: 4},
			{Square: 1, Abs: 1}, {Square: 2, Abs: 0.25}} {
			d := []int{0, 1, 2, 3, 7}[r.IntN(5)]
			x, y := random[T](r, d, 1), random[T](r, d*n, 1)
			checkPoints(t, k, r, x, y, n, cost)
			if t.Failed() {
				t.Fatalf("cost %+v in %d dimensions, %d points", cost, d, n)
			}
		}
	}
}

// checkPoints compares the kernels on points with those on the dense row of
// costs, itself compared with float64.
func checkPoints[T Float](t *testing.T, k Kernels[T], r *rand.Rand, x, y []T, n int, cost Cost[T]) {
	t.Helper()
	rc := rowCase[T]{h: random[T](r, n, 2), inv: 3}
	if n > 1 {
		rc.h[r.IntN(n)] = T(math.Inf(-1))
	}
	var intact func() bool
	rc.c, intact = guarded[T](n)
	k.PointCosts(rc.c, x, y, cost)
	if !intact() {
		t.Fatal("PointCosts wrote outside dst")
	}
	for j := range n {
		want := 0.0
		for i := range x {
			d := math.Abs(float64(x[i]) - float64(y[i*n+j]))
			want += float64(cost.Square)*d*d + float64(cost.Abs)*d
		}
		near(t, label("PointCosts[%d]", j), rc.c[j], want, unit[T]()*want*float64(len(x)+5))
	}
	rc.refer()
	for j := range rc.slack {
		rc.slack[j] *= float64(len(x) + 8) // the costs' own rounding
	}
	near(t, "PointRowLSE", k.PointRowLSE(rc.h, x, y, cost, rc.inv), rc.lse, rc.lseTol())
	dst, intact := guarded[T](n)
	top, sum := k.PointRowExp(dst, rc.h, x, y, cost, rc.inv)
	near(t, "PointRowExp top", top, rc.top, rc.lseTol())
	checkExps(t, &rc, dst, sum, float64(finite(top)), "PointRowExp")
	shift := finite(top) + 0.5
	sum = k.PointRowExpAt(dst, rc.h, x, y, cost, rc.inv, shift)
	checkExps(t, &rc, dst, sum, float64(shift), "PointRowExpAt")
	near(t, "PointLogits", k.PointLogits(dst, rc.h, x, y, cost, rc.inv), rc.top, rc.lseTol())
	for j, v := range dst {
		near(t, label("PointLogits[%d]", j), v, rc.x[j], rc.slack[j]*2+smallest[T]())
	}
	if !intact() {
		t.Fatal("a kernel on points wrote outside dst")
	}
}

func TestColumns(t *testing.T) { onAll(t, columns[float64], columns[float32]) }

// columns: the running log-sum-exp along rows equals that of each column.
func columns[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(5)
	for _, n := range lengths {
		rows := 1 + r.IntN(12)
		cols := make([]rowCase[T], n)
		for j := range cols {
			cols[j] = rowCase[T]{h: make([]T, rows), c: make([]T, rows), inv: 2.5}
		}
		top, intactTop := guarded[T](n)
		sum, intactSum := guarded[T](n)
		k.ColStart(top, sum)
		for i := range rows {
			row := newRow[T](r, n, true)
			g := T(3 * r.NormFloat64())
			for j := range cols {
				cols[j].h[i], cols[j].c[i] = g, row.c[j]
			}
			k.ColAdd(top, sum, row.c, g, 2.5)
		}
		for j := range cols {
			cols[j].refer()
			near(t, label("columns[%d] of %d rows", j, rows), logSum(top[j], sum[j]), cols[j].lse,
				cols[j].lseTol()+float64(rows)*unit[T]())
		}
		if !intactTop() || !intactSum() {
			t.Fatalf("a column kernel of %d wrote outside its slices", n)
		}
		if t.Failed() {
			return
		}
	}
}

func TestColumnNaN(t *testing.T) { onAll(t, columnNaN[float64], columnNaN[float32]) }

func columnNaN[T Float](t *testing.T, k Kernels[T]) {
	const n = 37
	for bad := range n {
		top, sum, c := make([]T, n), make([]T, n), make([]T, n)
		k.ColStart(top, sum)
		k.ColAdd(top, sum, c, 1, 1)
		c[bad] = T(math.NaN())
		k.ColAdd(top, sum, c, 1, 1)
		for j := range n {
			if (sum[j] != sum[j]) != (j == bad) || top[j] != 1 {
				t.Fatalf("NaN in column %d: column %d has top %v, sum %v", bad, j, top[j], sum[j])
			}
		}
	}
}
