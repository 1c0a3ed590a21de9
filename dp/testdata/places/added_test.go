package dptest_test

import (
	"errors"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/best"
	"coupling/dp/closed"
	"coupling/dp/contour"
	"coupling/dp/dptest"
	"coupling/dp/hoeffding"
	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/dp/rdp"
)

// between is a pair of which only the range of the loss is known.
type between struct{ *pair.Moments }

func (between) Support() pair.Support               { return pair.Support{Min: -.1, Max: .1} }
func (between) LogMoment(float64) (k, room float64) { return math.Inf(1), 0 }
func (b between) Swap() pair.Pair                   { return b }

// The accountant is conformant, and the best one asks it.
func TestAddedAccountant(t *testing.T) {
	dptest.Run(t, dptest.Subject{Accountant: hoeffding.Accountant{}, Answers: func([]pair.Step) bool { return false }})
	m, err := pair.Concentrated(1)
	if err != nil {
		t.Fatal(err)
	}
	v, err := dp.Best{}.Bound(t.Context(), []pair.Step{{Pair: between{m}, Times: 1000}}, pair.EpsilonAt(1e-6))
	want := 100*math.Tanh(.05) + .1*math.Sqrt(2000*math.Log(1e6))
	if err != nil || v.By != "hoeffding" || math.Abs(v.Upper/want-1) > 1e-9 {
		t.Errorf("a loss known by its range: %+v, %v; want %v", v, err, want)
	}
	if _, err := (hoeffding.Accountant{}).Bound(t.Context(), []pair.Step{{Pair: m, Times: 1}},
		pair.EpsilonAt(.1)); !errors.Is(err, dp.ErrNotApplicable) {
		t.Errorf("an unbounded loss: %v", err)
	}
}

const choices, scale = 3, 1.5

// told is the probability of each answer where the true one is answer.
func told(answer int) (p [choices]float64) {
	lie := 1 / (math.Exp(1/scale) + choices - 1)
	for i := range p {
		p[i] = lie
	}
	p[answer] = lie * math.Exp(1/scale)
	return p
}

// delta is δ(ε) of n runs by enumeration of all results.
func delta(p, q [choices]float64, n int, eps float64) float64 {
	a, b := []float64{1}, []float64{1}
	for range n {
		var c, d []float64
		for i := range a {
			for k := range p {
				c, d = append(c, a[i]*p[k]), append(d, b[i]*q[k])
			}
		}
		a, b = c, d
	}
	sum := 0.0
	for i := range a {
		sum += max(0, a[i]-math.Exp(eps)*b[i])
	}
	return sum
}

// worst is the largest δ(ε), in either direction, of n runs on Poisson samples of x and x′ over all
// functions from batches to answers. Sets of records are sets of bits.
func worst(x, y uint, rate float64, n int, eps float64) (most float64) {
	law := func(data uint, answer []int) (out [choices]float64) {
		for batch := range answer {
			chance := 1.0
			for r := uint(1); r < 8; r *= 2 {
				switch in := uint(batch)&r > 0; {
				case in && data&r == 0:
					chance = 0
				case data&r > 0 && in:
					chance *= rate
				case data&r > 0:
					chance *= 1 - rate
				}
			}
			for i, p := range told(answer[batch]) {
				out[i] += chance * p
			}
		}
		return out
	}
	functions := int(math.Pow(choices, 8))
	for f := range functions {
		answer := make([]int, 8)
		for i, rest := 0, f; i < 8; i++ {
			answer[i], rest = rest%choices, rest/choices
		}
		p, q := law(x, answer), law(y, answer)
		most = max(most, delta(p, q, n, eps), delta(q, p, n, eps))
	}
	return most
}

// Every accountant that can account for the mechanism does, sampled, in groups and composed: never
// below the truth, and the best at it where records are on one side.
func TestAddedMechanism(t *testing.T) {
	vote := dp.Vote{Choices: choices, Scale: scale}
	every := []dp.Accountant{dp.Best{}, pld.Accountant{}, rdp.Accountant{}, hoeffding.Accountant{}, closed.Accountant{},
		best.FirstOf{closed.Accountant{}, contour.Accountant{}}}
	for _, group := range []int{1, 3} {
		k := float64(group)
		for _, c := range []struct {
			event dp.Event
			hit   float64
		}{
			{vote, 1},
			{dp.Poisson{Rate: .2, Event: vote}, 1 - math.Pow(.8, k)},
			{dp.WithReplacement{Batch: 4, Size: 20, Event: vote}, 1 - math.Pow(1-k/20, 4)},
			{dp.WithoutReplacement{Batch: 5, Size: 20, Event: vote},
				map[int]float64{1: 5. / 20, 3: 1 - 15.*14*13/(20*19*18)}[group]},
		} {
			p, q := told(1), told(0)
			for i := range p {
				p[i] = c.hit*p[i] + (1-c.hit)*q[i]
			}
			for kind, dir := range map[dp.RelationKind][2][choices]float64{dp.Removal: {p, q}, dp.Insertion: {q, p}} {
				for _, times := range []int{1, 5} {
					const at = 1e-3
					lo, hi := 0., 20.
					for range 100 {
						if mid := (lo + hi) / 2; delta(dir[0], dir[1], times, mid) > at {
							lo = mid
						} else {
							hi = mid
						}
					}
					for i, a := range every {
						g, err := dp.EpsilonBy(t.Context(), a, dp.Repeat{Times: times, Event: c.event},
							dp.Relation{Kind: kind, Group: group}, at)
						// closed forms, and contours, which take no atoms
						if i >= 4 && errors.Is(err, dp.ErrNotApplicable) {
							continue
						}
						if err != nil || g.Epsilon < hi*(1-1e-9) || g.Lower > hi*(1+1e-9) ||
							i == 0 && g.Epsilon > hi*(1+1e-5)+1e-12 {
							t.Errorf("%d × %v, %d records, %v by %s: %v, %v; the truth is %v", times, c.event, group,
								kind, a.Name(), g, err, hi)
						}
					}
				}
			}
		}
	}
	for _, c := range []struct {
		r    dp.Relation
		x, y uint
	}{{dp.Relation{}, 3, 1}, {dp.Relation{Kind: dp.Substitution}, 5, 6}, {dp.Relation{Group: 2}, 7, 1},
		{dp.Relation{Group: 2}, 5, 6}} {
		e := dp.Compose{dp.Poisson{Rate: .4, Event: vote}, dp.Poisson{Rate: .4, Event: vote}}
		for _, a := range every[:4] {
			g, err := dp.DeltaBy(t.Context(), a, e, c.r, .3)
			if truth := worst(c.x, c.y, .4, 2, .3); err != nil || g.Delta < truth*(1-1e-12) {
				t.Errorf("%v by %s: %v, %v; δ is %v", c.r, a.Name(), g, err, truth)
			}
		}
	}
	noise, g, err := dp.MinNoise(t.Context(), dp.Budget{Epsilon: 1, Delta: 1e-6}, func(noise float64) dp.Event {
		return dp.Compose{dp.Repeat{Times: 20, Event: dp.Poisson{Rate: .1, Event: dp.Vote{Choices: 3, Scale: noise}}},
			dp.Laplace{Scale: 5}}
	})
	if err != nil || g.Epsilon > 1 || g.Epsilon < .99 {
		t.Errorf("noise %v: %v, %v", noise, g, err)
	}
}
