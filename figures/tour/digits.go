package tour

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// pixels is the number of pixels of the 16×16 images.
const pixels = 16 * 16

// Digits is entropic transport between USPS and MNIST digits over ε.
func Digits() lab.Study[PlanParams, PlanOut] {
	return lab.Study[PlanParams, PlanOut]{
		Name:  "tour/digits",
		Title: "Entropic transport between USPS and MNIST digits",
		Shows: "Two sets of handwritten digits, drawn at random and scaled to 16×16, coupled by entropic optimal " +
			"transport at the mean squared difference of pixels. At small ε nearly every digit goes to one or two " +
			"others, half of the mass to its own class; as ε grows the plan blurs into the independent coupling. " +
			"Labels are used to sort and to count, never to couple.",
		Sizes: kit.Sizes("%[1]v + %[1]v digits, %[2]v values of ε", kit.Per{100, 500, 1000, 2000},
			kit.Per{3, 6, 6, 6}),
		Seconds:    kit.ByPreset(.5, 3, 12, 50),
		Experiment: digitsPlan,
		Grid:       digitsGrid,
		Draw:       drawDigits,
		Claims:     claimDigits,
	}
}

// sampleDigits draws n digits of each set, ordered by class.
func sampleDigits(ctx context.Context, c *lab.Cell, n int, o data.Origin) (usps, mnist *data.Images) {
	rng := c.Rand("digits")
	from := sample.From(o)
	from.Progress = func(_ string, done, total int64) { c.Progress(int(done), int(total)) }
	u, m := lab.Must(data.USPS(ctx, from, data.Train)), lab.Must(data.MNIST(ctx, from, data.Train))
	// MNIST's digits fill 20×20 pixels of 28×28, those of USPS their whole frame.
	return pickDigits(rng, u, n), pickDigits(rng, lab.Must(m.CenterCrop(20, 20)), n)
}

// PlanParams is one plan: n digits of each set at ε = Ratio times the mean cost.
type PlanParams struct {
	N     int         `json:"n" min:"1" doc:"digits of each set"`
	Ratio float64     `json:"ratio" min:">0" doc:"ε over the mean cost"`
	Tol   float64     `json:"tol" min:">0" doc:"marginal error at which the solver stops"`
	Data  data.Origin `json:"data,omitzero" enum:",subset,sample" doc:"files; empty: the official ones"`
}

// PlanOut is what is known of one plan between digits that are ordered by class. Artifacts:
// plan.npy (n×n), and as images in [0, 1] usps.npy, mnist.npy and projection.npy, the barycentric
// projection of each USPS digit.
type PlanOut struct {
	Eps        float64     `json:"eps"`
	ByPlan     float64     `json:"eps_by_plan"` // the same, by the plan's entries
	MeanCost   float64     `json:"mean_cost"`
	Status     string      `json:"status"`
	Iterations int         `json:"iterations"`
	MarginalL1 float64     `json:"marginal_l1"`
	Sharp      float64     `json:"sharp"`
	Gap        float64     `json:"duality_gap"` // relative
	Effective  float64     `json:"effective"`   // exp of the mean entropy of a row: targets of one source
	SameClass  float64     `json:"same_class"`  // mass that stays in its class
	Chance     float64     `json:"chance"`      // the same for the independent coupling
	ClassMass  [][]float64 `json:"class_mass"`
	Match      []int       `json:"match"` // the likeliest target of each source
	USPS       []int       `json:"usps"`  // labels
	MNIST      []int       `json:"mnist"`
}

