package analytic

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"coupling/ot"

	"gonum.org/v1/gonum/mat"
)

// truth is an entropic plan, and the gradient of its sharp loss, computed in arithmetic of many bits and rounded once.
type truth struct {
	plan, grad *mat.Dense
	beta       []float64 // potentials of the first form
	lambda     float64   // the smallest eigenvalue of D, relative to the largest weight
	rounds     int       // Newton steps
}

// bits of the arithmetic: D may be as singular as 1e-60 and half of the digits are then still left.
const bits = 448

// solveBig solves min <T,c> − ε h(T) by Newton steps on the semi-dual, from the potentials β that a solver of float64
// found, with
//
//	T_ij = aᵢ exp((βⱼ−c_ij)/ε) / Σ_l exp((β_l−c_il)/ε),  D = Diag(Tᵀ1) − TᵀDiag(1/a)T without its last row and column,
//
// and then the paper's formula, which needs no care at this precision. All weights must be positive.
func solveBig(ctx context.Context, c *mat.Dense, a, b, beta []float64, eps float64) (truth, error) {
	s := newBigSolve(c, a, b, beta, eps)
	for round := range 400 {
		if err := ctx.Err(); err != nil {
			return truth{}, err
		}
		s.makePlan()
		if err := s.factor(); err != nil {
			return truth{}, err
		}
		step := s.residual()
		s.solve(step)
		largest := s.move(step)
		// Newton's steps square: after this one, what is left is below 2^−(bits/2) of ε, and below float64 in T.
		if largest.Cmp(new(big.Float).SetMantExp(s.eps, -bits/4)) < 0 {
			s.makePlan()
			if err := s.factor(); err != nil {
				return truth{}, err
			}
			return truth{plan: roundedRows(s.t), grad: s.gradient(), beta: rounded(s.beta), lambda: s.least(), rounds: round + 1}, nil
		}
	}
	return truth{}, fmt.Errorf("analytic: the reference solve did not converge in 400 Newton steps")
}

// move adds ε·step to β, shortened where that goes further than exponentials can follow, and returns the largest change.
func (s *bigSolve) move(step []*big.Float) *big.Float {
	largest := bigOf(0)
	for _, d := range step {
		if abs := bigOf(0).Abs(d); abs.Cmp(largest) > 0 {
			largest = abs
		}
	}
	scale, most := bigOf(0).Set(s.eps), bigOf(4)
	if largest.Cmp(most) > 0 {
		scale.Mul(scale, most).Quo(scale, largest)
	}
	for j, d := range step {
		s.beta[j].Add(s.beta[j], d.Mul(d, scale))
	}
	return largest.Mul(largest, scale)
}

type bigSolve struct {
	n, m    int
	eps     *big.Float
	c, t, l [][]*big.Float // costs, plan, Cholesky factor of D
	a, b    []*big.Float
	beta    []*big.Float
	exp     exponential2
}

func newBigSolve(c *mat.Dense, a, b, beta []float64, eps float64) *bigSolve {
	n, m := c.Dims()
	s := &bigSolve{n: n, m: m, eps: bigOf(eps), a: bigs(a), b: bigs(b), beta: bigs(beta), exp: newExponential2()}
	for i := range n {
		s.c = append(s.c, bigs(c.RawRowView(i)))
		s.t = append(s.t, bigs(make([]float64, m)))
	}
	for range m - 1 {
		s.l = append(s.l, bigs(make([]float64, m-1)))
	}
	// Weights that sum to one in float64 do so only to rounding, and a plan needs equal totals.
	for _, w := range [][]*big.Float{s.a, s.b} {
		total := bigOf(0)
		for _, v := range w {
			total.Add(total, v)
		}
		for _, v := range w {
			v.Quo(v, total)
		}
	}
	return s
}

func bigOf(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }

func bigs(v []float64) []*big.Float {
	out := make([]*big.Float, len(v))
	for i, x := range v {
		out[i] = bigOf(x)
	}
	return out
}

