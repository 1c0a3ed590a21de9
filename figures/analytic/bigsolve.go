package analytic

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"coupling/figures/internal/kit"
	"coupling/ot"

	"github.com/ALTree/bigfloat"
	"gonum.org/v1/gonum/mat"
)

// truth is an entropic plan, and the gradient of its sharp loss, computed in arithmetic of many bits and rounded once.
type truth struct {
	plan, grad *mat.Dense
	beta       []float64 // potentials of the first form
	lambda     float64   // the smallest eigenvalue of D, relative to the largest weight
}

// bits are what the arithmetic keeps right: D may be as singular as 1e-60 and half of the digits
// are then still left. It works with some more, which exponentials lose.
const bits, working = 448, 512

// num is a number of many bits. The functions below return new ones.
type num = *big.Float

func bigOf(v float64) num { return new(big.Float).SetPrec(working).SetFloat64(v) }

func add(a, b num) num { return bigOf(0).Add(a, b) }
func sub(a, b num) num { return bigOf(0).Sub(a, b) }
func mul(a, b num) num { return bigOf(0).Mul(a, b) }
func quo(a, b num) num { return bigOf(0).Quo(a, b) }

func bigs(v []float64) []num { return kit.Each(v, bigOf) }

func total(v []num) num {
	sum := bigOf(0)
	for _, x := range v {
		sum = add(sum, x)
	}
	return sum
}

// scaled is v·by.
func scaled(v []num, by num) []num { return kit.Each(v, func(x num) num { return mul(x, by) }) }

func norm(v []num) num {
	sum := bigOf(0)
	for _, x := range v {
		sum = add(sum, mul(x, x))
	}
	return bigOf(0).Sqrt(sum)
}

// solveBig solves min <T,c> − ε h(T) by Newton steps on the semi-dual, from the potentials β that a solver of float64
// found, with
//
//	T_ij = aᵢ exp((βⱼ−c_ij)/ε) / Σ_l exp((β_l−c_il)/ε),  D = Diag(Tᵀ1) − TᵀDiag(1/a)T without its last row and column,
//
// and then the paper's formula, which needs no care at this precision. All weights must be positive.
func solveBig(ctx context.Context, c *mat.Dense, a, b, beta []float64, eps float64) (truth, error) {
	s := newBigSolve(c, a, b, beta, eps)
	for range 400 {
		if err := ctx.Err(); err != nil {
			return truth{}, err
		}
		s.makePlan()
		if err := s.factor(); err != nil {
			return truth{}, err
		}
		largest := s.move(s.solve(s.residual()))
		// Newton's steps square: after this one, what is left is below 2^−(bits/2) of ε, and below float64 in T.
		if largest.Cmp(new(big.Float).SetMantExp(s.eps, -bits/4)) < 0 {
			s.makePlan()
			if err := s.factor(); err != nil {
				return truth{}, err
			}
			return truth{plan: roundedRows(s.t), grad: s.gradient(), beta: rounded(s.beta), lambda: s.least()}, nil
		}
	}
	return truth{}, fmt.Errorf("analytic: the reference solve did not converge in 400 Newton steps")
}

// move adds ε·step to β, shortened where that goes further than exponentials can follow, and
// returns the largest change.
func (s *bigSolve) move(step []num) num {
	largest := bigOf(0)
	for _, d := range step {
		if abs := bigOf(0).Abs(d); abs.Cmp(largest) > 0 {
			largest = abs
		}
	}
	scale := s.eps
	if most := bigOf(4); largest.Cmp(most) > 0 {
		scale = quo(mul(scale, most), largest)
	}
	for j, d := range step {
		s.beta[j] = add(s.beta[j], mul(d, scale))
	}
	return mul(largest, scale)
}

type bigSolve struct {
	n, m       int
	eps        num
	c, t, l    [][]num // costs, plan, Cholesky factor of D
	a, b, beta []num
}

func newBigSolve(c *mat.Dense, a, b, beta []float64, eps float64) *bigSolve {
	n, m := c.Dims()
	s := &bigSolve{n: n, m: m, eps: bigOf(eps), beta: bigs(beta), t: make([][]num, n)}
	for i := range n {
		s.c = append(s.c, bigs(c.RawRowView(i)))
	}
	for range m - 1 {
		s.l = append(s.l, make([]num, m-1))
	}
	// Weights that sum to one in float64 do so only to rounding, and a plan needs equal totals.
	unit := func(w []num) []num { return scaled(w, quo(bigOf(1), total(w))) }
	s.a, s.b = unit(bigs(a)), unit(bigs(b))
	return s
}

// makePlan sets T from β; its rows sum to a.
func (s *bigSolve) makePlan() {
	for i, c := range s.c {
		row := make([]num, s.m)
		for j := range row {
			row[j] = sub(s.beta[j], c[j])
		}
		top := slices.MaxFunc(row, (*big.Float).Cmp)
		for j, d := range row {
			row[j] = bigfloat.Exp(quo(sub(d, top), s.eps))
		}
		s.t[i] = scaled(row, quo(s.a[i], total(row)))
	}
}

