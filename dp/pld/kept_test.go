package pld

import (
	"math"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/logspace"
	"coupling/lab/must"
)

// An answer from a composition that is kept meets that of one made for the question, is hardly wider, and
// does not depend on what was asked before.
func TestKept(t *testing.T) {
	step := must.Get(pair.Poisson(pair.Gaussian, .8, 1, 0, 1))
	epoch := must.Get(Allocated(step, 100, FineLaw/4))
	var questions []question
	for _, delta := range []float64{1e-3, 1e-5, 1e-6, 1e-8} {
		questions = append(questions, question{logDelta: logspace.Log(delta), invert: true, limit: math.NaN()})
	}
	for _, eps := range []float64{.3, 1} {
		questions = append(questions, question{eps: eps, limit: math.NaN()}, question{eps: eps, limit: 1e-4})
	}
	a, times := Accountant{Work: 500_000}, 20.
	for _, p := range []pair.Pair{epoch, epoch.Swap()} {
		first := map[int]pair.Interval{}
		for round := range 2 {
			clear(compositions.last[:])
			for i := range questions {
				if round == 1 {
					i = len(questions) - 1 - i
				}
				q, parts := questions[i], []*part{{loss: lossOf(p), times: times}}
				got, ok := a.kept(t.Context(), parts, q)
				if round == 1 && got != first[i] {
					t.Errorf("%+v: %v, and %v in another order", q, got, first[i])
				}
				if first[i] = got; round == 1 || !ok {
					continue
				}
				goal := q.logDelta
				if !q.invert {
					goal = p.LogDelta(q.eps)
				}
				own, _, err := a.refine(t.Context(), parts, q, goal)
				if err != nil || got.Lower > own.Upper || own.Lower > got.Upper || q.limit > 0 && got.Upper > q.limit !=
					(own.Upper > q.limit) || !(q.limit > 0) && got.Upper-got.Lower > 1.5*(own.Upper-own.Lower) {
					t.Errorf("%+v: %v, by itself %v, %v", q, got, own, err)
				}
			}
		}
		known := 0
		for _, c := range compositions.last {
			if c != nil {
				known++
			}
		}
		if known < 2 || known > 4 {
			t.Errorf("%d compositions for %d questions", known, len(questions))
		}
	}
}
