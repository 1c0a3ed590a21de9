package analytic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// GradientError is the error of each way to differentiate the sharp loss, against references of many bits.
func GradientError() lab.Study[FamilyParams, GradientErrors] {
	return lab.Study[FamilyParams, GradientErrors]{
		Name:  "analytic/gradient-error",
		Title: "Error of the gradient of the sharp loss",
		Shows: "Where the paper's own formula breaks: a constant added to all costs, which changes neither plan nor " +
			"gradient, costs it a digit for each digit of the constant over ε; two clusters that move apart, so " +
			"that hardly any mass crosses and its matrix D becomes singular, cost it the small entries of the " +
			"gradient, and now and then all of them. The form without subtractions loses nothing.",
		Sizes: kit.Sizes("two clusters of %v points, %v distances, %v shifts, %v draws", kit.Per{4, 8, 8, 16},
			kit.Per{5, 9, 11, 15}, kit.Per{5, 6, 6, 11}, kit.Per{2, 5, 9, 25}),
		Seconds:    kit.ByPreset(1.3, 13, 30, 1500),
		Experiment: gradientFamily,
		Grid:       apartGrid,
		Also:       []lab.Cells{shiftedClusters},
		Draw:       drawGradientError,
		Claims:     claimGradientError,
	}
}

// FamilyParams is one pair of clusters of N points each, a distance apart, as sources and as targets; Shift is added to
// all costs.
type FamilyParams struct {
	N          int     `json:"n" min:"1" doc:"points of each of the two clusters of a side"`
	Distance   float64 `json:"distance" min:"0" doc:"between the clusters"`
	Shift      float64 `json:"shift" min:"0" doc:"added to all costs"`
	Eps        float64 `json:"eps" min:">0" doc:"ε"`
	Iterations int     `json:"iterations" min:"1" doc:"iterations of the unrolled method"`
	Draw       int     `json:"draw" min:"0" doc:"number of the draw of points"`
}

// GradientErrors are those of each method, all from the same plan; the unrolled one makes its own.
type GradientErrors struct {
	Paper     Deviation `json:"paper"`
	Implicit  Deviation `json:"implicit"`
	Unrolled  Deviation `json:"unrolled"`
	Eliminate Deviation `json:"eliminate"`
	Cholesky  Deviation `json:"cholesky"`
	CG        Deviation `json:"cg"`
	Lambda    float64   `json:"lambda"` // smallest eigenvalue of D
}

// Deviation is the error of one gradient G against G*; NaN where there was no answer.
type Deviation struct {
	Max   float64 `json:"max"`   // max |G − G*| / max |G*|
	Entry float64 `json:"entry"` // max |G − G*| / (|G*| + T): entries that are small count as much
}

var gradientFamily = lab.Experiment[FamilyParams, GradientErrors]{
	Name: "analytic/gradient-family", Version: 1,
	Run: func(ctx context.Context, c *lab.Cell, p FamilyParams) (GradientErrors, error) {
		prob := clusters(c.Rand(fmt.Sprintf("clusters %d", p.Draw)), p.N, p.Distance)
		if p.Shift != 0 {
			cost := ot.Cost(prob.Geometry)
			cost.Apply(func(_, _ int, v float64) float64 { return v + p.Shift }, cost)
			prob.Geometry = ot.Dense(cost)
		}
		plan, want, err := reference(ctx, prob, p.Eps)
		lab.Check(err)
		if p.Shift == 0 { // shifted, costs leave the potentials no digits for this, and no need of it
			plan = lab.Must(want.planOf(ctx, prob, plan))
		}
		out := compareGradients(ctx, plan, want.grad, p.Iterations)
		out.Lambda = want.lambda
		return out, nil
	},
}

// clusters are two groups of n points in the plane, sources and targets alike, of equal weights: n should be a power
// of two, so that the groups balance exactly and only the plan's own small entries join them.
func clusters(rng *rand.Rand, n int, distance float64) ot.Problem {
	cloud := func() *mat.Dense {
		x := mat.NewDense(2*n, 2, nil)
		for i := range 2 * n {
			x.SetRow(i, []float64{distance*float64(i/n) + rng.Float64(), rng.Float64()})
		}
		return x
	}
	return ot.Problem{Geometry: ot.Points(cloud(), cloud(), ot.SqEuclidean)}
}

