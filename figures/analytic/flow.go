package analytic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
)

// Flow is a generative flow in the plane, by the gradients of three losses.
func Flow() lab.Study[FlowParams, FlowOut] {
	return lab.Study[FlowParams, FlowOut]{
		Name:  "analytic/flow",
		Title: "A generative flow by three transport losses",
		Shows: "Points move down the gradient of a loss to data, two half-moons. The regularised loss shrinks them, " +
			"the more the larger ε; the sharp loss has a bias of its own; the Sinkhorn divergence has neither. At " +
			"small ε all three come close.",
		Sizes: kit.Sizes("%v points, 2 values of ε, %v steps", kit.Per{60, 200, 300, 1000},
			kit.Per{20, 40, 60, 150}),
		Seconds:    kit.ByPreset(.5, 3, 12, 1500),
		Experiment: flowOf,
		Grid:       flowGrid,
		Draw:       drawFlow,
		Claims:     claimFlow,
	}
}

// FlowParams is one flow.
type FlowParams struct {
	N     int     `json:"n" min:"1" doc:"points, and data"`
	Ratio float64 `json:"ratio" min:">0" doc:"ε over the mean cost between the data and themselves"`
	Loss  string  `json:"loss" enum:"regularised,sharp,divergence" doc:"that the points descend"`
	Steps int     `json:"steps" min:"0" doc:"gradient steps"`
	Rate  float64 `json:"rate" min:">0" doc:"of the step n·∂loss/∂x; ½ goes to the barycentric projection"`
}

// Losses of the flow.
const (
	flowSharp      = "sharp"
	flowReg        = "regularised"
	flowDivergence = "divergence"
)

// FlowOut describes a flow. Artifacts: data.npy and end.npy, n×2.
type FlowOut struct {
	Eps      float64   `json:"eps"`
	W        []float64 `json:"w"`           // exact W₂² to the data after each step, from the start
	Spread   float64   `json:"spread"`      // variance of the points at the end over that of the data
	Unsolved int       `json:"unsolved"`    // steps whose plan did not converge
	ByPlan   float64   `json:"eps_by_plan"` // ε by the entries of the first plan
	// Slope is that of the loss along its gradient, by a central difference at the start, over the gradient's length.
	Slope float64 `json:"slope"`
}

var flowOf = lab.Experiment[FlowParams, FlowOut]{
	Name: "analytic/flow", Version: 2,
	Run: func(ctx context.Context, c *lab.Cell, p FlowParams) (FlowOut, error) {
		x, y := normal(c.Rand("start"), p.N, 0.3), halfMoons(c.Rand("data"), p.N)
		out := FlowOut{Eps: p.Ratio * mat.Sum(ot.Cost(ot.Points(y, y, ot.SqEuclidean))) / float64(p.N*p.N)}
		out.ByPlan = kit.Epsilon(lab.Must(flowSolver(out.Eps).Solve(ctx, ot.Problem{
			Geometry: ot.Points(x, y, ot.SqEuclidean)})).Matrix(), x, y)
		out.Slope = slopeAlong(ctx, p.Loss, x, y, out.Eps)
		for step := 0; ; step++ {
			out.W = append(out.W, distance(ctx, x, y))
			if step == p.Steps {
				break
			}
			_, grad, status := lossGradient(ctx, p.Loss, x, y, out.Eps)
			if status != ot.Converged {
				out.Unsolved++
			}
			grad.Scale(p.Rate*float64(p.N), grad)
			x.Sub(x, grad)
			c.Progress(step+1, p.Steps)
		}
		out.Spread = variance(x) / variance(y)
		return out, writeFlow(c, y, x)
	},
}

func flowSolver(eps float64) ot.LBFGS { return ot.LBFGS{Eps: eps, Tol: 1e-8} }

// lossGradient is a loss and its gradient with respect to the points x.
func lossGradient(ctx context.Context, loss string, x, y *mat.Dense, eps float64) (float64, *mat.Dense, ot.Status) {
	of := ot.Objective{Solver: flowSolver(eps), Loss: ot.RegKL}
	switch loss {
	case flowDivergence:
		divergence := ot.Divergence{Of: of}
		d := lab.Must(divergence.Eval(ctx, x, y, nil, nil, ot.SqEuclidean, ot.ByX))
		return d.Value, d.X, d.Status
	case flowSharp:
		of.Loss = ot.Sharp
	}
	t := lab.Must(of.Eval(ctx, x, y, nil, nil, ot.SqEuclidean, ot.ByX))
	return t.Value, t.X, t.Status
}

