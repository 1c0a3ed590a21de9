package semidual

import (
	"cmp"
	"math"

	"coupling/lab/logspace"
	"coupling/ot/cost"
	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/rows"
)

// SparseKernel is the list of the entries of T that are not negligible. At small ε they are few, and a
// full pass spends most of its time on exponentials that add nothing. Entry (i, j) is left out when
// T_ij is below e^−K of both aᵢ and bⱼ; until some potential has moved by Δ ε since, it stays below
// e^(2Δ−K), and K is such that the sum of the entries left out stays below a thousandth of the
// tolerance. After that move a new list is made. No solve ends without a full pass.
type SparseKernel struct {
	eps float64
	cut float64 // e^−K
	// uses counts evaluations by the list, skipped how often it was not renewed because too
	// few had used it.
	uses, skipped int
	ref           []float64 // β⁰, the potentials when the list was made
	v             []float64 // exp((β−β⁰)/ε) at the last evaluation, up to a factor
	spans         []sparseSpan
}

// sparseSpan is the list for a span of rows: compressed rows.
type sparseSpan struct {
	at   []rows.Span // where each row is; empty where its weight is 0
	idx  []int32     // targets
	val  []float64   // K_ij = exp((β⁰ⱼ−cᵢⱼ−ref)/ε), as in denseKernel
	ref  []float64   // of each row
	u    []float64   // of each row at the last evaluation: T_ij = uᵢ K_ij vⱼ
	full bool        // given up: too many entries
}

const (
	sparseDrift = 15 // Δ
	// sparseShare is the share of entries above which a list is not worth making: an entry of it
	// costs a few times an entry of a full pass.
	sparseShare = 0.2
	// maxSparse is the largest list in entries (12 bytes each). Matrix-free geometries, which
	// promise not to hold the matrix, get the smaller one, 100 MB.
	maxSparse, maxSparseFrugal = 1 << 26, 1 << 23
)

// usable reports whether the list still covers every entry that is not negligible at beta.
func (a *SparseKernel) usable(beta []float64, eps float64) bool {
	if a == nil || a.eps != eps {
		return false
	}
	_, spread := Drift(beta, a.ref)
	return spread <= 2*sparseDrift*eps
}

// MaxList is the largest list of entries over a geometry.
func MaxList(g cost.Geometry) int {
	if isFrugal(g) {
		return maxSparseFrugal
	}
	return maxSparse
}

// budget is the number of entries a list may have.
func (s *Function) sparseBudget() int {
	return min(MaxList(s.G), int(cmp.Or(s.share, sparseShare)*float64(s.N)*float64(s.M)))
}

// newSparse returns an empty list to collect into, in the memory of the last.
func (s *Function) newSparse(beta []float64) *SparseKernel {
	leave := 1e-3 * s.Tol / float64(s.N+s.M)
	a := s.reuse
	if a == nil {
		a = Keep(s.Memory, func() *SparseKernel { return &SparseKernel{spans: make([]sparseSpan, len(s.Rows.Spans))} })
		s.reuse = a
	}
	a.eps, a.cut = s.Eps, leave*math.Exp(-2*sparseDrift)
	a.uses, a.skipped = 0, 0
	a.ref = append(a.ref[:0], beta...)
	a.v = a.v[:0]
	for range beta {
		a.v = append(a.v, 1)
	}
	for k, r := range s.Rows.Spans {
		sp := &a.spans[k]
		sp.full, sp.idx, sp.val = false, sp.idx[:0], sp.val[:0]
		if n := r.Hi - r.Lo; sp.u == nil {
			sp.at, sp.u, sp.ref = make([]rows.Span, n), make([]float64, n), make([]float64, n)
		}
		clear(sp.at)
	}
	return a
}