// compareGradients measures every method at the plan.
func compareGradients(ctx context.Context, plan *ot.Plan, want *mat.Dense, iterations int) (out GradientErrors) {
	t, c := plan.Matrix(), ot.Cost(plan.Geometry)
	g, err := paperFormula(t, c, plan.A, plan.B, plan.Eps)
	if err == nil {
		out.Paper = errorOf(g, want, t)
	} else { // the system cannot be solved at all
		out.Paper = Deviation{math.NaN(), math.NaN()}
	}
	for _, m := range []struct {
		method ot.Method
		err    *Deviation
	}{{ot.CG, &out.CG}, {ot.Cholesky, &out.Cholesky}, {ot.Eliminate, &out.Eliminate}} {
		*m.err = errorOf(gradientBy(m.method)(ctx, plan, c), want, t)
	}
	v := lab.Must(ot.Backward{}.VJP(ctx, plan, c)) // by its own choice of a method
	v.Cost.Add(v.Cost, t)
	out.Implicit = errorOf(v.Cost, want, t)
	u := lab.Must(logUnrolled{Eps: plan.Eps, Iterations: iterations}.Eval(ctx,
		ot.Problem{Geometry: plan.Geometry, A: plan.A, B: plan.B}))
	out.Unrolled = errorOf(u.Cost, want, t)
	return out
}

// errorOf compares a gradient with the true one, t the plan.
func errorOf(got, want, t *mat.Dense) Deviation {
	n, m := want.Dims()
	var diff, size, entry float64
	for i := range n {
		for j := range m {
			d, w := math.Abs(got.At(i, j)-want.At(i, j)), math.Abs(want.At(i, j))
			diff, size = max(diff, d), max(size, w)
			if d > 0 {
				entry = max(entry, d/(w+t.At(i, j)))
			}
		}
	}
	return Deviation{Max: diff / size, Entry: entry}
}

// family varies one thing of the clusters and, fastest, the draw.
func family(p lab.Preset, base FamilyParams, axis lab.Axis[FamilyParams]) []FamilyParams {
	base.N, base.Eps, base.Iterations = lab.Pick(p, 4, 8, 8, 16), 0.7, 1000
	draws := kit.Count(lab.Pick(p, 2, 5, 9, 25))
	return lab.Grid(base, axis, lab.Vary(func(p *FamilyParams, v int) { p.Draw = v }, draws...))
}

// apartGrid is the clusters over their distance.
func apartGrid(set lab.Setting) []FamilyParams {
	distances := floats.Span(make([]float64, lab.Pick(set.Preset, 5, 9, 11, 15)), 1, 8)
	return family(set.Preset, FamilyParams{}, lab.Vary(func(p *FamilyParams, v float64) { p.Distance = v },
		distances...))
}

// shiftedClusters are the clusters at distance 1 over the shift of their costs.
var shiftedClusters = lab.Part[FamilyParams, GradientErrors]{Experiment: gradientFamily,
	Grid: func(set lab.Setting) []FamilyParams {
		shifts := kit.Decades(lab.Pick(set.Preset, 5, 6, 6, 11), 0, 10)
		return family(set.Preset, FamilyParams{Distance: 1},
			lab.Vary(func(p *FamilyParams, v float64) { p.Shift = v }, shifts...))
	}}

// paperEverywhere is the null in which the paper's formula stands in every place.
var paperEverywhere = kit.Null("the paper's formula in every place", gradientFamily,
	func(_ FamilyParams, e *GradientErrors) { e.Eliminate, e.Cholesky = e.Paper, e.Paper })

// stableEverywhere is the null in which the form without subtractions stands in the place of the paper's formula.
var stableEverywhere = kit.Null("the form without subtractions in every place", gradientFamily,
	func(_ FamilyParams, e *GradientErrors) { e.Paper = e.Eliminate })

type familyResult = lab.Result[FamilyParams, GradientErrors]

// gradientMethod is one curve.
type gradientMethod struct {
	name   string
	series int
	of     func(GradientErrors) Deviation
}

func gradientMethods(iterations int) []gradientMethod {
	return []gradientMethod{
		{"paper's formula", 1, func(e GradientErrors) Deviation { return e.Paper }},
		{fmt.Sprintf("unrolled, %d iterations", iterations), 2, func(e GradientErrors) Deviation { return e.Unrolled }},
		{"conjugate gradients", 3, func(e GradientErrors) Deviation { return e.CG }},
		{"implicit, subtraction-free", 4, func(e GradientErrors) Deviation { return e.Implicit }},
		{"analytic, subtraction-free", 0, func(e GradientErrors) Deviation { return e.Eliminate }},
	}
}

// floor is drawn where an error is 0 exactly: half the rounding unit of float64.
const floor = 0x1p-54

