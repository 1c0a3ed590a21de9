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
	"coupling/ot/internal/rows"
	"coupling/ot/internal/transport"
)

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
	// softmin that a vanishing weight would have, which is finite.
	F, G []float64
	// Status says whether the solve converged.
	Status Status
	// Solver names the method that made the plan.
	Solver string
	// Iterations counts steps of the method, Evaluations passes over the costs.
	Iterations, Evaluations int
	// MarginalL1 is Σ|T1−a| + Σ|Tᵀ1−b|.
	MarginalL1 float64

	t         *transport.Plan // nil where no solver made the plan
	penalties *penalties      // of marginals that are not exact; nil where they are

	once   sync.Once
	values Values
}

// NewPlan returns the plan of p at ε that has the KL potentials g of the m targets (finite), for
// solvers outside this package: its rows sum to A for every g, and MarginalL1 is the L1 deviation
// of its columns from B. The solver fills Status, Solver and Iterations. Cost: two passes.
func NewPlan(p Problem, eps float64, g []float64) (*Plan, error) {
	if err := cost.Check(p.Geometry); err != nil {
		return nil, err
	}
	_, m := p.Geometry.Dims()
	if err := checkStart("g", g, m); err != nil {
		return nil, err
	}
	r, err := Control{Anneal: 1, Start: g}.begin(context.Background(), p, eps, 0)
	if err != nil {
		return nil, err
	}
	r.evalOnce()
	return r.finish("", r.s.DeviceFailure())
}

// At returns the plan from new sources, the rows of z (k×d), of equal weights, with the potentials
// of this plan's targets: its F holds the potentials at z, its Barycentric is where each row of z
// goes on average, its Matrix is their conditional distributions over k, and Sample draws from
// them. The geometry must be one of points, and the plan balanced.
func (p *Plan) At(z *mat.Dense) (*Plan, error) {
	c, err := p.cloud()
	if err != nil {
		return nil, err
	}
	return p.extend(MatrixFree(z, c.Y(), c.Kind), p.B, p.G)
}

// AtTargets is At for new targets: the plan from the rows of z, of equal weights, to this plan's sources.
func (p *Plan) AtTargets(z *mat.Dense) (*Plan, error) {
	c, err := p.cloud()
	if err != nil {
		return nil, err
	}
	return p.extend(MatrixFree(z, c.X(), geometry.Reversed(c.Kind)), p.A, p.F)
}

func (p *Plan) extend(g *cost.Cloud, b, potential []float64) (*Plan, error) {
	if p.penalties != nil {
		return nil, bad(ErrUnsupported, "extension of an unbalanced plan: only balanced plans are extended")
	}
	q, err := NewPlan(Problem{Geometry: g, B: b}, p.Eps, potential)
	if err != nil {
		return nil, err
	}
	j := slices.IndexFunc(q.B, func(b float64) bool { return b > 0 })
	by := potential[j] - q.G[j] // to the gauge of p
	rows.Shift(q.G, by)
	rows.Shift(q.F, -by)
	q.Solver = p.Solver
	return q, nil
}

// String returns one line that says how the solve ended.
func (p *Plan) String() string {
	return fmt.Sprintf("%s: %v, %d×%d, ε = %.4g, L1 error %.3g after %d iterations, %d evaluations",
		p.Solver, p.Status, len(p.A), len(p.B), p.Eps, p.MarginalL1, p.Iterations, p.Evaluations)
}

// Dims returns the number of sources and of targets.
func (p *Plan) Dims() (n, m int) { return len(p.A), len(p.B) }

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
