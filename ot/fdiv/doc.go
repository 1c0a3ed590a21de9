// Package fdiv holds the f-divergences that regularise optimal transport: f, its conjugate, and the compatibility
// function that turns dual potentials into a plan.
//
//	D_f(P‖Q) = Σ q f(p/q)            f*(u) = sup_{v≥0} uv − f(v)            M_f = f*′
//
// With λ D_f(T‖a⊗b) as the regulariser of a transport problem the dual maximises ⟨a,φ⟩ + ⟨b,ψ⟩ − λ Σ a_i b_j f*(u_ij)
// where u_ij = (φ_i + ψ_j − C_ij)/λ, and the plan is T_ij = a_i b_j M_f(u_ij): M_f is the density of the plan against
// the product of its marginals.
//
//	               f(v), v ≥ 0                   f*(u)                      M_f(u)        bound of u
//	KL             v log v                       e^(u−1)                    e^(u−1)       none
//	ReverseKL      −log v                        −1 − log(−u)               −1/u          0
//	Pearson        (v−1)²                        u²/4 + u, −1 below u = −2  (u/2 + 1)₊    none
//	ChiSquare      v² − 1                        (u₊)²/4 + 1                u₊/2          none
//	Hellinger      (√v − 1)²                     u/(1−u)                    (1−u)^−2      1
//	JensenShannon  v log v − (v+1) log((v+1)/2)  −log(2−e^u)                e^u/(2−e^u)   log 2
//	GAN            v log v − (v+1) log(v+1)      −log(1−e^u)                1/(e^−u − 1)  0
//
// The table is Table 3 of Daniels, Maunu and Hand, "Score-based Generative Neural Networks for
// Large-Scale Optimal Transport" (SCONES, 2021), with two corrections: its Jensen–Shannon row has
// the derivative in the column of f* and f* − u M in that of the derivative, and its Pearson row
// omits the constraint v ≥ 0, so that M_f could be negative. Their text and code use ChiSquare,
// which on probability measures is the same divergence: f differs by 2(v−1), so u shifts by 2, and
// the plans agree. JensenShannon is twice the Jensen–Shannon divergence, and GAN is that minus log
// 4.
//
// # An example in words
//
// Take two atoms of mass ½ on each side, a cost of 0 on the diagonal and 1 off it, λ = 1 and ChiSquare. By symmetry all
// potentials are one number φ, u is 2φ on the diagonal and 2φ − 1 off it, and the densities u₊/2 must average 1 over a
// row: φ = 1.25, densities 1.25 and 0.75. Below λ = ¼ they are 2 and exactly 0: the plan is sparse, which KL's never
// is.
//
// # Domains
//
// All functions are extended-valued: f is +Inf for v < 0, f* is +Inf for u at or above the
// [Divergence.Bound]. M_f and the functions derived from it are undefined there and return NaN.
// NaN gives NaN. Only KL, Pearson and
// ChiSquare leave the dual unconstrained.
package fdiv
