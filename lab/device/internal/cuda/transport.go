package cuda

import (
	"slices"
	"strconv"

	"coupling/lab/device/internal/backend"
)

// inSplits launches n log-sum-exps in count splits and joins them: launch gets memory for the tops and the sums of the
// splits, none for a single one, which writes out itself.
func (g *gpu) inSplits(out tensor, n, count int, launch func(tops, sums arg) error) error {
	if count == 1 {
		return launch(arg{size: 8}, arg{size: 8})
	}
	bytes := int64(count) * int64(n) * int64(out.Type.Size())
	return g.borrow(bytes, func(tops *memory) error {
		return g.borrow(bytes, func(sums *memory) error {
			if err := launch(block(tops), block(sums)); err != nil {
				return err
			}
			return g.launchOf("dense", "lse_join", out, grid{x: min((n+31)/32, g.limits.blocks)}, array(out),
				block(tops), block(sums), i64(n), i64(count))
		})
	})
}

// batchOf reads rank 2 as a batch of one.
func batchOf(c tensor) (batch, n, m int) {
	s := c.Shape
	if len(s) == 3 {
		return s[0], s[1], s[2]
	}
	return 1, s[0], s[1]
}

// LSERows is out_i = log Σ_j exp(h_j − c_ij·inv).
func (g *gpu) LSERows(out, c, h tensor, inv float64) error {
	return g.do(func() error { return g.lseRows(out, c, h, inv) })
}

func (g *gpu) lseRows(out, c, h tensor, inv float64) error {
	batch, n, m := batchOf(c)
	rows := batch * n
	if rows == 0 {
		return nil
	}
	lanes := 256
	if m <= 1024 {
		lanes = 32
	}
	per := 256 / lanes
	blocks := (rows + per - 1) / per
	count, chunk := g.limits.splits(blocks, m, lanes*16)
	return g.inSplits(out, rows, count, func(tops, sums arg) error {
		return g.launchOf("dense", "lse_rows"+strconv.Itoa(lanes), out, grid{x: blocks, y: count}, array(out),
			tops, sums, array(c), array(h), i64(rows), i64(n), i64(m), i64(chunk), f64(inv))
	})
}

// LSECols is out_j = log Σ_i exp(g_i − c_ij·inv).
func (g *gpu) LSECols(out, c, h tensor, inv float64) error {
	batch, n, m := batchOf(c)
	return g.do(func() error {
		if batch*m == 0 {
			return nil
		}
		blocks := (m + 127) / 128
		count, chunk := g.limits.splits(blocks*batch, n, 16)
		return g.inSplits(out, batch*m, count, func(tops, sums arg) error {
			return g.launchOf("dense", "lse_cols", out, grid{blocks, count, min(batch, g.limits.rows)},
				array(out), tops, sums, array(c), array(h), i64(batch), i64(n), i64(m), i64(chunk), f64(inv))
		})
	})
}

// cost is the struct Cost of transport.h.
type cost struct{ Square, Abs, Inv float64 }

func costOf(c backend.Cost, inv float64) arg { return record(&cost{c.Square, c.Abs, inv}) }

// dims are the dimensions that have kernels of their own; points of fewer coordinates take the next one.
var dims = []int{1, 2, 3, 4, 8, 16, 32, 64}

// dimFor is the kernel for d coordinates, 0 where there is none.
func dimFor(d int) int {
	if k, _ := slices.BinarySearch(dims, d); k < len(dims) {
		return dims[k]
	}
	return 0
}

// lseRowsOf is the number of rows that a thread of point_lse takes, as point_lse.cu has it.
func lseRowsOf(dim int, t backend.DType) int {
	rows := map[int]int{1: 4, 2: 4, 3: 4, 4: 2, 8: 2, 16: 4, 32: 2, 64: 2}[dim]
	switch {
	case t == backend.Float32:
		return rows
	case dim <= 3:
		return 2
	}
	return 1
}

// tensorRows is the number of rows that a block of point_mma.cu takes, 0 where it does not take the problem.
func tensorRows(dim int, t backend.DType, c backend.Cost) int {
	if t != backend.Float32 || c.Abs != 0 {
		return 0
	}
	return map[int]int{16: 256, 32: 256, 64: 128}[dim]
}

// PointLSE is LSERows with costs made on the way.
func (g *gpu) PointLSE(out, x, y, h tensor, c backend.Cost, inv float64) error {
	n, m, d := x.Shape[0], y.Shape[0], x.Shape[1]
	dim := dimFor(d)
	if dim == 0 {
		var none tensor
		return g.inRows(out, x, y, none, h, none, none, c, inv, pairCosts, func(to, w tensor, _, _ int) error {
			return g.lseRows(to, w, h, inv)
		})
	}
	return g.do(func() error {
		if n == 0 {
			return nil
		}
		at := strconv.Itoa(dim)
		module, name, per := "point_lse_"+at, "point_lse"+at, 128*lseRowsOf(dim, out.Type)
		if rows := tensorRows(dim, out.Type, c); rows > 0 {
			module, name, per = "point_mma_"+at, "point_mma_lse"+at, rows
		}
		blocks := (n + per - 1) / per
		count, chunk := g.limits.splits(blocks, m, g.limits.pointUnit(blocks, m))
		return g.inSplits(out, n, count, func(tops, sums arg) error {
			return g.launchOf(module, name, out, grid{x: blocks, y: count}, array(out), tops, sums,
				array(x), array(y), array(h), i64(n), i64(m), i32(d), i64(chunk), costOf(c, inv))
		})
	})
}