// slopeAlong is the difference of a loss to both sides along its gradient, over what the gradient's length says.
func slopeAlong(ctx context.Context, loss string, x, y *mat.Dense, eps float64) float64 {
	const step = .01 // in all coordinates together
	_, grad, _ := lossGradient(ctx, loss, x, y, eps)
	length := mat.Norm(grad, 2)
	at := func(t float64) float64 {
		var moved mat.Dense
		moved.Scale(t/length, grad)
		moved.Add(x, &moved)
		value, _, _ := lossGradient(ctx, loss, &moved, y, eps)
		return value
	}
	return (at(step) - at(-step)) / (2 * step * length)
}

// normal is a normal cloud in the plane.
func normal(rng *rand.Rand, n int, sd float64) *mat.Dense {
	x := mat.NewDense(n, 2, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return sd * rng.NormFloat64() }, x)
	return x
}

// writeFlow leaves the data and the points at the end.
func writeFlow(c *lab.Cell, data, end *mat.Dense) error {
	return errors.Join(kit.Write(c, "data.npy", data), kit.Write(c, "end.npy", end))
}

// halfMoons are two interleaving half circles of radius 1 with a little noise.
func halfMoons(rng *rand.Rand, n int) *mat.Dense {
	y := mat.NewDense(n, 2, nil)
	for i := range n {
		s, c := math.Sincos(math.Pi * rng.Float64())
		px, py := c-0.5, s-0.25
		if i%2 == 1 {
			px, py = 0.5-c, 0.25-s
		}
		y.SetRow(i, []float64{px + 0.06*rng.NormFloat64(), py + 0.06*rng.NormFloat64()})
	}
	return y
}

// variance is the mean squared distance of the rows from their mean.
func variance(x *mat.Dense) float64 {
	n, d := x.Dims()
	total := 0.0
	for j := range d {
		col := x.ColView(j)
		mean := mat.Sum(col) / float64(n)
		total += mat.Dot(col, col)/float64(n) - mean*mean
	}
	return total
}

func flowGrid(set lab.Setting) []FlowParams {
	base := FlowParams{N: lab.Pick(set.Preset, 60, 200, 300, 1000), Steps: lab.Pick(set.Preset, 20, 40, 60, 150),
		Rate: 0.15}
	return lab.Grid(base,
		lab.Vary(func(p *FlowParams, r float64) { p.Ratio = r }, 0.2, 0.01),
		lab.Vary(func(p *FlowParams, l string) { p.Loss = l }, flowReg, flowSharp, flowDivergence))
}

// standingStill is the null of points that stay where they start, a fifth as wide as the data, for
// plans that did not converge.
var standingStill = kit.Null("points that do not move", flowOf,
	func(p FlowParams, v *FlowOut) { v.Unsolved, v.Spread, v.W = p.Steps, .2, v.W[:1] })

// otherLoss is the null of half a gradient and of twice the ε.
var otherLoss = kit.Null("half the gradient, of twice the ε", flowOf,
	func(_ FlowParams, v *FlowOut) { v.Slope, v.ByPlan = 2*v.Slope, 2*v.ByPlan })

// arrived is the null of a regularised loss without a bias.
var arrived = kit.Null("points as wide as the data by every loss", flowOf,
	func(_ FlowParams, v *FlowOut) { v.Spread = 1 })

func drawFlow(v lab.View[FlowParams, FlowOut]) (lab.Exhibit, error) {
	cells := v.Cells
	n := cells[0].Params.N
	sizes := v.Badge(fmt.Sprintf("n = %d", n))
	ends := style.Panels{Columns: 3}
	distance := style.Panels{Letters: true, ShareY: true}
	for i, c := range cells {
		points := flowPoints(c.Open, [4]float64{-1.8, 1.8, -1.1, 1.1})
		points.Title = fmt.Sprintf("%s, ε = %g × mean cost", c.Params.Loss, c.Params.Ratio)
		ends.Items = append(ends.Items, points)
		if i%3 == 0 {
			distance.Items = append(distance.Items, flowDistance(cells[i:i+3]))
		}
	}
	return lab.Exhibit{
		Pictures: []lab.Picture{
			kit.Picture("points", ends, sizes,
				fmt.Sprintf("%d points after %d steps of gradient descent from a narrow normal cloud.", n,
					cells[0].Params.Steps)),
			kit.Picture("distance", distance, sizes,
				"Exact squared Wasserstein distance between the points and the data after each step, by the network "+
					"simplex."),
		},
		Tables: []lab.Table{flowTable(cells)},
		Notes: []string{"Every point moves by the same rate times n times its gradient, plans solved to 1e-8 at " +
			"every step. The divergence is that of the regularised loss, OT(X,Y) − ½ OT(X,X) − ½ OT(Y,Y)."},
	}, nil
}