// makePlan sets T from β; its rows sum to a.
func (s *bigSolve) makePlan() {
	d := bigOf(0)
	for i, row := range s.t {
		top := bigOf(0).Sub(s.beta[0], s.c[i][0])
		for j := range row {
			if d.Sub(s.beta[j], s.c[i][j]); d.Cmp(top) > 0 {
				top.Set(d)
			}
		}
		sum := bigOf(0)
		for j := range row {
			d.Sub(s.beta[j], s.c[i][j])
			d.Sub(d, top)
			row[j] = s.exp.of(d.Quo(d, s.eps))
			sum.Add(sum, row[j])
		}
		sum.Quo(s.a[i], sum)
		for j := range row {
			row[j].Mul(row[j], sum)
		}
	}
}

// residual is b − Tᵀ1 without its last entry.
func (s *bigSolve) residual() []*big.Float {
	out := make([]*big.Float, s.m-1)
	for j := range out {
		out[j] = bigOf(0).Set(s.b[j])
		for i := range s.t {
			out[j].Sub(out[j], s.t[i][j])
		}
	}
	return out
}

// factor makes the Cholesky factor of D.
func (s *bigSolve) factor() error {
	v := bigOf(0)
	for j := range s.l {
		for k := 0; k <= j; k++ {
			d := bigOf(0)
			for i := range s.t {
				if j == k {
					d.Add(d, s.t[i][j])
				}
				v.Mul(s.t[i][j], s.t[i][k])
				d.Sub(d, v.Quo(v, s.a[i]))
			}
			for p := range k {
				d.Sub(d, v.Mul(s.l[j][p], s.l[k][p]))
			}
			if j == k {
				if d.Sign() <= 0 {
					return fmt.Errorf("analytic: D is singular in %d bits", bits)
				}
				s.l[j][j].Sqrt(d)
			} else {
				s.l[j][k].Quo(d, s.l[k][k])
			}
		}
	}
	return nil
}

// solve overwrites x by D⁻¹x.
func (s *bigSolve) solve(x []*big.Float) {
	v := bigOf(0)
	for j := range x {
		for k := range j {
			x[j].Sub(x[j], v.Mul(s.l[j][k], x[k]))
		}
		x[j].Quo(x[j], s.l[j][j])
	}
	for j := len(x) - 1; j >= 0; j-- {
		for k := j + 1; k < len(x); k++ {
			x[j].Sub(x[j], v.Mul(s.l[k][j], x[k]))
		}
		x[j].Quo(x[j], s.l[j][j])
	}
}

// gradient is ∂S/∂c = T + (s_u ⊕ s_v − c)∘T/ε, D s_v = μ_c − Tᵀ(μ_r/a), s_u = (μ_r − T s_v)/a.
func (s *bigSolve) gradient() *mat.Dense {
	v := bigOf(0)
	mu := bigs(make([]float64, s.n)) // μ_r/a
	for i, row := range s.t {
		for j, t := range row {
			mu[i].Add(mu[i], v.Mul(t, s.c[i][j]))
		}
		mu[i].Quo(mu[i], s.a[i])
	}
	sv := bigs(make([]float64, s.m))
	for j := range s.m - 1 {
		for i, row := range s.t {
			v.Sub(s.c[i][j], mu[i])
			sv[j].Add(sv[j], v.Mul(v, row[j]))
		}
	}
	s.solve(sv[:s.m-1])
	g := make([][]*big.Float, s.n)
	for i, row := range s.t {
		mean := bigOf(0)
		for j, t := range row {
			mean.Add(mean, v.Mul(t, sv[j]))
		}
		mean.Quo(mean, s.a[i])
		g[i] = bigs(make([]float64, s.m))
		for j, t := range row {
			d := g[i][j].Add(mu[i], sv[j])
			d.Sub(d, mean)
			d.Sub(d, s.c[i][j])
			d.Quo(d, s.eps)
			d.Add(d, bigOf(1))
			d.Mul(d, t)
		}
	}
	return roundedRows(g)
}