var digitsPlan = lab.Experiment[PlanParams, PlanOut]{
	Name: "tour/digits-plan", Version: 3,
	Run: func(ctx context.Context, c *lab.Cell, p PlanParams) (PlanOut, error) {
		u, m := sampleDigits(ctx, c, p.N, p.Data)
		usps, mnist := u.Mat(), m.Mat()
		x, y := scaled(usps), scaled(mnist) // so that |x−y|² is the mean over pixels
		prob := ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}
		mean := mat.Sum(ot.Cost(prob.Geometry)) / float64(p.N*p.N)
		plan := lab.Must(ot.LBFGS{Eps: p.Ratio * mean, Tol: p.Tol, Control: ot.Control{Trace: func(s ot.Step) error {
			c.Progress(progressOf(s.MarginalL1, p.Tol), 100)
			return nil
		}}}.Solve(ctx, prob))
		out := describePlan(plan, u.Labels, m.Labels)
		out.MeanCost, out.ByPlan = mean, kit.Epsilon(plan.Matrix(), x, y)
		return out, errors.Join(kit.Write(c, "usps.npy", usps), kit.Write(c, "mnist.npy", mnist),
			kit.Write(c, "plan.npy", plan.Matrix()), kit.Write(c, "projection.npy", plan.Barycentric(mnist)))
	},
}

// progressOf is the way from an error of 1 down to tol in percent, by decades.
func progressOf(err, tol float64) int {
	return int(100 * min(max(math.Log(err)/math.Log(tol), 0), 1))
}

func scaled(x *mat.Dense) *mat.Dense {
	var y mat.Dense
	y.Scale(1/math.Sqrt(pixels), x)
	return &y
}

func describePlan(plan *ot.Plan, source, target []int) PlanOut {
	t := plan.Matrix()
	n, m := t.Dims()
	v := plan.Value()
	primal := v.Sharp + plan.Eps*v.KL
	out := PlanOut{
		Eps:        plan.Eps,
		Status:     plan.Status.String(),
		Iterations: plan.Iterations,
		MarginalL1: plan.MarginalL1,
		Sharp:      v.Sharp,
		Gap:        math.Abs(primal-v.RegKL) / math.Abs(primal),
		Effective:  float64(m) * math.Exp(-v.KL),
		USPS:       source,
		MNIST:      target,
		ClassMass:  make([][]float64, 10),
		Match:      make([]int, n),
	}
	for c := range out.ClassMass {
		out.ClassMass[c] = make([]float64, 10)
	}
	for i := range n {
		best := 0
		for j := range m {
			w := t.At(i, j)
			out.ClassMass[source[i]][target[j]] += w
			if source[i] == target[j] {
				out.SameClass += w
				out.Chance += plan.A[i] * plan.B[j]
			}
			if w > t.At(i, best) {
				best = j
			}
		}
		out.Match[i] = best
	}
	return out
}

func digitsGrid(set lab.Setting) []PlanParams {
	ratios := []float64{.003, .01, .03, .1, .3, 1}
	if set.Preset == lab.Smoke {
		ratios = []float64{.01, .1, 1}
	}
	base := PlanParams{N: lab.Pick(set.Preset, 100, 500, 1000, 2000), Tol: 1e-8, Data: data.Choose("usps", "mnist")}
	return lab.Grid(base, lab.Vary(func(p *PlanParams, r float64) { p.Ratio = r }, ratios...))
}

// unsolved is the null of plans with the wrong marginals, in the order of falling ε.
var unsolved = kit.NullOf("unsolved plans in reverse order", digitsPlan,
	func(cells []planCell) {
		kit.Reverse(cells)
		for i := range cells {
			cells[i].Value.MarginalL1, cells[i].Value.Gap = .1, .1
		}
	})

// twiceEpsilon is the null of plans at twice the ε.
var twiceEpsilon = kit.Null("twice the ε", digitsPlan, func(_ PlanParams, v *PlanOut) { v.ByPlan *= 2 })

// independentPairs is the null of digits that are coupled at random.
var independentPairs = kit.Null("independent pairs", digitsPlan,
	func(_ PlanParams, v *PlanOut) { v.SameClass = v.Chance })

type digitsView = lab.View[PlanParams, PlanOut]

