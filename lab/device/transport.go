package device

import "coupling/lab/device/internal/backend"

// Cost is c(x, y) = Square·|x−y|² + Abs·|x−y|₁ between points.
type Cost = backend.Cost

// A plan is P_ij = exp(u_i + h_j − c_ij·inv) with inv = 1/ε. Arguments of −Inf in u or h have
// weight zero. Those of +Inf have no meaning, and devices differ in their result: log-sum-exps are
// NaN on a CPU and +Inf on a GPU.
//
// Log-sum-exps with c held are batched. Plans are not, neither held nor between points: many small problems take their
// gradients one after the other.

// LSERows is out_i = log Σ_j exp(h_j − c_ij·inv): half a step of Sinkhorn. With c B×n×m, h B×m and
// out B×n it solves B problems at once. A row of −Inf gives −Inf.
func LSERows(out, c, h *Array, inv float64) {
	check("LSERows", out).reads(c, h).problems(out, c, "h", h, 0).
		do(func() { out.ops().LSERows(out.t, c.t, h.t, inv) })
}

// LSECols is out_j = log Σ_i exp(g_i − c_ij·inv), the other half; batched like LSERows.
func LSECols(out, c, g *Array, inv float64) {
	check("LSECols", out).reads(c, g).problems(out, c, "g", g, 1).
		do(func() { out.ops().LSECols(out.t, c.t, g.t, inv) })
}

// problems demands costs n×m, or B×n×m of B problems, a result for each index of axis to, 0 or 1, and a potential, of
// the given name, for each of the other.
func (c args) problems(out, costs *Array, name string, potential *Array, to int) args {
	s := costs.t.Shape
	if len(s) == 3 {
		return c.shape("out", out, s[0], s[1+to]).shape(name, potential, s[0], s[2-to])
	}
	return c.shape("c", costs, -1, -1).shape("out", out, s[to]).shape(name, potential, s[1-to])
}

// held demands costs n×m, u, h, and v with a row for each index of an axis, 0 or 1, and out with one for each of the
// other.
func (c args) held(out, costs, u, h, v *Array, from int) args {
	s := costs.t.Shape
	c.shape("c", costs, -1, -1).shape("v", v, s[from], -1).shape("out", out, s[1-from], v.t.Shape[1])
	return c.shape("u", u, s[0]).shape("h", h, s[1])
}

// PlanRows is out_i = Σ_j P_ij v_j with c held, v m×k, out n×k.
func PlanRows(out, c, u, h, v *Array, inv float64) {
	check("PlanRows", out).reads(c, u, h, v).held(out, c, u, h, v, 1).
		do(func() { out.ops().PlanRows(out.t, c.t, u.t, h.t, v.t, inv) })
}

// PlanCols is out_j = Σ_i P_ij v_i with c held, v n×k, out m×k.
func PlanCols(out, c, u, h, v *Array, inv float64) {
	check("PlanCols", out).reads(c, u, h, v).held(out, c, u, h, v, 0).
		do(func() { out.ops().PlanCols(out.t, c.t, u.t, h.t, v.t, inv) })
}

// Costs writes the n×m costs between points x, n×d, and y, m×d.
func Costs(c, x, y *Array, cost Cost) {
	check("Costs", c).reads(x, y).points(x, y).shape("c", c, x.t.Shape[0], y.t.Shape[0]).
		do(func() { c.ops().Costs(c.t, x.t, y.t, cost) })
}

// PointLSE is LSERows with costs computed from points and never held: n·m exponentials, memory n +
// m.
func PointLSE(out, x, y, h *Array, cost Cost, inv float64) {
	check("PointLSE", out).reads(x, y, h).points(x, y).shape("out", out, x.t.Shape[0]).shape("h", h, y.t.Shape[0]).
		do(func() { out.ops().PointLSE(out.t, x.t, y.t, h.t, cost, inv) })
}

// PointApply is out_i = Σ_j P_ij v_j with v m×k: the mass of a row with v = 1, its barycentre with v = y.
func PointApply(out, x, y, u, h, v *Array, cost Cost, inv float64) {
	check("PointApply", out).reads(x, y, u, h, v).
		points(x, y).plan(x, y, u, h).shape("v", v, y.t.Shape[0], -1).shape("out", out, x.t.Shape[0], v.t.Shape[1]).
		do(func() { out.ops().PointApply(out.t, x.t, y.t, u.t, h.t, v.t, cost, inv) })
}

// PointGrad is grad_i = Σ_j P_ij·(1 + r_i + s_j − c_ij·inv)·∂c(x_i, y_j)/∂x_i, or with linear set
// Σ_j P_ij·(r_i + s_j)·∂c/∂x_i: with the right r and s the gradient of every loss of the plan. The derivative of
// |x−y|₁ at 0 is 0.
func PointGrad(grad, x, y, u, h, r, s *Array, cost Cost, inv float64, linear bool) {
	check("PointGrad", grad).reads(x, y, u, h, r, s).like(x).points(x, y).plan(x, y, u, h).plan(x, y, r, s).
		do(func() { grad.ops().PointGrad(grad.t, x.t, y.t, u.t, h.t, r.t, s.t, cost, inv, linear) })
}

// PointCost is out_i = Σ_j P_ij·c_ij.
func PointCost(out, x, y, u, h *Array, cost Cost, inv float64) {
	check("PointCost", out).reads(x, y, u, h).points(x, y).plan(x, y, u, h).shape("out", out, x.t.Shape[0]).
		do(func() { out.ops().PointCost(out.t, x.t, y.t, u.t, h.t, cost, inv) })
}

func (c args) points(x, y *Array) args {
	return c.shape("x", x, -1, -1).shape("y", y, -1, x.t.Shape[1])
}

func (c args) plan(x, y, u, h *Array) args {
	return c.shape("u", u, x.t.Shape[0]).shape("h", h, y.t.Shape[0])
}
