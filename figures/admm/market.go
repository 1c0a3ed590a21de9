package admm

import (
	"math/rand/v2"

	"coupling/dp/admm"
	"coupling/lab"
)

// ρ and the parameters of the case study.
const (
	slope            = 5
	targets, sources = 30, 4
)

// caseStudy is the paper's.
func caseStudy(rng *rand.Rand) admm.Problem { return market(rng, admm.Complete(targets, sources)) }

// market draws utilities and bounds for a network. What sources can give grows with what targets ask for, in the proportion of the case
// study.
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

// Figures lists the figures of the paper, and then those beyond it.
func Figures() []lab.Figure {
	return []lab.Figure{
		lab.FigureOf(Trajectory), lab.FigureOf(Plan), lab.FigureOf(TradeOff),
		lab.FigureOf(Eavesdropper), lab.FigureOf(Cost), lab.FigureOf(Convergence),
	}
}