func drawGradientError(v lab.View[FamilyParams, GradientErrors]) (lab.Exhibit, error) {
	shifted := shiftedClusters.View(v.Source)
	first := v.Cells[0].Params
	shift := familyPlot(shifted.Cells, func(r familyResult) float64 { return r.Params.Shift / r.Params.Eps },
		func(e Deviation) float64 { return e.Max })
	shift.Title, shift.X.Label, shift.Y.Label = "costs shifted by a constant", "shift / ε",
		"relative error of the gradient"
	apart := familyPlot(v.Cells, func(r familyResult) float64 { return r.Value.Lambda },
		func(e Deviation) float64 { return e.Entry })
	apart.Title, apart.X.Label, apart.X.Invert = "clusters moved apart", "smallest eigenvalue of \\i{D}", true
	apart.Y.Label = "relative error of its worst entry"
	panels := style.Panels{Items: []style.Drawer{shift, apart}, Letters: true, Columns: 2}
	caption := fmt.Sprintf(
		"Relative error of ∂⟨T,c⟩/∂c for two clusters of %d points, ε = %g; lines are the median of the draws and "+
			"bands their range. (a) The largest error over the largest entry, as the costs are shifted. (b) The "+
			"largest relative error of an entry, as the clusters move apart. Dashed: the precision of float64.",
		first.N, first.Eps)
	notes := []string{
		fmt.Sprintf(
			"The true gradients of (a) and (b) are the experiment's own: the problem is solved again in %d bits of "+
				"math/big and differentiated there by the paper's formula. All methods but the unrolled one start "+
				"from the same plan, solved to a marginal error of 1e-14; in (b) from that of the true potentials, "+
				"rounded, since a solver of float64 cannot see the offset of two clusters that hardly exchange mass.",
			bits),
		lottery(v.Cells),
	}
	return lab.Exhibit{Pictures: kit.Wide(panels, v.Badge(fmt.Sprintf("n = %d", 2*first.N)),
		caption), Notes: notes}, nil
}

// lottery describes how the paper's formula fares on the whole gradient where D is singular.
func lottery(apart []familyResult) string {
	singular, lost, worst := 0, 0, 0.0
	for _, r := range apart {
		if r.Value.Lambda < 1e-17 {
			singular++
			if e := r.Value.Paper.Max; !(e < 1e-6) {
				lost++
				worst = max(worst, e)
			}
		}
	}
	return fmt.Sprintf(
		"Where the smallest eigenvalue of D is below 1e-17, the largest entries of the paper's gradient are right "+
			"or not by chance: a pivot that is nothing but rounding either cancels later or is 0. Here %d of %d "+
			"such problems came out with a relative error above 1e-6 (at worst %.0e).", lost, singular, worst)
}

const errorFloor, errorCeiling = 1e-17, 1e3

// familyPlot draws an error over a quantity, by groups of draws.
func familyPlot(family []familyResult, at func(familyResult) float64, of func(Deviation) float64) style.Plot {
	p := style.Plot{X: style.Axis{Log: true}, Y: style.Axis{Log: true, Min: errorFloor, Max: errorCeiling}, Aspect: 1}
	for _, m := range gradientMethods(family[0].Params.Iterations) {
		l := style.Line{Name: m.name, Series: m.series, Marks: true}
		for _, group := range kit.Runs(family,
			func(r familyResult) [2]float64 { return [2]float64{r.Params.Distance, r.Params.Shift} }) {
			_, mid, _ := spread(kit.Each(group, at))
			l.X = append(l.X, mid)
			lo, mid, hi := spread(kit.Each(group, func(r familyResult) float64 { return of(m.of(r.Value)) }))
			l.Y = append(l.Y, onPlot(mid))
			l.Lo, l.Hi = append(l.Lo, onPlot(lo)), append(l.Hi, onPlot(hi))
		}
		p.Items = append(p.Items, l)
	}
	p.Items = append(p.Items, style.Rule{At: 0x1p-52})
	return p
}

// onPlot moves an error that is 0, not a number or too large to the edge of the plot.
func onPlot(e float64) float64 {
	if math.IsNaN(e) {
		return errorCeiling
	}
	return min(max(e, floor), errorCeiling)
}