// collect appends a row, given its exponentials e = T·sum/mass, to the span's list; limit is the span's share of the
// budget, bMin the least positive weight.
func (a *sparseSpan) collect(row int, e, b []float64, bMin, sum, mass, ref, cut float64, limit int) {
	if a.full {
		return
	}
	rowCut, colCut := cut*sum, cut*sum/mass
	least := min(rowCut, colCut*bMin) // one comparison suffices for most entries
	from := len(a.idx)
	for j, v := range e {
		if v >= least && b[j] > 0 && (v >= rowCut || v >= colCut*b[j]) {
			a.idx = append(a.idx, int32(j))
			a.val = append(a.val, v)
		}
	}
	a.full = len(a.idx) > limit
	a.end(row, from, mass/sum, ref)
}

// end records a row whose entries begin at from.
func (a *sparseSpan) end(row, from int, u, ref float64) {
	a.at[row], a.u[row], a.ref[row] = rows.Span{Lo: from, Hi: len(a.idx)}, u, ref
}

// wantsSparse estimates from a few rows whether a list would be short enough, and records the ε at
// which it would not.
func (s *Function) wantsSparse(beta []float64) bool {
	if !s.listsPossible() || s.Trees != nil && !s.newton {
		return false
	}
	if !s.newton && s.sparse != nil && s.sparse.eps == s.Eps && s.sparse.uses < 2 && s.sparse.skipped < 3 {
		s.sparse.skipped++ // steps are still long, and the list would soon be invalid
		return false
	}
	const sample = 8
	w := s.Rows.Scratch[0]
	cut := 1e-3 * s.Tol / float64(s.N+s.M) * math.Exp(-2*sparseDrift)
	var seen, kept int
	for k := range sample {
		i := (2*k + 1) * s.N / (2 * sample)
		if s.A[i] == 0 {
			continue
		}
		_, sum := rows.Softmax(w.Exp, beta, s.G.Row(i, w.Cost), 1/s.Eps)
		for j, e := range w.Exp {
			if e >= cut*sum || e*s.A[i] >= cut*sum*s.B[j] {
				kept++
			}
		}
		seen += s.M
	}
	// Half as much again, since eight rows are a rough estimate; settle decides.
	if float64(kept)*float64(s.N)*float64(s.M) > 1.5*float64(s.sparseBudget())*float64(seen) {
		s.refuseLists()
		return false
	}
	return true
}

// EachRow calls f with every row of the list at the last evaluation: T_ij = u val_l v_j for j = idx_l.
func (a *SparseKernel) EachRow(s *Function, f func(i int, idx []int32, val []float64, u float64, v []float64)) {
	for k, r := range s.Rows.Spans {
		sp := &a.spans[k]
		for i := r.Lo; i < r.Hi; i++ {
			at := sp.at[i-r.Lo]
			f(i, sp.idx[at.Lo:at.Hi], sp.val[at.Lo:at.Hi], sp.u[i-r.Lo], a.v)
		}
	}
}

// settle keeps a complete list, and records an ε at which the list was too long.
func (s *Function) settle(a *SparseKernel) {
	s.sparse = a
	for k := range a.spans {
		if a.spans[k].full {
			s.refuseLists()
			return
		}
	}
}

// Certifies returns false: entries are left out.
func (*SparseKernel) Certifies() bool { return false }

// Eval goes over the list.
func (a *SparseKernel) Eval(s *Function, beta []float64) float64 {
	a.uses++
	mid, _ := Drift(beta, a.ref)
	s.Scalings(a.v, beta, a.ref, mid)
	v := a.v
	s.eachRow(func(_ *Worker, k, i int, part []float64) {
		sp, row := &a.spans[k], i-s.Rows.Spans[k].Lo
		at := sp.at[row]
		idx, val := sp.idx[at.Lo:at.Hi], sp.val[at.Lo:at.Hi]
		sum := laplacian.Gather(val, v, idx)
		u := s.SetAlpha(k, i, sp.ref[row]+mid+s.Eps*logspace.Log(sum)) / sum
		sp.u[row] = u
		laplacian.Scatter(part, val, u, idx)
	})
	kern.Mul(s.Col, s.Col, v)
	return s.Error()
}
