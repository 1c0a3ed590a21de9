package laplacian

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"coupling/lab/device/cpu"
)

// kern is the set of vector kernels in use.
var kern cpu.Kernels[float64]

// Network is the system D s = ΣI + R on M nodes, with D the Laplacian of the conductances W and Ground.
type Network struct {
	// M is the number of nodes.
	M int
	// W holds M×M conductances ≥ 0, of which the strict upper triangle is used.
	W []float64
	// I holds M×M currents by link, of which the strict upper triangle is used, I_lj = −I_jl; nil where there are none.
	I []float64
	// R holds M currents fed into the nodes; nil where there are none.
	R []float64
	// Ground holds M conductances ≥ 0 to a node of potential 0; nil where there are none.
	Ground []float64
}

// Assemble adds to W and I, which the caller has made, the network of the rows of t (n×m, its row
// sums in mass) and of the field v (n×m): currents I_jl = Σᵢ (v_ij − v_il) T_ij T_il / (T1)ᵢ, for
// which D s = ΣI solves the system with r = (T∘v)1 and q = (T∘v)ᵀ1. t is overwritten by
// T_ij/√(T1)ᵢ, and v by its product with that. Cost 2n·m² multiplications.
func (n *Network) Assemble(ctx context.Context, t, v []float64, mass []float64) error {
	rows, m := len(mass), n.M
	for i, a := range mass {
		s := 0.0
		if a > 0 {
			s = 1 / math.Sqrt(a)
		}
		for j := i * m; j < (i+1)*m; j++ {
			t[j] *= s
			v[j] *= t[j]
		}
	}
	for lo := 0; lo < rows; lo += assembleRows { // I: K_jl = Σᵢ v_ij T_ij T_il / (T1)ᵢ
		if err := ctx.Err(); err != nil {
			return err
		}
		some := min(assembleRows, rows-lo)
		T := blas64.General{Rows: some, Cols: m, Stride: m, Data: t[lo*m:]}
		blas64.Syrk(blas.Trans, 1, T, 1, blas64.Symmetric{N: m, Stride: m, Data: n.W, Uplo: blas.Upper})
		V := blas64.General{Rows: some, Cols: m, Stride: m, Data: v[lo*m:]}
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, V, T, 1, blas64.General{Rows: m, Cols: m, Stride: m, Data: n.I})
	}
	for j := range m {
		for l := j + 1; l < m; l++ {
			n.I[j*m+l] -= n.I[l*m+j]
		}
	}
	return nil
}

// assembleRows is the number of rows in one matrix product; the context is checked between
// products.
const assembleRows = 512

// Injections returns the net current into each node.
func (n *Network) Injections() []float64 {
	out := make([]float64, n.M)
	copy(out, n.R)
	if n.I == nil {
		return out
	}
	for j := range n.M {
		for l := j + 1; l < n.M; l++ {
			c := n.I[j*n.M+l]
			out[j] += c
			out[l] -= c
		}
	}
	return out
}

// Eliminate solves D s = ΣI + r by node elimination without a subtraction of conductances, for any
// D, singular or not: nodes without a remaining link are grounded. It overwrites the network. Cost
// m³/2.
func (n *Network) Eliminate(ctx context.Context) ([]float64, error) {
	d := make([]float64, n.M)
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

// conductance returns the sum of node p's conductances to later nodes and to the ground.
func (n *Network) conductance(p int) float64 {
	var d float64
	for _, x := range n.W[p*n.M+p+1 : (p+1)*n.M] {
		d += x
	}
	if n.Ground != nil {
		d += n.Ground[p]
	}
	return d
}

// remove eliminates node p, of conductance d: links between its neighbours replace the paths
// through it.
func (n *Network) remove(p int, d float64) {
	m := n.M
	wp, ip := n.W[p*m:(p+1)*m], n.currents(p)
	for j := p + 1; j < m; j++ {
		if wp[j] == 0 && (ip == nil || ip[j] == 0) {
			continue
		}
		f := wp[j] / d
		if n.R != nil {
			n.R[j] += f * n.R[p]
		}
		if n.Ground != nil {
			n.Ground[j] += f * n.Ground[p]
		}
		kern.Axpy(n.W[j*m+j+1:(j+1)*m], f, wp[j+1:])
		if ip != nil {
			ij := n.I[j*m+j+1 : (j+1)*m]
			kern.Axpy(ij, f, ip[j+1:])
			kern.Axpy(ij, -ip[j]/d, wp[j+1:])
		}
	}
}

// substitute returns the potentials, those of the last nodes first; d holds the conductance of each
// node when it was removed.
func (n *Network) substitute(d []float64) []float64 {
	m := n.M
	s := make([]float64, m)
	for p := m - 1; p >= 0; p-- {
		if d[p] == 0 {
			continue
		}
		v := kern.Dot(n.W[p*m+p+1:(p+1)*m], s[p+1:])
		if ip := n.currents(p); ip != nil {
			for _, x := range ip[p+1:] {
				v += x
			}
		}
		if n.R != nil {
			v += n.R[p]
		}
		s[p] = v / d[p]
	}
	return s
}

func (n *Network) currents(p int) []float64 {
	if n.I == nil {
		return nil
	}
	return n.I[p*n.M : (p+1)*n.M]
}

// weakPivot is the ratio of a Cholesky pivot to its diagonal below which the factor is not trusted: the error of the
// solution is of the order of 2⁻⁵³ over it.
const weakPivot = 1e-4

// Cholesky solves the same by a Cholesky factor of D without its last node, and reports whether every pivot is large
// enough against its diagonal to trust it. Cost m³/3 at the speed of BLAS. The network is not changed.
func (n *Network) Cholesky() ([]float64, bool) {
	m := n.M
	k := m - 1
	s := make([]float64, m)
	if k == 0 {
		return s, true
	}
	diag := make([]float64, m)
	for j := range m {
		for l := j + 1; l < m; l++ {
			w := n.W[j*m+l]
			diag[j] += w
			diag[l] += w
		}
	}
	d := blas64.Symmetric{N: k, Stride: k, Data: make([]float64, k*k), Uplo: blas.Upper}
	for j := range k {
		for l := j + 1; l < k; l++ {
			d.Data[j*k+l] = -n.W[j*m+l]
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
	copy(s, n.Injections()[:k])
	lapack64.Potrs(factor, blas64.General{Rows: k, Cols: 1, Stride: 1, Data: s[:k]})
	return s, true
}
