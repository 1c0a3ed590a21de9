package dp

import (
	"context"

	"coupling/dp/best"
	"coupling/dp/pair"
)

// Accountant bounds ε and δ of a composition of dominating pairs: see pair.Accountant.
type Accountant = pair.Accountant

// Best is the accountant that tries the others, the sharpest first, until the number is sharp.
type Best = best.Accountant

// Epsilon returns the least ε ≥ 0 at which an event is (ε, delta)-differentially private under a
// relation, by the best accountant that applies, for delta in [0, 1). At delta = 0 it is the sum of
// the largest losses. Errors wrap ErrParameter, ErrNoPair or ErrUnbounded. Cost: milliseconds where
// the contour integral applies to the worst branch, some seconds at most where privacy-loss
// distributions are needed. EpsilonBy takes a context, which can cancel it.
func Epsilon(e Event, r Relation, delta float64) (Guarantee, error) {
	return EpsilonBy(context.Background(), Best{}, e, r, delta)
}

// Delta returns the least δ at which an event is (eps, δ)-differentially private under a relation, for finite eps ≥ 0. Errors and cost
// are those of Epsilon.
func Delta(e Event, r Relation, eps float64) (Guarantee, error) {
	return DeltaBy(context.Background(), Best{}, e, r, eps)
}

// EpsilonBy is Epsilon with a given accountant. It returns the error of ctx when that is done.
func EpsilonBy(ctx context.Context, a Accountant, e Event, r Relation, delta float64) (Guarantee, error) {
	g, _, err := guarantee(ctx, a, e, r, pair.EpsilonAt(delta))
	return g, err
}

// DeltaBy is Delta with a given accountant. It returns the error of ctx when that is done.
func DeltaBy(ctx context.Context, a Accountant, e Event, r Relation, eps float64) (Guarantee, error) {
	g, _, err := guarantee(ctx, a, e, r, pair.DeltaAt(eps))
	return g, err
}

// guarantee answers the question for the worst branch. It also returns the answer for the first
// branch.
func guarantee(ctx context.Context, a Accountant, e Event, r Relation, q pair.Question) (Guarantee, pair.Answer, error) {
	s := search{by: a, event: e, relation: r, q: q}
	if err := s.worst(ctx); err != nil {
		return nothing(), pair.Answer{}, err
	}
	g := s.g
	g.Relation, g.Kind = r, UpperBound
	if s.v-g.Lower <= exactWidth*s.v {
		g.Kind = Exact
	}
	g.Epsilon, g.Delta = s.v, q.At
	if q.Delta {
		g.Epsilon, g.Delta = q.At, s.v
	}
	return g, s.first, nil
}
