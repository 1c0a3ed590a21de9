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
func (g *gpu) pairs(w, x, y, u, h, r, s tensor, lo int, c backend.Cost, inv float64, what int) error {
	n, m := w.Shape[0], w.Shape[1]
	if n*m == 0 {
		return nil
	}
	name, side := "pairs", 64
	if (m+63)/64*((n+63)/64) < g.limits.few {
		name, side = "pairs_small", 16
	}
	size := grid{x: (m + side - 1) / side, y: min((n+side-1)/side, g.limits.rows)}
	return g.launchOf("tiles", name, w, size, array(w), array(rowsOf(x, lo, lo+n)), array(y),
		array(rowsOf(u, lo, lo+n)), array(h), array(rowsOf(r, lo, lo+n)), array(s), i64(n), i64(m), i64(x.Shape[1]),
		costOf(c, inv), i32(what))
}

// rowsOf is the rows lo to hi of a tensor.
func rowsOf(t tensor, lo, hi int) tensor {
	if t.Mem == nil {
		return t
	}
	inner := 1
	for _, s := range t.Shape[1:] {
		inner *= s
	}
	t.Offset += lo * inner
	t.Shape = append([]int{hi - lo}, t.Shape[1:]...)
	return t
}

// inRows runs f over chunks of the rows of x and of out, with what pairs makes of them and y in scratch memory. Sums
// over columns do not depend on where rows are cut, since rows are whole.
func (g *gpu) inRows(out, x, y, u, h, r, s tensor, c backend.Cost, inv float64, what int,
	f func(to, w tensor, lo, hi int) error) error {
	return g.do(func() error {
		return g.chunks(x.Shape[0], y.Shape[0], out.Type, func(lo, hi int, w tensor) error {
			if err := g.pairs(w, x, y, u, h, r, s, lo, c, inv, what); err != nil {
				return err
			}
			return f(rowsOf(out, lo, hi), w, lo, hi)
		})
	})
}

func (g *gpu) chunks(n, m int, t backend.DType, f func(lo, hi int, w tensor) error) error {
	rows := min(n, max(64, g.limits.chunk/(max(m, 1)*t.Size())))
	if n == 0 {
		return nil
	}
	return g.borrow(int64(rows)*int64(m)*int64(t.Size()), func(held *memory) error {
		for lo := 0; lo < n; lo += rows {
			hi := min(lo+rows, n)
			if err := f(lo, hi, tensor{Mem: held, Type: t, Shape: []int{hi - lo, m}}); err != nil {
				return err
			}
		}
		return nil
	})
}

// PlanRows is out_i = Σ_j P_ij v_j with costs held.
func (g *gpu) PlanRows(out, c, u, h, v tensor, inv float64) error {
	n, m, k := c.Shape[0], c.Shape[1], v.Shape[1]
	return g.do(func() error {
		if k == 1 {
			return g.launchOf("dense", "row_mass", out, grid{x: min(n, g.limits.blocks)}, array(out),
				array(c), array(u), array(h), array(v), i64(n), i64(m), f64(inv))
		}
		return g.chunks(n, m, out.Type, func(lo, hi int, w tensor) error {
			if err := g.weights(w, c, u, h, lo, inv); err != nil {
				return err
			}
			to := rowsOf(out, lo, hi)
			return g.gemm(to, array(w), array(v), newProduct(to, 1, w, false, v, false, 0))
		})
	})
}

// PlanCols is out_j = Σ_i P_ij v_i with costs held.
func (g *gpu) PlanCols(out, c, u, h, v tensor, inv float64) error {
	n, m, k := c.Shape[0], c.Shape[1], v.Shape[1]
	return g.do(func() error {
		if out.Len() == 0 {
			return nil
		}
		if k == 1 {
			return g.colMass(out, c, u, h, v, inv)
		}
		if n == 0 {
			return g.eachOf("elementwise", "fill", out, out.Len(), array(out), i64(out.Len()), f64(0))
		}
		return g.chunks(n, m, out.Type, func(lo, hi int, w tensor) error {
			if err := g.weights(w, c, u, h, lo, inv); err != nil {
				return err
			}
			part, beta := rowsOf(v, lo, hi), 1.0
			if lo == 0 {
				beta = 0
			}
			return g.gemm(out, array(w), array(part), newProduct(out, 1, w, true, part, false, beta))
		})
	})
}

func (g *gpu) colMass(out, c, u, h, v tensor, inv float64) error {
	n, m := c.Shape[0], c.Shape[1]
	blocks := (m + 127) / 128
	count, chunk := g.limits.splits(blocks, n, 16)
	return g.borrow(int64(count)*int64(m)*8, func(parts *memory) error {
		err := g.launchOf("dense", "col_mass", out, grid{x: blocks, y: count}, block(parts), array(c),
			array(u), array(h), array(v), i64(n), i64(m), i64(chunk), f64(inv))
		if err != nil {
			return err
		}
		return g.eachOf("dense", "join_wide", out, m, array(out), block(parts), i64(m), i64(count))
	})
}

// weights writes rows of a plan with costs held, those from row lo on.
func (g *gpu) weights(w, c, u, h tensor, lo int, inv float64) error {
	n, m := w.Shape[0], w.Shape[1]
	if n*m == 0 {
		return nil
	}
	size := grid{x: min((m+255)/256, g.limits.blocks), y: min(n, g.limits.rows)}
	return g.launchOf("dense", "weights", w, size, array(w), array(rowsOf(c, lo, lo+n)),
		array(rowsOf(u, lo, lo+n)), array(h), i64(n), i64(m), f64(inv))
}
