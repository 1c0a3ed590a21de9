package cuda

import (
	"slices"
	"strconv"

	"coupling/lab/device/internal/backend"
)

// inSplits launches n log-sum-exps in count splits and joins them: launch gets memory for the tops and the sums of the
// splits, without an address for a single one, which writes out itself.
func (g *gpu) inSplits(out tensor, n, count int, launch func(tops, sums arg)) {
	bytes := 0
	if count > 1 {
		bytes = count * n * out.Type.Size()
	}
	tops, sums := g.borrow(bytes), g.borrow(bytes)
	launch(tops, sums)
	if count > 1 {
		g.launchOf("dense", "lse_join", out, grid{x: min((n+31)/32, g.limits.blocks)}, out, tops, sums, n, count)
	}
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
func (g *gpu) LSERows(out, c, h tensor, inv float64) {
	batch, n, m := batchOf(c)
	rows := batch * n
	if rows == 0 {
		return
	}
	lanes := 256
	if m <= 1024 {
		lanes = 32
	}
	per := 256 / lanes
	blocks := (rows + per - 1) / per
	count, chunk := g.limits.splits(blocks, m, lanes*16)
	g.inSplits(out, rows, count, func(tops, sums arg) {
		g.launchOf("dense", "lse_rows"+strconv.Itoa(lanes), out, grid{x: blocks, y: count}, out, tops, sums, c, h, rows,
			n, m, chunk, inv)
	})
}

// LSECols is out_j = log Σ_i exp(g_i − c_ij·inv).
func (g *gpu) LSECols(out, c, h tensor, inv float64) {
	batch, n, m := batchOf(c)
	if batch*m == 0 {
		return
	}
	blocks := (m + 127) / 128
	count, chunk := g.limits.splits(blocks*batch, n, 16)
	g.inSplits(out, batch*m, count, func(tops, sums arg) {
		size := grid{x: blocks, y: count, z: min(batch, g.limits.rows)}
		g.launchOf("dense", "lse_cols", out, size, out, tops, sums, c, h, batch, n, m, chunk, inv)
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
func (g *gpu) PointLSE(out, x, y, h tensor, c backend.Cost, inv float64) {
	n, m, d := x.Shape[0], y.Shape[0], x.Shape[1]
	dim := dimFor(d)
	if dim == 0 {
		var none tensor
		g.inRows(out, x, y, none, h, none, none, c, inv, pairCosts, func(to, w tensor, _, _ int) {
			g.LSERows(to, w, h, inv)
		})
		return
	}
	if n == 0 {
		return
	}
	at := strconv.Itoa(dim)
	module, name, per := "point_lse_"+at, "point_lse"+at, 128*lseRowsOf(dim, out.Type)
	if rows := tensorRows(dim, out.Type, c); rows > 0 {
		module, name, per = "point_mma_"+at, "point_mma_lse"+at, rows
	}
	blocks := (n + per - 1) / per
	count, chunk := g.limits.splits(blocks, m, g.limits.pointUnit(blocks, m))
	g.inSplits(out, n, count, func(tops, sums arg) {
		g.launchOf(module, name, out, grid{x: blocks, y: count}, out, tops, sums, x, y, h, n, m, int32(d), chunk,
			costOf(c, inv))
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
func (g *gpu) pointSum(out, x, y tensor, a sum) {
	n, m, d := x.Shape[0], y.Shape[0], x.Shape[1]
	if out.Len() == 0 {
		return
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
	to := array(out)
	if count > 1 {
		to = g.borrow(count * out.Len() * out.Type.Size())
	}
	g.launchOf(module, name, out, grid{x: blocks, y: count}, to, x, y, a.u, a.h, a.v, a.r, a.s, n, m, int32(d),
		int32(a.width), chunk, costOf(a.cost, a.inv), a.linear)
	if count > 1 {
		g.eachOf("dense", "join_sums", out, out.Len(), out, to, out.Len(), count)
	}
}

// wideDim reports whether a dimension has kernels whose sums are as wide as points.
func wideDim(dim int, t backend.DType) bool { return dim > 0 && (t == backend.Float32 || dim <= 16) }

// PointApply is out_i = Σ_j P_ij v_j.
func (g *gpu) PointApply(out, x, y, u, h, v tensor, c backend.Cost, inv float64) {
	dim, k := dimFor(x.Shape[1]), v.Shape[1]
	a := sum{name: "apply", u: u, h: h, v: v, width: k, cost: c, inv: inv, dim: dim}
	switch {
	case k == 1 && dim > 0:
		a.name = "mass"
		g.pointSum(out, x, y, a)
	case k <= dim && wideDim(dim, out.Type):
		g.pointSum(out, x, y, a)
	default:
		g.inRows(out, x, y, u, h, u, h, c, inv, pairPlan, func(to, w tensor, _, _ int) {
			g.Gemm(to, 1, w, false, v, false, 0)
		})
	}
}

// PointGrad is grad_i = Σ_j P_ij·(1 + r_i + s_j − c_ij·inv)·∂c/∂x_i.
func (g *gpu) PointGrad(grad, x, y, u, h, r, s tensor, c backend.Cost, inv float64, linear bool) {
	d := x.Shape[1]
	if dim := dimFor(d); wideDim(dim, grad.Type) {
		g.pointSum(grad, x, y, sum{
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
		return
	}
	what := pairBracket
	if linear {
		what = pairLinear
	}
	g.inRows(grad, x, y, u, h, r, s, c, inv, what, func(to, w tensor, lo, hi int) {
		rows := hi - lo
		size := grid{x: (d + 63) / 64, y: min((rows+63)/64, g.limits.rows)}
		g.launchOf("tiles", "differences", grad, size, to, w, rowsOf(x, lo, hi), y, rows, y.Shape[0], d, costOf(c, inv))
	})
}

// PointCost is out_i = Σ_j P_ij·c_ij.
func (g *gpu) PointCost(out, x, y, u, h tensor, c backend.Cost, inv float64) {
	if dim := dimFor(x.Shape[1]); dim > 0 {
		g.pointSum(out, x, y, sum{name: "cost", u: u, h: h, width: 1, cost: c, inv: inv, dim: dim})
		return
	}
	g.inRows(out, x, y, u, h, u, h, c, inv, pairCost, func(to, w tensor, lo, hi int) {
		g.Reduce(as(to, hi-lo, 1), w, backend.Sum)
	})
}

// Costs writes cost(x_i, y_j).
func (g *gpu) Costs(c, x, y tensor, k backend.Cost) {
	var none tensor
	g.pairs(c, x, y, none, none, none, none, 0, k, 1, pairCosts)
}