func drawDigits(v digitsView) (lab.Exhibit, error) {
	first := v.Cells[0].Params
	badge := v.Badge(fmt.Sprintf("n = %d", first.N), sample.Note(first.Data, "mnist"))
	picture := func(name, caption string, body style.Drawer) lab.Picture {
		return kit.Picture(name, body, badge, caption)
	}
	return lab.Exhibit{
		Pictures: []lab.Picture{
			picture("plans", "Transport plans, sources and targets sorted by class.", drawPlans(v)),
			picture("pairs",
				fmt.Sprintf(
					"USPS digits (left) and the MNIST digit to which each sends most of its mass (right), at ε = %g "+
						"of the mean cost.", first.Ratio), drawPairs(v.Cells[0])),
			picture("projections",
				"Barycentric projections: where each USPS digit of the first row goes on average, over ε.",
				drawProjections(v)),
		},
		Tables: []lab.Table{summaryTable(v), massTable(v)},
		Notes: []string{"The two sets hold different shares of each class (USPS has more 0 and 1), and mass must go " +
			"somewhere: part of what leaves a class does so because its targets are full."},
	}, nil
}

func epsLabel(ratio float64) string { return fmt.Sprintf("ε = %g × mean cost", ratio) }

func drawPlans(v digitsView) style.Panels {
	scale, out := style.Scale{Log: true, Lo: 1e-5, Hi: 1}, v.Cells[0].Value
	panels := style.Panels{Columns: 3, Bar: &style.ColorBar{Scale: scale, Label: "share of the digit's mass"}}
	for i, r := range v.Cells {
		plan := kit.Matrix(r.Open, "plan.npy")
		plan.Scale(float64(r.Params.N), plan) // rows sum to one: a row is where its digit goes
		h := style.HeatMap{
			M:     plan,
			Title: epsLabel(r.Params.Ratio),
			Rows:  style.Blocks(out.USPS, strconv.Itoa),
			Cols:  style.Blocks(out.MNIST, strconv.Itoa),
			Scale: scale,
			NoBar: true,
		}
		if i%panels.Columns == 0 {
			h.RowLabel = "USPS"
		}
		if i >= len(v.Cells)-panels.Columns {
			h.ColLabel = "MNIST"
		}
		panels.Items = append(panels.Items, h)
	}
	return panels
}

// perClass returns the first k positions of every class.
func perClass(labels []int, k int) [][]int {
	out := make([][]int, 10)
	for i, l := range labels {
		if len(out[l]) < k {
			out[l] = append(out[l], i)
		}
	}
	return out
}

func drawPairs(c planCell) style.ImageGrid {
	const perRow = 8
	usps, mnist := style.Rows(kit.Matrix(c.Open, "usps.npy")), style.Rows(kit.Matrix(c.Open, "mnist.npy"))
	g := style.ImageGrid{C: 1, H: 16, W: 16, Columns: 3*perRow - 1, Invert: true}
	for class, at := range perClass(c.Value.USPS, perRow) {
		if len(at) == 0 {
			continue
		}
		for k := range perRow {
			pair := [][]float32{nil, nil, nil} // the third is the space between pairs
			if k < len(at) {
				pair[0], pair[1] = usps[at[k]], mnist[c.Value.Match[at[k]]]
			}
			g.Images = append(g.Images, pair[:min(3, 3*perRow-1-3*k)]...)
		}
		g.RowLabels = append(g.RowLabels, strconv.Itoa(class))
	}
	return g
}

func drawProjections(v digitsView) style.ImageGrid {
	at := slices.Concat(perClass(v.Cells[0].Value.USPS, 2)...)
	g := style.ImageGrid{C: 1, H: 16, W: 16, Columns: len(at), Invert: true}
	add := func(name string, m *mat.Dense) {
		rows := style.Rows(m)
		g.Images = append(g.Images, kit.Each(at, func(i int) []float32 { return rows[i] })...)
		g.RowLabels = append(g.RowLabels, name)
	}
	add("USPS", kit.Matrix(v.Cells[0].Open, "usps.npy"))
	for _, r := range v.Cells {
		add(epsLabel(r.Params.Ratio), kit.Matrix(r.Open, "projection.npy"))
	}
	return g
}