// residual is b − Tᵀ1 without its last entry.
func (s *bigSolve) residual() []num {
	out := slices.Clone(s.b[:s.m-1])
	for _, row := range s.t {
		for j := range out {
			out[j] = sub(out[j], row[j])
		}
	}
	return out
}

// factor makes the Cholesky factor of D.
func (s *bigSolve) factor() error {
	for j := range s.l {
		for k := 0; k <= j; k++ {
			d := bigOf(0)
			for i, row := range s.t {
				if j == k {
					d = add(d, row[j])
				}
				d = sub(d, quo(mul(row[j], row[k]), s.a[i]))
			}
			for p := range k {
				d = sub(d, mul(s.l[j][p], s.l[k][p]))
			}
			switch {
			case j > k:
				s.l[j][k] = quo(d, s.l[k][k])
			case d.Sign() <= 0:
				return fmt.Errorf("analytic: D is singular in %d bits", bits)
			default:
				s.l[j][j] = bigOf(0).Sqrt(d)
			}
		}
	}
	return nil
}

// solve returns D⁻¹b.
func (s *bigSolve) solve(b []num) []num {
	x := slices.Clone(b)
	for j := range x {
		for k := range j {
			x[j] = sub(x[j], mul(s.l[j][k], x[k]))
		}
		x[j] = quo(x[j], s.l[j][j])
	}
	for j := len(x) - 1; j >= 0; j-- {
		for k := j + 1; k < len(x); k++ {
			x[j] = sub(x[j], mul(s.l[k][j], x[k]))
		}
		x[j] = quo(x[j], s.l[j][j])
	}
	return x
}

// gradient is ∂S/∂c = T + (s_u ⊕ s_v − c)∘T/ε, D s_v = μ_c − Tᵀ(μ_r/a), s_u = (μ_r − T s_v)/a.
func (s *bigSolve) gradient() *mat.Dense {
	mu := bigs(make([]float64, s.n)) // μ_r/a
	rhs := bigs(make([]float64, s.m-1))
	for i, row := range s.t {
		for j, t := range row {
			mu[i] = add(mu[i], mul(t, s.c[i][j]))
		}
		mu[i] = quo(mu[i], s.a[i])
		for j := range rhs {
			rhs[j] = add(rhs[j], mul(sub(s.c[i][j], mu[i]), row[j]))
		}
	}
	sv := append(s.solve(rhs), bigOf(0))
	g := make([][]num, s.n)
	for i, row := range s.t {
		mean := bigOf(0)
		for j, t := range row {
			mean = add(mean, mul(t, sv[j]))
		}
		su := sub(mu[i], quo(mean, s.a[i]))
		for j, t := range row {
			g[i] = append(g[i], mul(t, add(bigOf(1), quo(sub(add(su, sv[j]), s.c[i][j]), s.eps))))
		}
	}
	return roundedRows(g)
}

// least is the smallest eigenvalue of D, by inverse iteration: to two digits in the rounds it takes.
func (s *bigSolve) least() float64 {
	v := make([]num, s.m-1)
	for j := range v {
		v[j] = bigOf(math.Cos(float64(j))) // anything that is not an eigenvector
	}
	for range 30 {
		v = s.solve(scaled(v, quo(bigOf(1), norm(v))))
	}
	out, _ := quo(bigOf(1), norm(v)).Float64()
	return out
}

func rounded(v []num) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i], _ = x.Float64()
	}
	return out
}

func roundedRows(v [][]num) *mat.Dense {
	out := mat.NewDense(len(v), len(v[0]), nil)
	for i, row := range v {
		out.SetRow(i, rounded(row))
	}
	return out
}

// reference solves p at ε in float64, and then in many bits.
func reference(ctx context.Context, p ot.Problem, eps float64) (*ot.Plan, truth, error) {
	plan, err := ot.Newton{Eps: eps, Tol: 1e-14}.Solve(ctx, p)
	if err != nil {
		return nil, truth{}, err
	}
	want, err := solveBig(ctx, ot.Cost(p.Geometry), plan.A, plan.B, plan.Beta, eps)
	return plan, want, err
}

// planOf returns the plan of the true potentials, rounded. Where hardly any mass joins two groups
// of atoms, their offset is lost to a solver of float64, but not to float64: what a backward pass
// makes of this plan is its own error and no solver's.
func (t truth) planOf(ctx context.Context, p ot.Problem, plan *ot.Plan) (*ot.Plan, error) {
	g := make([]float64, len(t.beta))
	for j, v := range t.beta {
		g[j] = v - plan.Eps*math.Log(plan.B[j])
	}
	// converged before its first step
	out, err := ot.LBFGS{Eps: plan.Eps, Tol: 1e-9, Control: ot.Control{Start: g}}.Solve(ctx, p)
	if err == nil && out.Iterations > 0 {
		err = fmt.Errorf("analytic: the true potentials have a marginal error of %g in float64", out.MarginalL1)
	}
	return out, err
}
