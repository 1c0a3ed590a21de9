package freg

import (
	"math"

	"coupling/ot/internal/rows"
)

// row is the scratch of one goroutine, with the row of the plan that it computed last: for source
// i, with p_j = ψ_j − c_ij,
//
//	u_ij = offset + x − d_j,   d_j = (max p − p_j)/λ ≥ 0,   φ_i = λ(offset + x) − max p,
//
// where x, the coordinate of the row's largest density, is the unknown of the row equation Σ_j b_j
// m(x − d_j) = 1. Stored as x and not as φ, it is exact to the last bits where it is close to the
// boundary of the domain.
type row struct {
	full, pack []float64 // for costs
	p, d, e    []float64 // p; d; exp(−d) where the family needs it, or scratch
	v, t       []float64 // densities m(x − d_j), and b_j v_j

	top, x float64
	noise  float64 // |max p|/λ: its units in the last place are those of u
}

// newRow returns scratch for rows of m entries, made from rows of full costs.
func newRow(m, full int) *row {
	r := &row{full: make([]float64, full)}
	for _, v := range []*[]float64{&r.pack, &r.p, &r.d, &r.e, &r.v, &r.t} {
		*v = make([]float64, m)
	}
	return r
}

// load prepares the row of a source with costs c.
func (r *row) load(f family, lambda float64, psi, c []float64) {
	r.top = kern.RowLogits(r.p, psi, c, 1)
	inv := 1 / lambda
	r.noise = math.Abs(r.top) * inv
	rows.Less(r.d, r.p, r.top)
	kern.Scale(r.d, -inv, r.d)
	if f.exps {
		kern.ExpScaled(r.e, r.p, r.top, inv)
	}
}

// solve finds x, starting from guess if that lies in the bracket, and computes the densities.
//
// The root is inside the domain. Σ_j b_j m(x − d_j) increases with x; at x = m⁻¹(1) it is at most 1
// because d ≥ 0 and Σ b = 1; and at x = m⁻¹(1/b_k) it is at least 1 for the k with d_k = 0. Both
// ends lie inside the domain of m (1/b_k is a value of m), the root lies between them, and nothing
// is evaluated outside of them.
func (r *row) solve(f family, b []float64, guess float64) {
	if f.root != nil {
		r.x = f.root(r, b, guess)
	} else {
		r.x = r.solveMean(f, b, guess)
	}
	r.densities(f, b)
}

// densities fills v and t at x.
func (r *row) densities(f family, b []float64) {
	f.values(r, b)
	kern.Mul(r.t, b, r.v)
}

// solveMean solves Σ b m(x−d) = 1 by Newton's method on m⁻¹(Σ b m(x−d)), a mean of the numbers x −
// d_j which is close to linear in x (its slope is 1 where the d_j are equal or one density
// matters), within the bracket.
func (r *row) solveMean(f family, b []float64, x float64) float64 {
	goal := f.inverse(1)
	lo, hi := goal, goal
	for j, d := range r.d {
		if d == 0 {
			hi = f.inverseOf(b[j])
			break
		}
	}
	if !(x >= lo && x <= hi) {
		x = lo
	}
	const tries = 80
	for range tries {
		s, ds := f.moments(r, b, x)
		switch {
		case math.Abs(s-1) < 0x1p-51:
			return x
		case s < 1:
			lo = x
		default:
			hi = x
		}
		next := x + (goal-f.inverse(s))*f.slope(s)/ds
		if !(next > lo && next < hi) {
			next = -math.Sqrt(lo * hi) // the domain is x < 0
		}
		if math.Abs(next-x) <= 0x1p-52*-x {
			return next
		}
		x = next
	}
	return x
}

// solveRamp solves Σ b (x−d)₊ = 2 exactly: with S the set where d < x, x = (2 + Σ_S b d)/Σ_S b.
// From any set that contains the right one, the sets shrink to it (Michelot 1986, for the
// projection on a simplex); from any other set, one step gives a set that contains it, because the
// left side is convex. There are no subtractions, so x is right to its last bits.
func (r *row) solveRamp(b []float64, guess float64) float64 {
	if !(guess > 0) {
		guess = math.MaxFloat64 // all that are not forbidden
	}
	kern.Mul(r.e, b, r.d)
	x := r.rampRoot(b, guess)
	for next := r.rampRoot(b, x); next < x; next = r.rampRoot(b, x) {
		x = next
	}
	return x
}

// rampRoot returns (2 + Σ_S b d)/Σ_S b, with S the set where d < guess.
func (r *row) rampRoot(b []float64, guess float64) float64 {
	w := kern.Below(r.t, b, r.d, guess)
	// A cost beyond the range of float64/λ: start from the nearest atom.
	return min((2+kern.Below(r.t, r.e, r.d, guess))/w, math.MaxFloat64)
}

// rampEnd is the d from which a density x − d may be rounding, which is not an entry of a sparse plan; above 0, since
// the nearest atom's is one.
func (r *row) rampEnd() float64 { return max(r.x-0x1p-50*(r.x+r.noise), math.SmallestNonzeroFloat64) }

// rampTerms returns the sums of certify for a plan v of costs c without forbidden pairs. The terms (v−1)² of its
// divergence are those of v²−1 too, whose mean differs by that of 2(v−1), which is 0. Here as in all loops over the
// ramp no branch depends on the data: half the entries may be positive, in no order that a processor predicts.
func (r *row) rampTerms(b, v, c []float64) (sharp, div, gap, worse float64) {
	d, old := r.d[:len(b)], r.v[:len(b)]
	v, c = v[:len(b)], c[:len(b)]
	for j, w := range b {
		at, off := v[j], v[j]-old[j]
		short := masked(d[j]-r.x, below(r.x-d[j]))
		sharp += w * at * c[j]
		div += w * (at - 1) * (at - 1)
		gap += w * (off*off + at*short)
		worse += w * ((1-old[j])*(1-old[j]) + short)
	}
	return sharp, div, gap, worse
}

// below returns 1 in every bit where x < 0, and else 0; x must be neither −0 nor NaN.
func below(x float64) uint64 { return uint64(int64(math.Float64bits(x)) >> 63) }

// masked returns x where the mask is 1 in every bit, and 0 where it is 0.
func masked(x float64, mask uint64) float64 { return math.Float64frombits(math.Float64bits(x) & mask) }

// curvatures writes row i of K, a b_j κ(v_j), at the densities of the row.
func (r *row) curvatures(dst []float64, f family, a float64, b []float64) {
	if f == ramp {
		kern.Below(dst, b, r.d, r.rampEnd())
		kern.Scale(dst, a/2, dst)
		return
	}
	for j, v := range r.v {
		dst[j] = f.weighted(a*b[j], v)
	}
}
