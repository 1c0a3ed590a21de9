package cuda

import "coupling/lab/device/internal/backend"

// What the kernel pairs writes, as tiles.cu numbers it.
const (
	pairCosts = iota
	pairPlan
	pairCost
	pairBracket
	pairLinear
)

// pairs writes rows of pairs, those of x from row lo on.
func (g *gpu) pairs(w, x, y, u, h, r, s tensor, lo int, c backend.Cost, inv float64, what int) {
	n, m := w.Shape[0], w.Shape[1]
	if n*m == 0 {
		return
	}
	name, side := "pairs", 64
	if (m+63)/64*((n+63)/64) < g.limits.few {
		name, side = "pairs_small", 16
	}
	size := grid{x: (m + side - 1) / side, y: min((n+side-1)/side, g.limits.rows)}
	g.launchOf("tiles", name, w, size, w, rowsOf(x, lo, lo+n), y, rowsOf(u, lo, lo+n), h, rowsOf(r, lo, lo+n), s, n, m,
		x.Shape[1], costOf(c, inv), int32(what))
}

// rowsOf is the rows lo to hi of a tensor, or of none.
func rowsOf(t tensor, lo, hi int) tensor {
	if t.Mem == nil {
		return t
	}
	return t.Rows(lo, hi)
}

// inRows runs f over chunks of the rows of x and of out, with what pairs makes of them and y in scratch memory. Sums
// over columns do not depend on where rows are cut, since rows are whole.
func (g *gpu) inRows(out, x, y, u, h, r, s tensor, c backend.Cost, inv float64, what int,
	f func(to, w tensor, lo, hi int)) {
	g.chunks(x.Shape[0], y.Shape[0], out.Type, func(lo, hi int, w tensor) {
		g.pairs(w, x, y, u, h, r, s, lo, c, inv, what)
		f(rowsOf(out, lo, hi), w, lo, hi)
	})
}

func (g *gpu) chunks(n, m int, t backend.DType, f func(lo, hi int, w tensor)) {
	rows := min(n, max(64, g.limits.chunk/(max(m, 1)*t.Size())))
	for lo := 0; lo < n; lo += rows {
		hi := min(lo+rows, n)
		g.round(func() { f(lo, hi, g.borrowTensor(t, hi-lo, m)) })
	}
}

// PlanRows is out_i = Σ_j P_ij v_j with costs held.
func (g *gpu) PlanRows(out, c, u, h, v tensor, inv float64) {
	n, m, k := c.Shape[0], c.Shape[1], v.Shape[1]
	if k == 1 {
		g.launchOf("dense", "row_mass", out, grid{x: min(n, g.limits.blocks)}, out, c, u, h, v, n, m, inv)
		return
	}
	g.chunks(n, m, out.Type, func(lo, hi int, w tensor) {
		g.weights(w, c, u, h, lo, inv)
		g.Gemm(rowsOf(out, lo, hi), 1, w, false, v, false, 0)
	})
}

// PlanCols is out_j = Σ_i P_ij v_i with costs held.
func (g *gpu) PlanCols(out, c, u, h, v tensor, inv float64) {
	n, m, k := c.Shape[0], c.Shape[1], v.Shape[1]
	switch {
	case out.Len() == 0:
	case k == 1:
		blocks := (m + 127) / 128
		count, chunk := g.limits.splits(blocks, n, 16)
		parts := g.borrow(count * m * 8)
		g.launchOf("dense", "col_mass", out, grid{x: blocks, y: count}, parts, c, u, h, v, n, m, chunk, inv)
		g.eachOf("dense", "join_wide", out, m, out, parts, m, count)
	case n == 0:
		g.Fill(out, 0)
	default:
		g.chunks(n, m, out.Type, func(lo, hi int, w tensor) {
			g.weights(w, c, u, h, lo, inv)
			beta := 1.0
			if lo == 0 {
				beta = 0
			}
			g.Gemm(out, 1, w, true, rowsOf(v, lo, hi), false, beta)
		})
	}
}

// weights writes rows of a plan with costs held, those from row lo on.
func (g *gpu) weights(w, c, u, h tensor, lo int, inv float64) {
	n, m := w.Shape[0], w.Shape[1]
	if n*m == 0 {
		return
	}
	size := grid{x: min((m+255)/256, g.limits.blocks), y: min(n, g.limits.rows)}
	g.launchOf("dense", "weights", w, size, w, rowsOf(c, lo, lo+n), rowsOf(u, lo, lo+n), h, n, m, inv)
}
