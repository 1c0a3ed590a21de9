package ot

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/solve"
	"coupling/ot/internal/transport"
)

// Solver is anything that solves a Problem; every solver of this package is one. NewPlan makes the
// plan of a solver outside this package. With an error the plan is nil, unless the context ended or
// Trace stopped the solve: then it is the plan so far, with Status Interrupted.
type Solver interface {
	Solve(ctx context.Context, p Problem) (*Plan, error)
}

// WarmStarter is a solver that can start from potentials; every solver of this package is one.
type WarmStarter interface {
	Solver
	// From returns the solver that starts from the KL potentials g of the targets (another plan's G).
	From(g []float64) Solver
}

// Plan is the entropic transport plan of a problem,
//
//	T_ij = exp((αᵢ+βⱼ−cᵢⱼ)/ε) = aᵢ bⱼ exp((fᵢ+gⱼ−cᵢⱼ)/ε),
//
// kept as potentials: the n×m matrix is made only by Matrix. Every method makes rows of T relative
// to the row's maximum, so that potentials and costs of any size relative to ε are safe. A Plan is
// not changed by its methods and is safe for concurrent use.
type Plan struct {
	// Geometry and the normalised weights that were solved.
	Geometry cost.Geometry
	A, B     []float64
	// Eps is the ε of the plan, in units of cost.
	Eps float64
	// Alpha and Beta are the potentials of the first form; the Beta of the last target of positive weight is 0.
	// They are −Inf where the weight is 0.
	Alpha, Beta []float64
	// F and G are the potentials of the KL form, with <A,F> = <B,G>; where the weight is 0 they are the
	// softmin that a vanishing weight would have: finite, or +Inf where all pairs with weight are forbidden.
	F, G []float64
	// Status is the outcome of the solve.
	Status Status
	// Solver names the method that made the plan.
	Solver string
	// Iterations counts steps of the method, Evaluations passes over the costs.
	Iterations, Evaluations int
	// MarginalL1 is Σ|T1−a| + Σ|Tᵀ1−b|.
	MarginalL1 float64

	t         *transport.Plan  // nil where no solver made the plan
	penalties *solve.Penalties // of marginals that are not exact; nil where they are

	once   sync.Once
	values Values

	coupledOnce sync.Once
	coupled     Coupling
}

// Values are the numbers of one plan that the literature calls the Sinkhorn loss; h(T) = Σ T(1−log
// T).
type Values struct {
	// Sharp is <T,c>.
	Sharp float64
	// RegKL is min <T,c> + ε KL(T|abᵀ): POT solve, OTT kl_reg_cost, GeomLoss.
	RegKL float64
	// RegEntropy is min <T,c> + ε Σ T log T: POT reg_type="entropy", OTT ent_reg_cost.
	RegEntropy float64
	// RegEntropyMinus1 is min <T,c> − ε h(T) = RegEntropy − ε: papers on L-BFGS for the dual, and
	// regOT.
	RegEntropyMinus1 float64
	// SumPlogP is Σ T log T, and KL is KL(T|abᵀ).
	SumPlogP, KL float64
	// Mass is ΣT: 1 but for unbalanced plans.
	Mass float64
}

// String returns one line that says how the solve ended.
func (p *Plan) String() string {
	return fmt.Sprintf("%s: %v, %d×%d, ε = %.4g, L1 error %.3g after %d iterations, %d evaluations",
		p.Solver, p.Status, len(p.A), len(p.B), p.Eps, p.MarginalL1, p.Iterations, p.Evaluations)
}

// Dims returns the number of sources and of targets.
func (p *Plan) Dims() (n, m int) { return len(p.A), len(p.B) }

// plan is the plan of a result, nil for none.
func (p Problem) plan(solver string, r *solve.Result) *Plan {
	if r == nil {
		return nil
	}
	t := r.Plan
	return &Plan{
		Geometry:    p.Geometry,
		A:           t.A,
		B:           t.B,
		Eps:         t.Eps,
		Alpha:       t.Alpha,
		Beta:        t.Beta,
		F:           t.F,
		G:           t.G,
		Status:      Status(r.Status),
		Solver:      solver,
		Iterations:  r.Iterations,
		Evaluations: r.Evaluations,
		MarginalL1:  r.MarginalL1,
		t:           t,
		penalties:   r.Penalties,
	}
}

// cloud returns the points of the plan's geometry.
func (p *Plan) cloud() (*geometry.Cloud, error) {
	if c := p.t.Points(); c != nil {
		return c, nil
	}
	return nil, bad(ErrUnsupported, "the geometry is %T, want one of ot.Points", p.Geometry)
}

// Matrix returns T, n×m, as a new matrix.
func (p *Plan) Matrix() *mat.Dense { return p.t.Matrix() }

// Apply returns T v, of length n, without the matrix: one pass. v has length m.
func (p *Plan) Apply(v []float64) []float64 {
	mustLen("Plan.Apply", len(v), len(p.B))
	return p.t.Times(v)
}

// ApplyT returns Tᵀu, of length m, without the matrix: one pass. u has length n.
func (p *Plan) ApplyT(u []float64) []float64 {
	mustLen("Plan.ApplyT", len(u), len(p.A))
	return p.t.TimesT(u)
}

// Barycentric returns the barycentric projection, n×d: row i is Σⱼ T_ij yⱼ / Σⱼ T_ij, where source
// i goes on average. y is m×d. A source of weight 0 gets the limit of a vanishing weight.
func (p *Plan) Barycentric(y *mat.Dense) *mat.Dense {
	rows, _ := y.Dims()
	mustLen("Plan.Barycentric: y", rows, len(p.B))
	return p.t.Barycentric(y)
}

// Sample draws k pairs (i, j) from T, independently. Cost: k log n, and a row for every source
// drawn.
func (p *Plan) Sample(rng *rand.Rand, k int) (i, j []int) {
	i, j = make([]int, k), make([]int, k)
	n, m := p.Dims()
	cum := floats.CumSum(make([]float64, n), p.t.Mass)
	for s := range i {
		i[s] = draw(rng, cum)
	}
	// Visit the draws by source so that each row is made once; the order of the draws stays random.
	order := make([]int, k)
	for s := range order {
		order[s] = s
	}
	slices.SortStableFunc(order, func(s, t int) int { return i[s] - i[t] })
	t, cost := make([]float64, m), make([]float64, m)
	cum = make([]float64, m)
	last := -1
	for _, s := range order {
		if i[s] != last {
			last = i[s]
			p.t.Row(last, t, cost)
			floats.CumSum(cum, t)
		}
		j[s] = draw(rng, cum)
	}
	return i, j
}

// draw returns an index with probability proportional to the increments of cum.
func draw(rng *rand.Rand, cum []float64) int {
	u := rng.Float64() * cum[len(cum)-1]
	// The first index whose running sum exceeds u, which is never one of zero weight.
	return min(sort.Search(len(cum), func(k int) bool { return cum[k] > u }), len(cum)-1)
}

// mustLen panics when a vector has the wrong length: an index invariant, as in gonum.
func mustLen(name string, got, want int) {
	if got != want {
		panic(bad(ErrShape, "%s: length %d, want %d", name, got, want))
	}
}
