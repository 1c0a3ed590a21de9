package ot

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// The linear system behind every derivative of a plan is
//
//	Diag(T1) u + T v = r,   Tᵀu + Diag(Tᵀ1) v = q,
//
// or, with u eliminated, D v = q − Tᵀ(r/T1), where D = Diag(Tᵀ1) − Tᵀ Diag(1/T1) T is the Laplacian of a network on the
// targets with conductances W_jl = Σᵢ T_ij T_il / (T1)ᵢ. Where blocks of atoms hardly exchange mass, D is singular to
// working precision, yet the answers that matter are well determined: they are potential differences driven by
// currents that cross the same weak links. So currents are kept by link, antisymmetric, I_jl, and only W and I are
// ever combined, by additions of terms that do not cancel (the idea of Grassmann, Taksar and Heyman 1985).

// network is the reduced system.
type network struct {
	m int
	w []float64 // m×m conductances; the strict upper triangle is used
	i []float64 // m×m currents; the strict upper triangle is used, I_lj = −I_jl; nil where there are none by link
	r []float64 // m currents fed into the nodes; nil where there are none
	// ground holds m conductances to a node of potential 0; nil where there are none.
	ground []float64
}

// assemble builds the network of the rows of t (n×m, its row sums in mass) and of the field v (n×m or nil): currents
// I_jl = Σᵢ (v_ij − v_il) T_ij T_il / (T1)ᵢ, for which D s = ΣI solves the system with r = (T∘v)1 and q = (T∘v)ᵀ1.
// t is overwritten by T_ij/√(T1)ᵢ, and v by its product with that. Cost n·m² multiplications, or twice that with v.
func assemble(ctx context.Context, t, v []float64, mass []float64, m int) (*network, error) {
	n := len(mass)
	for i, a := range mass {
		s := 0.0
		if a > 0 {
			s = 1 / math.Sqrt(a)
		}
		for j := i * m; j < (i+1)*m; j++ {
			t[j] *= s
			if v != nil {
				v[j] *= t[j]
			}
		}
	}
	net := &network{m: m, w: make([]float64, m*m)}
	if v != nil {
		net.i = make([]float64, m*m) // K_jl = Σᵢ v_ij T_ij T_il / (T1)ᵢ
	}
	for lo := 0; lo < n; lo += assembleRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := min(assembleRows, n-lo)
		T := blas64.General{Rows: rows, Cols: m, Stride: m, Data: t[lo*m:]}
		blas64.Syrk(blas.Trans, 1, T, 1, blas64.Symmetric{N: m, Stride: m, Data: net.w, Uplo: blas.Upper})
		if v != nil {
			V := blas64.General{Rows: rows, Cols: m, Stride: m, Data: v[lo*m:]}
			blas64.Gemm(blas.Trans, blas.NoTrans, 1, V, T, 1, blas64.General{Rows: m, Cols: m, Stride: m, Data: net.i})
		}
	}
	for j := range m {
		for l := j + 1; v != nil && l < m; l++ {
			net.i[j*m+l] -= net.i[l*m+j]
		}
	}
	return net, nil
}

// assembleRows is how many rows go to a matrix product; between products, the context is asked.
const assembleRows = 512

// injections returns the net current into each node.
func (n *network) injections() []float64 {
	out := make([]float64, n.m)
	copy(out, n.r)
	if n.i == nil {
		return out
	}
	for j := range n.m {
		for l := j + 1; l < n.m; l++ {
			c := n.i[j*n.m+l]
			out[j] += c
			out[l] -= c
		}
	}
	return out
}

// eliminate solves D s = ΣI + r by node elimination without a subtraction of conductances, for any D, singular or
// not: nodes that nothing is left to link to are grounded. It overwrites the network. Cost m³/2.
func (n *network) eliminate(ctx context.Context) ([]float64, error) {
	d := make([]float64, n.m)
	for p := range d {
		if p%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		d[p] = n.conductance(p)
		if d[p] > 0 {
			n.remove(p, d[p])
		}
	}
	return n.substitute(d), nil
}

// conductance returns the sum of node p's to later nodes and to the ground.
func (n *network) conductance(p int) float64 {
	var d float64
	for _, x := range n.w[p*n.m+p+1 : (p+1)*n.m] {
		d += x
	}
	if n.ground != nil {
		d += n.ground[p]
	}
	return d
}

// remove takes node p, of conductance d, out of the network: what went through it goes between its neighbours.
func (n *network) remove(p int, d float64) {
	m := n.m
	wp, ip := n.w[p*m:(p+1)*m], n.currents(p)
	for j := p + 1; j < m; j++ {
		if wp[j] == 0 && (ip == nil || ip[j] == 0) {
			continue
		}
		f := wp[j] / d
		if n.r != nil {
			n.r[j] += f * n.r[p]
		}
		if n.ground != nil {
			n.ground[j] += f * n.ground[p]
		}
		axpy(n.w[j*m+j+1:(j+1)*m], wp[j+1:], f)
		if ip != nil {
			ij := n.i[j*m+j+1 : (j+1)*m]
			axpy(ij, ip[j+1:], f)
			axpy(ij, wp[j+1:], -ip[j]/d)
		}
	}
}

// substitute returns the potentials, those of the last nodes first; d holds the conductances that nodes were removed with.
func (n *network) substitute(d []float64) []float64 {
	m := n.m
	s := make([]float64, m)
	for p := m - 1; p >= 0; p-- {
		if d[p] == 0 {
			continue
		}
		v := dot(n.w[p*m+p+1:(p+1)*m], s[p+1:])
		if ip := n.currents(p); ip != nil {
			for _, x := range ip[p+1:] {
				v += x
			}
		}
		if n.r != nil {
			v += n.r[p]
		}
		s[p] = v / d[p]
	}
	return s
}

func (n *network) currents(p int) []float64 {
	if n.i == nil {
		return nil
	}
	return n.i[p*n.m : (p+1)*n.m]
}

// weakPivot is the ratio of a Cholesky pivot to its diagonal below which the factor is not trusted: the error of the
// solution is of the order of 2⁻⁵³ over it.
const weakPivot = 1e-4

// cholesky solves the same by a Cholesky factor of D without its last node, and reports whether every pivot is large
// enough against its diagonal to trust it. Cost m³/3 at the speed of BLAS. The network is not changed.
func (n *network) cholesky() ([]float64, bool) {
	m := n.m
	k := m - 1
	s := make([]float64, m)
	if k == 0 {
		return s, true
	}
	diag := make([]float64, m)
	for j := range m {
		for l := j + 1; l < m; l++ {
			w := n.w[j*m+l]
			diag[j] += w
			diag[l] += w
		}
	}
	d := blas64.Symmetric{N: k, Stride: k, Data: make([]float64, k*k), Uplo: blas.Upper}
	for j := range k {
		for l := j + 1; l < k; l++ {
			d.Data[j*k+l] = -n.w[j*m+l]
		}
		if diag[j] == 0 {
			return nil, false
		}
		d.Data[j*k+j] = diag[j]
	}
	factor, ok := lapack64.Potrf(d)
	if !ok {
		return nil, false
	}
	for j := range k {
		if p := factor.Data[j*k+j]; p*p < weakPivot*diag[j] {
			return nil, false
		}
	}
	copy(s, n.injections()[:k])
	lapack64.Potrs(factor, blas64.General{Rows: k, Cols: 1, Stride: 1, Data: s[:k]})
	return s, true
}
