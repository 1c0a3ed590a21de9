package admm

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/admm/central"
	"coupling/figures/internal/kit"
	"coupling/lab"

	"gonum.org/v1/gonum/stat"
)

// RunParams are those of one run on the case study.
type RunParams struct {
	Alpha  float64 `json:"alpha" min:"0" doc:"privacy parameter α_p of a round; 0: Algorithm 1, without noise"`
	Eta    float64 `json:"eta" min:">0" doc:"penalty η"`
	Rounds int     `json:"rounds" min:"1" doc:"shown; Algorithm 1 goes on until it converges"`
	Repeat int     `json:"repeat" min:"0" doc:"number of the draw of the noise"`
}

// RunOut is what came of a run.
type RunOut struct {
	Optimum   float64   `json:"optimum"`  // central
	Gap       float64   `json:"gap"`      // what that can be wrong by
	Social    []float64 `json:"social"`   // utility after each round
	Last      float64   `json:"last"`     // of the plan after the last round
	Feasible  float64   `json:"feasible"` // of the feasible plan: Algorithm 1's, or nearest to the tail's average
	Violation float64   `json:"violation"`
	Rounds    int       `json:"rounds"`
	Status    string    `json:"status"`
	Plan      []float64 `json:"plan"`   // feasible
	Served    []float64 `json:"served"` // totals of targets in it
	Asked     []float64 `json:"asked"`  // their upper bounds
	Held      float64   `json:"held"`   // upper bounds of all sources together
	Noise     Noise     `json:"noise"`
}

var runOf = lab.Experiment[RunParams, RunOut]{
	Name: "admm/run", Version: 5,
	Run: func(ctx context.Context, c *lab.Cell, p RunParams) (RunOut, error) {
		prob := caseStudy(c.Rand("market"))
		best := lab.Must(central.Solve(ctx, prob))
		out := RunOut{Optimum: best.Value, Gap: best.Gap}
		a := admm.ADMM{Eta: p.Eta}
		listen := out.Noise.listen(prob, p.Alpha)
		a.Trace = func(s admm.Step) {
			if p.Alpha > 0 {
				listen(s)
			}
			if s.Phase == admm.Transporting && s.Round <= p.Rounds {
				out.Social = append(out.Social, social(prob, s.Plan))
			}
		}
		var r *admm.Result
		if p.Alpha == 0 {
			r = lab.Must(a.Solve(ctx, prob))
		} else {
			a.Rounds = p.Rounds
			private := admm.Private{Budget: account.Budget{Alpha: p.Alpha}, Slope: slope}
			r = lab.Must(a.SolvePrivate(ctx, prob, private, c.Rand(fmt.Sprintf("noise/%d", p.Repeat))))
		}
		out.Violation, out.Rounds, out.Status = prob.Violation(r.Plan), r.Rounds, r.Status.String()
		out.Plan = prob.Repair(r.Plan)
		out.Feasible, out.Last = prob.Utility(out.Plan), out.Social[len(out.Social)-1]
		out.Served, _ = prob.Totals(out.Plan)
		for _, b := range prob.SourceBounds {
			out.Held += b.Max
		}
		for _, b := range prob.TargetBounds {
			out.Asked = append(out.Asked, b.Max)
		}
		return out, nil
	},
}

// within is the first round from which on the utility stays within a part of the optimum, +Inf if it never does.
func (o RunOut) within(part float64) float64 {
	at := math.Inf(1)
	for k, u := range o.Social {
		if math.Abs(u-o.Optimum) > part*o.Optimum {
			at = math.Inf(1)
		} else if math.IsInf(at, 1) {
			at = float64(k + 1)
		}
	}
	return at
}

// wobble is the root mean square of the utility about the optimum over the last half of the rounds.
func (o RunOut) wobble() float64 {
	sum, tail := 0., o.Social[len(o.Social)/2:]
	for _, u := range tail {
		sum += (u - o.Optimum) * (u - o.Optimum)
	}
	return math.Sqrt(sum / float64(len(tail)))
}

// wobble is that which the noise of one round makes: the noise of a node with d edges has E‖ξ‖² =
// d(d+1)/ζ², an edge's amount is the mean of its two ends, and the two slopes of an edge, uniform
// on 1, …, 5, have a sum whose square is 40 in the mean.
func (p RunParams) wobble() float64 {
	zeta := p.Eta * p.Alpha / slope
	return math.Sqrt(targets*sources*40*(sources+1+targets+1)/4.) / zeta
}

// nothingCarried is the null of a run whose plans are empty, with a certificate that certifies nothing.
var nothingCarried = kit.Null("nothing is carried", runOf, func(_ RunParams, v *RunOut) {
	v.Gap, v.Last, v.Feasible = v.Optimum, 0, 0
	v.Social, v.Served, v.Plan = make([]float64, len(v.Social)), make([]float64, len(v.Served)),
		make([]float64, len(v.Plan))
})

// noiseOf is that of runs.
func noiseOf(cells []runCell) []Noise {
	return kit.Each(cells, func(c runCell) Noise { return c.Value.Noise })
}

// halfNoise is the null of half the noise.
var halfNoise = kit.Null("half the noise", runOf, func(_ RunParams, v *RunOut) { v.Noise.Norms /= 2 })

// spread is the mean and the standard deviation of a number of cells; 0 of one cell.
func spread[P, R any](cells []lab.Result[P, R], of func(R) float64) (mean, sd float64) {
	mean, sd = stat.MeanStdDev(kit.Each(cells, func(c lab.Result[P, R]) float64 { return of(c.Value) }), nil)
	if len(cells) == 1 {
		sd = 0
	}
	return mean, sd
}

// ρ and the parameters of the case study.
const (
	slope            = 5
	targets, sources = 30, 4
)

// caseStudy is the paper's.
func caseStudy(rng *rand.Rand) admm.Problem { return market(rng, admm.Complete(targets, sources)) }

// market draws utilities and bounds for a network. What sources can give grows with what targets
// ask for, in the proportion of the case study.
func market(rng *rand.Rand, g admm.Graph) admm.Problem {
	p := admm.Problem{Graph: g}
	for range g.Edges {
		p.TargetUtility = append(p.TargetUtility, admm.Linear{A: float64(1 + rng.IntN(slope))})
		p.SourceUtility = append(p.SourceUtility, admm.Linear{A: float64(1 + rng.IntN(slope))})
	}
	for range g.Targets {
		p.TargetBounds = append(p.TargetBounds, admm.Bounds{Max: 1 + 4*rng.Float64()})
	}
	share := float64(g.Targets) / float64(g.Sources) * sources / targets
	for range g.Sources {
		p.SourceBounds = append(p.SourceBounds, admm.Bounds{Max: share * float64(20+rng.IntN(21))})
	}
	return p
}

// social is the utility of a plan that noise may have made negative in places: linear, without clipping.
func social(p admm.Problem, plan []float64) float64 {
	sum := 0.0
	for e, v := range plan {
		sum += p.TargetUtility[e].Value(v) + p.SourceUtility[e].Value(v)
	}
	return sum
}

// public is what everybody may know of a problem.
func public(p admm.Problem) admm.Problem {
	return admm.Problem{Graph: p.Graph, TargetBounds: p.TargetBounds, SourceBounds: p.SourceBounds}
}

// runCell is a finished cell.
type runCell = lab.Result[RunParams, RunOut]

// runView is the finished cells.
type runView = lab.View[RunParams, RunOut]