func summaryTable(v digitsView) lab.Table {
	return kit.Table("summary",
		"The plans over ε, relative to the mean cost. Effective targets: the exponential of the mean entropy of a "+
			"source's targets.",
		"ε / mean cost | ⟨T,c⟩ / mean cost | effective targets | mass within class | by chance | iterations | "+
			"marginal error | status",
		kit.Each(v.Cells, func(r planCell) []string {
			v := r.Value
			return kit.Row("%v | %.4f | %.2f | %.1f%% | %.1f%% | %s | %.1e | %s", r.Params.Ratio, v.Sharp/v.MeanCost,
				v.Effective, 100*v.SameClass, 100*v.Chance, strconv.Itoa(v.Iterations), v.MarginalL1, v.Status)
		})...)
}

func massTable(v digitsView) lab.Table {
	t := kit.Table("mass", "Transported mass from class (row) to class (column), in percent of the row's class.",
		"ε / mean cost | USPS")
	for k := range 10 {
		t.Header = append(t.Header, "→ "+strconv.Itoa(k))
	}
	for _, r := range v.Cells {
		for from, row := range r.Value.ClassMass {
			total := floats.Sum(row)
			if total == 0 {
				continue // a class that was not drawn
			}
			cells := []string{fmt.Sprint(r.Params.Ratio), strconv.Itoa(from)}
			for _, w := range row {
				cells = append(cells, fmt.Sprintf("%.1f", 100*w/total))
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// claimDigits states laws of entropic transport: no paper prints these numbers.
func claimDigits(v digitsView) ([]lab.Claim, error) {
	plans := v.Cells
	marginal, gap, sharp, effective := math.Inf(-1), math.Inf(-1), math.Inf(1), math.Inf(1)
	for i, r := range plans {
		marginal, gap = max(marginal, r.Value.MarginalL1), max(gap, r.Value.Gap)
		if i > 0 {
			sharp = min(sharp, r.Value.Sharp-plans[i-1].Value.Sharp)
			effective = min(effective, r.Value.Effective-plans[i-1].Value.Effective)
		}
	}
	first := plans[0]
	return []lab.Claim{
		kit.Law(kit.AtMost("largest L1 error of the marginals", "T1 = a, Tᵀ1 = b", marginal, first.Params.Tol,
			"the solver's tolerance", unsolved)),
		kit.AtMostWithin("largest relative duality gap", "⟨T,c⟩ + ε KL(T|abᵀ) = ⟨a,f⟩ + ⟨b,g⟩", gap, 0, 1e-7,
			"a marginal error of 1e-8 times potentials of some mean costs", unsolved),
		kit.Law(kit.AtLeast("least increase of ⟨T,c⟩ from one ε to the next", "⟨T,c⟩ grows with ε", sharp, 0, "a law",
			unsolved)),
		kit.Law(kit.AtLeast("least increase of the effective targets", "KL(T|abᵀ) falls with ε", effective, 0, "a law",
			unsolved)),
		kit.AtLeast("mass that stays in its class at the smallest ε, over chance",
			"more than the independent coupling's", first.Value.SameClass/first.Value.Chance, 2,
			"twice chance, which is some .11: pixels tell digits apart", independentPairs),
		kit.EpsilonAsked(kit.Each(plans, func(r planCell) float64 {
			return r.Value.ByPlan / (r.Params.Ratio * r.Value.MeanCost)
		}), twiceEpsilon),
	}, nil
}

// pickDigits draws n images without replacement, as 16×16 in [0, 1], ordered by class.
func pickDigits(rng *rand.Rand, im *data.Images, n int) *data.Images {
	small := lab.Must(lab.Must(im.Pick(rng, n)).SortByClass().Resize(16, 16, data.Bilinear))
	return lab.Must(small.Scale(0, 1))
}

// planCell is a finished cell.
type planCell = lab.Result[PlanParams, PlanOut]
