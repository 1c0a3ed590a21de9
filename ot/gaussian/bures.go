package gaussian

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Wasserstein returns the squared 2-Wasserstein distance between p and q,
//
//	W₂² = |m_p − m_q|² + tr A + tr B − 2 tr (A^½ B A^½)^½,
//
// to about 1e-15 of tr A + tr B; the difference of two nearly equal covariances has no more digits. O(d³).
func Wasserstein(p, q Normal) (float64, error) {
	if err := checkPair(p, q); err != nil {
		return 0, err
	}
	cov, err := bures("p.Cov", p.Cov, "q.Cov", q.Cov)
	if err != nil {
		return 0, err
	}
	cov += squareDistance(p, q)
	return cov, inRange(cov)
}

// inRange refuses results that leave the range of float64.
func inRange(v ...float64) error {
	if s := floats.Sum(v); s-s != 0 {
		return fmt.Errorf("ot/gaussian: arguments or results are beyond the range of float64: %w", ErrParameter)
	}
	return nil
}

// bures returns the squared Bures–Wasserstein distance between two covariances of these names and
// equal dimensions, tr A + tr B − 2 tr (A^½ B A^½)^½. The last trace is the nuclear norm of A^½
// B^½, and of every LᵀM with LLᵀ = A and MMᵀ = B, since A^½ = LQ with an orthogonal Q. Cholesky
// factors are cheaper than roots.
func bures(nameA string, a *mat.SymDense, nameB string, b *mat.SymDense) (float64, error) {
	σ := cholesky(a, b)
	if σ == nil {
		r, err := multiply(nameA, a, nameB, b)
		if err != nil {
			return 0, err
		}
		σ = r.σ
	}
	return max(mat.Trace(a)+mat.Trace(b)-2*floats.Sum(σ), 0), nil
}

// cholesky returns the singular values of A^½ B^½ by Cholesky factors, nil where a condition number
// κ is above 1e4: the error of a factor's least singular value, √κ·2⁻⁵³ of the largest, would be
// more than that of the roots.
func cholesky(a, b *mat.SymDense) []float64 {
	var fa, fb mat.Cholesky
	if !fa.Factorize(a) || !fb.Factorize(b) || max(fa.Cond(), fb.Cond()) > 1e4 {
		return nil
	}
	var r mat.Dense
	r.Mul(fa.RawU(), fb.RawU().T())
	var svd mat.SVD
	if !svd.Factorize(&r, mat.SVDNone) {
		return nil
	}
	return svd.Values(nil)
}

// squareDistance returns |m_p − m_q|².
func squareDistance(p, q Normal) float64 {
	sum := 0.
	for i := range p.Dim() {
		d := p.mean(i) - q.mean(i)
		sum += d * d
	}
	return sum
}

// UVP returns the Bures–Wasserstein unexplained variance percentage of a covariance against a reference,
// 100 · BW²/tr(reference) (Korotin et al. 2021; the code of SCONES omits the factor 100). It is 0 for equal and 100
// for zero covariance.
func UVP(cov, reference *mat.SymDense) (float64, error) {
	if err := checkPair(Normal{Cov: cov}, Normal{Cov: reference}); err != nil {
		return 0, err
	}
	total := mat.Trace(reference)
	if total == 0 {
		return 0, fmt.Errorf("ot/gaussian: reference: trace = 0: %w", ErrSingular)
	}
	d, err := bures("cov", cov, "reference", reference)
	if err != nil {
		return 0, err
	}
	return 100 * d / total, inRange(d, total)
}

// An Affine is the map x ↦ To + Linear (x − From).
type Affine struct {
	From, To []float64
	Linear   *mat.SymDense
}

// Apply writes the image of x to dst, which may be x or nil, and returns it.
func (t Affine) Apply(dst, x []float64) []float64 {
	diff := make([]float64, len(x))
	for i, v := range x {
		diff[i] = v - t.From[i]
	}
	if dst == nil {
		dst = make([]float64, len(x))
	}
	y := mat.NewVecDense(len(x), nil)
	y.MulVec(t.Linear, mat.NewVecDense(len(x), diff))
	for i := range dst {
		dst[i] = t.To[i] + y.AtVec(i)
	}
	return dst
}

// Map returns the optimal (Brenier) map from p to q for the cost |x−y|², with the linear part
// A^−½ (A^½ B A^½)^½ A^−½. It needs an invertible A; its relative error is about 1e-16 times the condition number of A.
func Map(p, q Normal) (Affine, error) {
	if err := checkPair(p, q); err != nil {
		return Affine{}, err
	}
	t, err := transport("p.Cov", p.Cov, "q.Cov", q.Cov)
	if err != nil {
		return Affine{}, err
	}
	return Affine{From: p.means(), To: q.means(), Linear: t}, nil
}

// transport returns A^−½ (A^½ B A^½)^½ A^−½.
func transport(nameA string, a *mat.SymDense, nameB string, b *mat.SymDense) (*mat.SymDense, error) {
	sa, err := decompose(nameA, a)
	if err != nil {
		return nil, err
	}
	if sa.value[0] == 0 { // at a condition number of 1/(d 2^−52) no digit of an inverse is right
		return nil, fmt.Errorf("ot/gaussian: %s: no eigenvalue above rounding beside the largest, %v: %w", nameA,
			sa.value[len(sa.value)-1], ErrSingular)
	}
	r, err := multiply(nameA, a, nameB, b)
	if err != nil {
		return nil, err
	}
	inverse := rebuild(sa.vector, sa.value, func(v float64) float64 { return 1 / math.Sqrt(v) })
	return sandwich(inverse, rebuild(&r.u, r.σ, func(σ float64) float64 { return σ })), nil
}

// means returns the mean as a fresh slice.
func (p Normal) means() []float64 {
	m := make([]float64, p.Dim())
	copy(m, p.Mean)
	return m
}