// sum is an operation of point_sum.cu and its arguments.
type sum struct {
	name    string // mass, apply, cost or grad
	u, h, v tensor
	r, s    tensor
	width   int // columns of the result
	cost    backend.Cost
	inv     float64
	linear  bool
	dim     int
}

// pointSum runs it, with the columns split where rows are few.
func (g *gpu) pointSum(out, x, y tensor, a sum) error {
	n, m, d := x.Shape[0], y.Shape[0], x.Shape[1]
	return g.do(func() error {
		if out.Len() == 0 {
			return nil
		}
		at := strconv.Itoa(a.dim)
		module, name, per := "point_sum_"+at, "point_"+a.name+at, 128
		if rows := tensorRows(a.dim, out.Type, a.cost); rows > 0 && (a.name == "mass" || a.name == "grad") {
			module, name, per = "point_mma_"+at, "point_mma_"+a.name+at, rows
		}
		blocks := (n + per - 1) / per
		count, chunk := g.limits.splits(blocks, m, g.limits.pointUnit(blocks, m))
		if most := 1 << 17; chunk > most && a.dim >= 16 { // these are not compensated: chunks stay short
			count, chunk = (m+most-1)/most, most
		}
		to := func(to arg) error {
			return g.launchOf(module, name, out, grid{x: blocks, y: count}, to, array(x), array(y),
				array(a.u), array(a.h), array(a.v), array(a.r), array(a.s), i64(n), i64(m), i32(d), i32(a.width),
				i64(chunk), costOf(a.cost, a.inv), flag(a.linear))
		}
		if count == 1 {
			return to(array(out))
		}
		return g.borrow(int64(count)*int64(out.Len())*int64(out.Type.Size()), func(parts *memory) error {
			if err := to(block(parts)); err != nil {
				return err
			}
			return g.eachOf("dense", "join_sums", out, out.Len(), array(out), block(parts), i64(out.Len()),
				i64(count))
		})
	})
}

// wideDim reports whether a dimension has kernels whose sums are as wide as points.
func wideDim(dim int, t backend.DType) bool { return dim > 0 && (t == backend.Float32 || dim <= 16) }

// PointApply is out_i = Σ_j P_ij v_j.
func (g *gpu) PointApply(out, x, y, u, h, v tensor, c backend.Cost, inv float64) error {
	dim, k := dimFor(x.Shape[1]), v.Shape[1]
	a := sum{name: "apply", u: u, h: h, v: v, width: k, cost: c, inv: inv, dim: dim}
	switch {
	case k == 1 && dim > 0:
		a.name = "mass"
		return g.pointSum(out, x, y, a)
	case k <= dim && wideDim(dim, out.Type):
		return g.pointSum(out, x, y, a)
	}
	return g.inRows(out, x, y, u, h, u, h, c, inv, pairPlan, func(to, w tensor, _, _ int) error {
		return g.gemm(to, array(w), array(v), newProduct(to, 1, w, false, v, false, 0))
	})
}

// PointGrad is grad_i = Σ_j P_ij·(1 + r_i + s_j − c_ij·inv)·∂c/∂x_i.
func (g *gpu) PointGrad(grad, x, y, u, h, r, s tensor, c backend.Cost, inv float64, linear bool) error {
	d := x.Shape[1]
	if dim := dimFor(d); wideDim(dim, grad.Type) {
		return g.pointSum(grad, x, y, sum{
			name:   "grad",
			u:      u,
			h:      h,
			r:      r,
			s:      s,
			width:  d,
			cost:   c,
			inv:    inv,
			linear: linear,
			dim:    dim,
		})
	}
	what := pairBracket
	if linear {
		what = pairLinear
	}
	return g.inRows(grad, x, y, u, h, r, s, c, inv, what, func(to, w tensor, lo, hi int) error {
		rows := hi - lo
		size := grid{x: (d + 63) / 64, y: min((rows+63)/64, g.limits.rows)}
		return g.launchOf("tiles", "differences", grad, size, array(to), array(w),
			array(rowsOf(x, lo, hi)), array(y), i64(rows), i64(y.Shape[0]), i64(d), costOf(c, inv))
	})
}

// PointCost is out_i = Σ_j P_ij·c_ij.
func (g *gpu) PointCost(out, x, y, u, h tensor, c backend.Cost, inv float64) error {
	if dim := dimFor(x.Shape[1]); dim > 0 {
		return g.pointSum(out, x, y, sum{name: "cost", u: u, h: h, width: 1, cost: c, inv: inv, dim: dim})
	}
	return g.inRows(out, x, y, u, h, u, h, c, inv, pairCost, func(to, w tensor, lo, hi int) error {
		to.Shape = []int{hi - lo, 1}
		return g.reduceOne(to, w, backend.Sum)
	})
}

// Costs writes cost(x_i, y_j).
func (g *gpu) Costs(c, x, y tensor, k backend.Cost) error {
	return g.do(func() error {
		none := tensor{}
		return g.pairs(c, x, y, none, none, none, none, 0, k, 1, pairCosts)
	})
}