func claimGradientError(v lab.View[FamilyParams, GradientErrors]) ([]lab.Claim, error) {
	shifted := shiftedClusters.View(v.Source)
	none := math.Inf(-1)
	worst, entry, automatic := none, none, none
	for _, r := range slices.Concat(v.Cells, shifted.Cells) {
		worst, entry = max(worst, r.Value.Eliminate.Max), max(entry, r.Value.Eliminate.Entry)
		automatic = max(automatic, r.Value.Cholesky.Max)
	}
	var x, y []float64
	for _, r := range shifted.Cells {
		if s := r.Params.Shift; s >= 1e2 {
			x, y = append(x, math.Log(s)), append(y, math.Log(r.Value.Paper.Max))
		}
	}
	lost := math.Inf(1)
	for _, r := range v.Cells {
		if r.Value.Lambda < 1e-20 && !math.IsNaN(r.Value.Paper.Entry) {
			lost = min(lost, r.Value.Paper.Entry)
		}
	}
	return []lab.Claim{
		kit.Law(kit.AtMost("largest error of the form without subtractions", "all its terms add up with one sign",
			worst, 1e-12, "some n² roundings in a row, and the plan's own error", paperEverywhere)),
		kit.AtMost("largest relative error of an entry of it", "as above", entry, 1e-12,
			"as above; entries can be the difference of larger ones", paperEverywhere),
		kit.AtMost("largest error of Cholesky with its fall-back", "pivots below 1e-4 of their diagonal are not "+
			"trusted", automatic, 1e-10, "2⁻⁵³ over the weakest trusted pivot, times n",
			paperEverywhere),
		kit.Near("digits the paper's formula loses per digit of the shift", "s_u ⊕ s_v − c cancels", slope(x, y), 1,
			0.15, "a rounding of size shift·2⁻⁵³; draws scatter by a factor of some units over eight decades",
			stableEverywhere),
		kit.AtLeast("the paper's formula, least error of its worst entry at λ_min(D) < 1e-20",
			"2⁻⁵³ / λ_min(D) > 1", lost, 1e-6, "no digit should be left; luck in the rounding may spare a few",
			stableEverywhere),
	}, nil
}

// paperFormula is the gradient of the sharp loss as the paper states it, in float64,
//
//	μ_r = (c∘T)1, μ_c = (c∘T)ᵀ1,  D s_v = μ_c − Tᵀ(μ_r/a),  s_u = (μ_r − T s_v)/a,  ∂S/∂c = T + (s_u ⊕ s_v − c)∘T/ε,
//
// D = Diag(b) − TᵀDiag(1/a)T, the last target dropped. The system is solved by Cholesky's method, and by elimination
// with pivots where D is not positive definite in float64.
func paperFormula(t, c *mat.Dense, a, b []float64, eps float64) (*mat.Dense, error) {
	n, m := t.Dims()
	var work, scaled mat.Dense
	work.MulElem(c, t)
	scaled.CloneFrom(t) // T̃/a
	mu := make([]float64, n)
	for i, w := range a {
		if w > 0 {
			mu[i] = mat.Sum(work.RowView(i)) / w
			scaled.RowView(i).(*mat.VecDense).ScaleVec(1/w, t.RowView(i))
		}
	}
	rhs := mat.NewVecDense(m, nil)
	rhs.MulVec(t.T(), mat.NewVecDense(n, mu))
	for j := range m {
		rhs.SetVec(j, mat.Sum(work.ColView(j))-rhs.AtVec(j))
	}
	sv := mat.NewVecDense(m, nil)
	if m > 1 {
		if err := solveD(sv.SliceVec(0, m-1).(*mat.VecDense), t, &scaled, b, rhs.SliceVec(0, m-1)); err != nil {
			return nil, err
		}
	}
	var su mat.VecDense
	su.MulVec(&scaled, sv)
	out := mat.NewDense(n, m, nil)
	for i := range n {
		for j := range m {
			out.Set(i, j, t.At(i, j)*(1+(mu[i]-su.AtVec(i)+sv.AtVec(j)-c.At(i, j))/eps))
		}
	}
	return out, nil
}

// solveD solves D x = rhs, scaled = Diag(1/a)T.
func solveD(x *mat.VecDense, t, scaled *mat.Dense, b []float64, rhs mat.Vector) error {
	n, m := t.Dims()
	var d mat.Dense
	d.Mul(t.Slice(0, n, 0, m-1).T(), scaled.Slice(0, n, 0, m-1))
	sym := mat.NewSymDense(m-1, nil)
	for j := range m - 1 {
		for l := j; l < m-1; l++ {
			sym.SetSym(j, l, -d.At(j, l))
		}
		sym.SetSym(j, j, b[j]-d.At(j, j))
	}
	var chol mat.Cholesky
	var err error
	if chol.Factorize(sym) {
		err = chol.SolveVecTo(x, rhs)
	} else {
		err = x.SolveVec(sym, rhs)
	}
	var condition mat.Condition // an ill-conditioned system is solved all the same, as elsewhere
	if errors.As(err, &condition) && !math.IsInf(float64(condition), 1) {
		return nil
	}
	return err
}