// flowPoints draws the data and the points at the end, between the ends of x and of y.
func flowPoints(open func(string) (*os.File, error), ends [4]float64) style.Plot {
	y, x := style.Cloud("data", kit.Matrix(open, "data.npy"), 0),
		style.Cloud("generated", kit.Matrix(open, "end.npy"), 1)
	y.Color, y.Radius, y.Opacity = style.DarkGrey, 1.4, 0.35
	x.Radius, x.Opacity = 1.4, 0.8
	return style.Plot{
		X: style.Axis{Bare: true, Min: ends[0], Max: ends[1]}, Y: style.Axis{Bare: true, Min: ends[2], Max: ends[3]},
		Items: []plot.Plotter{y, x}, Square: true, NoGrid: true,
	}
}

func flowDistance(cells []flowCell) style.Plot {
	p := style.Plot{
		Title: fmt.Sprintf("ε = %g × mean cost", cells[0].Params.Ratio),
		X:     style.Axis{Label: "step"},
		Y:     style.Axis{Label: "\\i{W}_{2}^{2} to the data", Log: true},
	}
	for i, c := range cells {
		steps := len(c.Value.W)
		p.Items = append(p.Items, style.Line{
			Name:   c.Params.Loss,
			Series: []int{1, 0, 3}[i],
			X:      floats.Span(make([]float64, steps), 0, float64(steps-1)),
			Y:      c.Value.W,
		})
	}
	return p
}

func flowTable(cells []flowCell) lab.Table {
	return kit.Table("flows",
		"Exact squared Wasserstein distance to the data at the start and at the end, and the variance of the points "+
			"over that of the data.",
		"loss | ε / mean cost | W₂² at the start | at the end | variance | plans not converged",
		kit.Each(cells, func(c flowCell) []string {
			w := c.Value.W
			return kit.Row("%s | %v | %.4f | %.5f | %.3f | %v", c.Params.Loss, c.Params.Ratio, w[0], w[len(w)-1],
				c.Value.Spread, c.Value.Unsolved)
		})...)
}

func claimFlow(v lab.View[FlowParams, FlowOut]) ([]lab.Claim, error) {
	cells := v.Cells
	unsolved := 0.0
	for _, c := range cells {
		unsolved += float64(c.Value.Unsolved)
	}
	last := func(c flowCell) float64 { return c.Value.W[len(c.Value.W)-1] }
	reg, sharp, div := cells[0], cells[1], cells[2]
	return []lab.Claim{
		kit.Near("steps whose plan did not converge", "every gradient is that of a solved problem", unsolved, 0, 0,
			"counted", standingStill),
		kit.AtMost("variance of the points by the regularised loss at the large ε, over the data's",
			"its minimiser is too narrow: the plan adds ε/2 a coordinate (Gaussians: Janati et al. 2020)",
			reg.Value.Spread, 0.9, "ε/2 a coordinate against the variance of the data", arrived),
		kit.Near("variance by the divergence at the large ε, over the data's",
			"the divergence is 0 only at the data (Feydy et al. 2019)", div.Value.Spread, 1, 0.1, "steps are finite",
			standingStill),
		kit.AtMost("distance left by the divergence over that left by the regularised loss, large ε",
			"debiasing", last(div)/last(reg), 0.5, "half; what is left to the divergence is the noise of its finite "+
				"steps, to the other its bias", standingStill),
		kit.AtMost("distance left by the sharp loss over that left by the regularised one, large ε",
			"section 2: the derivative of the sharp loss is not its plan", last(sharp)/last(reg), 0.6,
			"by the plan alone both are one flow; the sharp loss has the smaller bias", standingStill),
		kit.AtMost("distance left by the sharp loss at the small ε over that at the large one",
			"Proposition 1: S approaches W", last(cells[4])/last(sharp), 0.5,
			"half; the bias of the sharp loss falls exponentially in 1/ε", standingStill),
		kit.AtMost("central difference of the loss along its gradient over the gradient's length, at the start, less "+
			"1, largest", "points descend the gradient of their loss",
			lab.Most(cells, func(c flowCell) float64 { return math.Abs(c.Value.Slope - 1) }), 1e-3,
			"the square of each point's step over √ε, and plans solved to 1e-8", otherLoss),
		kit.EpsilonAsked(kit.Each(cells, func(c flowCell) float64 { return c.Value.ByPlan / c.Value.Eps }), otherLoss),
	}, nil
}

// flowCell is a finished cell.
type flowCell = lab.Result[FlowParams, FlowOut]
