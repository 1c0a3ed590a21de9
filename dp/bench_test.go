package dp

import (
	"context"
	"fmt"
	"testing"

	"coupling/dp/rdp"
)

// The cases that dp_accounting's PLD accountant needs 0.1 s for, and none in two minutes (85
// million steps), and a group of 16.
func BenchmarkEpsilon(b *testing.B) {
	for _, c := range []struct {
		name  string
		event Event
		group int
	}{
		{"sigma=1.5/T=160000", SGD(1.5, 1./1200, 160_000), 1},
		{"sigma=1.5/T=85000000", SGD(1.5, 1./1200, 85_000_000), 1},
		{"sigma=5/T=1000/K=16", SGD(5, 0.001, 1000), 16},
		{"sigma=1/T=1000/K=32", SGD(1, 0.001, 1000), 32},
		{"laplace=1/T=1000", Repeat{1000, Poisson{0.01, Laplace{1}}}, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			var g Guarantee
			for b.Loop() {
				var err error
				if g, err = Epsilon(b.Context(), c.event, Relation{Group: c.group}, 1e-6); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((g.Epsilon-g.Lower)/g.Epsilon, "relwidth")
		})
	}
}

// All 17 splits of a group of 16, the worst case of which is certified.
func BenchmarkDelta(b *testing.B) {
	for _, c := range []struct {
		name  string
		event Event
	}{
		{"sigma=1/rate=0.01", SGD(1, .01, 1000)},
		{"sigma=1/rate=0.001", SGD(1, .001, 1000)},
		{"sigma=5/rate=0.01", SGD(5, .01, 1000)},
		{"laplace=1/rate=0.001", Repeat{1000, Poisson{.001, Laplace{1}}}},
	} {
		b.Run(c.name+"/T=1000/K=16", func(b *testing.B) {
			var g Guarantee
			for b.Loop() {
				var err error
				if g, err = Delta(b.Context(), c.event, Relation{Group: 16}, 2); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((g.Delta-g.Lower)/g.Delta, "relwidth")
		})
	}
}

func BenchmarkEpsilonRDP(b *testing.B) {
	for _, k := range []int{1, 16} {
		b.Run(fmt.Sprintf("K=%d", k), func(b *testing.B) {
			for b.Loop() {
				if _, err := EpsilonBy(context.Background(), rdp.Accountant{}, SGD(5, 0.001, 1000), Relation{Group: k},
					1e-6); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
