package admm_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"coupling/dp/admm"
	"coupling/dp/admm/central"
	"coupling/lab/must"
)

// network is a complete problem of ten targets a source, with linear utilities of slope 1..5.
func network(sources int) admm.Problem {
	rng := rand.New(rand.NewPCG(1, uint64(sources)))
	p := admm.Problem{Graph: admm.Complete(10*sources, sources)}
	for range p.Graph.Edges {
		p.TargetUtility = append(p.TargetUtility, admm.Linear{A: float64(1 + rng.IntN(5))})
		p.SourceUtility = append(p.SourceUtility, admm.Linear{A: float64(1 + rng.IntN(5))})
	}
	for range p.Graph.Targets {
		p.TargetBounds = append(p.TargetBounds, admm.Bounds{Max: 1 + 4*rng.Float64()})
	}
	for range p.Graph.Sources {
		p.SourceBounds = append(p.SourceBounds, admm.Bounds{Max: 4. / 3 * float64(20+rng.IntN(21))})
	}
	return p
}

// Time of a round on one thread, and memory, by the number of edges: both are linear.
func BenchmarkRound(b *testing.B) {
	for _, sources := range []int{10, 32, 100, 316} {
		p := network(sources)
		edges := float64(len(p.Graph.Edges))
		b.Run(fmt.Sprintf("edges=%.0f", edges), func(b *testing.B) {
			rounds := max(40, int(3e6/edges)) // set-up and check are shared out
			var before, after runtime.MemStats
			most := uint64(0)
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				a := admm.ADMM{Tol: 1e-300, MaxRounds: rounds, Workers: 1}
				must.Get(a.Solve(b.Context(), p))
				runtime.ReadMemStats(&after)
				most = max(most, after.TotalAlloc-before.TotalAlloc)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rounds)/edges, "ns/round/edge")
			b.ReportMetric(float64(most)/edges, "B/edge")
		})
	}
}

// Rounds to residuals of 1e-4, and how far the repaired plan is below the optimum, by the number of edges.
func BenchmarkToFourDigits(b *testing.B) {
	for _, sources := range []int{3, 10, 32} {
		p := network(sources)
		best := must.Get(central.Solve(b.Context(), p))
		b.Run(fmt.Sprintf("edges=%d", len(p.Graph.Edges)), func(b *testing.B) {
			var r *admm.Result
			for b.Loop() {
				r = must.Get((admm.ADMM{Tol: 1e-4, Workers: 1}).Solve(b.Context(), p))
			}
			b.ReportMetric(float64(r.Rounds), "rounds")
			b.ReportMetric((best.Value-p.Utility(p.Repair(r.Plan)))/best.Value, "relerr")
		})
	}
}