// least is the smallest eigenvalue of D, by inverse iteration: to two digits in the rounds it takes.
func (s *bigSolve) least() float64 {
	x := make([]float64, s.m-1)
	for j := range x {
		x[j] = math.Cos(float64(j)) // anything that is not an eigenvector
	}
	v, value := bigs(x), bigOf(0)
	for range 30 {
		norm := bigOf(0)
		for _, e := range v {
			norm.Add(norm, bigOf(0).Mul(e, e))
		}
		norm.Sqrt(norm)
		value.Quo(bigOf(1), norm)
		for _, e := range v {
			e.Quo(e, norm)
		}
		s.solve(v)
	}
	norm := bigOf(0)
	for _, e := range v {
		norm.Add(norm, bigOf(0).Mul(e, e))
	}
	out, _ := value.Quo(bigOf(1), norm.Sqrt(norm)).Float64()
	return out
}

func rounded(v []*big.Float) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i], _ = x.Float64()
	}
	return out
}

func roundedRows(v [][]*big.Float) *mat.Dense {
	out := mat.NewDense(len(v), len(v[0]), nil)
	for i, row := range v {
		out.SetRow(i, rounded(row))
	}
	return out
}

// exponential2 is exp in big arithmetic: x = k·log 2 + 2^s r, a series in r, and s squarings.
type exponential2 struct{ log2 *big.Float }

// halvings is s: with |r| < 2^−33, fourteen terms give 448 bits and more.
const halvings = 32

func newExponential2() exponential2 {
	// log 2 = Σ 1/(k 2^k).
	sum := bigOf(0).SetPrec(bits + 64)
	for k := bits + 64; k > 0; k-- {
		term := new(big.Float).SetPrec(bits+64).SetMantExp(bigOf(1), -k)
		sum.Add(sum, term.Quo(term, bigOf(float64(k))))
	}
	return exponential2{sum}
}

func (e exponential2) of(x *big.Float) *big.Float {
	r := new(big.Float).SetPrec(bits + 64).Set(x)
	approx, _ := x.Float64()
	k := math.Round(approx / math.Ln2)
	r.Sub(r, new(big.Float).SetPrec(bits+64).Mul(e.log2, bigOf(k)))
	r.SetMantExp(r, -halvings)
	// exp(r) − 1, which keeps its digits through the squarings: (1+y)² − 1 = y(2+y).
	y, term := new(big.Float).SetPrec(bits+64).Set(r), new(big.Float).SetPrec(bits+64).Set(r)
	for i := 2; i <= 16; i++ {
		term.Mul(term, r)
		term.Quo(term, bigOf(float64(i)))
		y.Add(y, term)
	}
	two := bigOf(2)
	for range halvings {
		y.Mul(y, new(big.Float).SetPrec(bits+64).Add(y, two))
	}
	y.Add(y, bigOf(1))
	return bigOf(0).SetMantExp(y, int(k)).SetPrec(bits)
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

// planOf returns the plan of the true potentials, rounded. Where hardly any mass joins two groups of atoms, their offset
// is lost to a solver of float64, but not to float64: what a backward pass makes of this plan is its own error and no
// solver's.
func (t truth) planOf(ctx context.Context, p ot.Problem, plan *ot.Plan) (*ot.Plan, error) {
	g := make([]float64, len(t.beta))
	for j, v := range t.beta {
		g[j] = v - plan.Eps*math.Log(plan.B[j])
	}
	out, err := ot.LBFGS{Eps: plan.Eps, Tol: 1e-9, Start: g}.Solve(ctx, p) // converged before its first step
	if err == nil && out.Iterations > 0 {
		err = fmt.Errorf("analytic: the true potentials have a marginal error of %g in float64", out.MarginalL1)
	}
	return out, err
}
