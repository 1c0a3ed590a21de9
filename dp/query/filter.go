package query

import (
	"context"
	"errors"
	"fmt"
	"math"

	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/rdp"
	"coupling/lab/logspace"
)

// slack is the relative part of a budget by which rounding may exceed it.
const slack = 1e-12

// Left is what a session can still pay for. A question without a declaration is answered if its ε is
// at most Epsilon or its Rényi divergence of order Order, from each data set to its neighbour, is at
// most Divergence; and if its δ is at most Delta.
//
// Order is fixed by the budget, and Divergence begins at
//
//	B = ε − log(1 − 1/α) + (log δ + log α)/(α − 1),   α = Order,   δ = Budget.Delta − KeysDelta.
//
// Theorem. A session in which every question is answered by this rule is (ε, Budget.Delta)-
// differentially private, however questions and noise depend on earlier answers.
//
// Proof. First let no question have a δ. Let x and x′ be neighbours, L the log likelihood ratio of all
// answers on x against x′, and R the sum of the Rényi divergences of order α of the questions, each
// given the answers before it. A question's divergence is known before its answer, so that
// E_x[e^((α−1)(L−R))] ≤ 1: each question multiplies it by at most 1. The last answer was given either
// as the sum of ε is at most ε, and then L ≤ ε; or as R ≤ B. Where L ≤ ε, 1 − e^(ε−L) ≤ 0. Elsewhere
//
//	1 − e^(ε−L) ≤ κe^((α−1)(L−ε)) ≤ κe^((α−1)(B−ε)) · e^((α−1)(L−R)),   κ = (1 − 1/α)^(α−1)/α,
//
// the first as (1−z)z^(α−1) ≤ κ for z = e^(ε−L). In expectation this is at most κe^((α−1)(B−ε)) = δ,
// and E_x[(1 − e^(ε−L))₊] is the largest P(S | x) − e^ε P(S | x′) of a set S of answers. So the two
// rules may be mixed as the sum of ε adds nothing to δ; those of two orders may not, and neither may
// a Rényi filter and a composition of the events so far.
//
// A question with a δ of its own is one without that fails with this probability (Kasiviswanathan,
// Smith 2014). That any question fails has probability at most KeysDelta, which is set aside at the
// start: if what keys did not use were left to the filter, a choice between them would cost up to
// 2δ. ∎
//
// Without the sum this is the theorem of Feldman and Zrnic 2021, with the δ of Whitehouse, Ramdas,
// Rogers and Wu 2023 and the conversion of Canonne, Kamath, Steinke 2020.
type Left struct {
	Epsilon    float64    // of Budget.Epsilon, by the sum
	Divergence float64    // of B, and at most Budget.Epsilon; 0 if Budget.Delta = KeysDelta
	Order      float64    // α; 0 if Budget.Delta = KeysDelta
	Delta      float64    // of KeysDelta
	Declared   []Question // after Declare those not asked yet, beside which nothing else is left
}

// Left returns what the session can still pay for.
func (s *Session) Left(ctx context.Context) (Left, error) {
	if _, err := s.terms(); err != nil || s.declared != nil {
		return Left{Declared: s.undone()}, err
	}
	c, err := s.cost(ctx, s.asked)
	if err != nil {
		return Left{}, err
	}
	return Left{
		Epsilon:    max(0, s.Budget.Epsilon-c.sum.Epsilon),
		Divergence: max(0, s.Budget.Epsilon-c.renyi.Epsilon),
		Order:      s.order(),
		Delta:      max(0, s.KeysDelta-c.keys),
	}, nil
}

// order is α: of a fixed list, the one at which most Gaussian questions can be answered, whose
// divergences are in proportion to it. It is 0 where the sum alone decides.
func (s *Session) order() (best float64) {
	rest, most := s.Budget.Delta-s.KeysDelta, 0.
	if !(rest > 0) {
		return 0
	}
	for k := -40.; k <= 400; k++ {
		above := math.Exp2(k / 8)
		order := 1 + above
		b := s.Budget.Epsilon - math.Log1p(-1/order) + (logspace.Log(rest)+logspace.Log(order))/above
		if b/order > most {
			best, most = order, b/order
		}
	}
	return best
}

// cost is what questions have used: ε by the sum and, as the sum of divergences and what the
// conversion adds, by the filter; both are +Inf where they do not apply. keys is the δ of questions.
type cost struct {
	sum, renyi dp.Guarantee
	keys       float64
}

// needs is the lesser of the two.
func (c cost) needs() dp.Guarantee {
	if c.renyi.Epsilon < c.sum.Epsilon {
		return c.renyi
	}
	return c.sum
}

// cost charges questions.
func (s *Session) cost(ctx context.Context, asked []Question) (c cost, err error) {
	all, keys, err := s.events(asked)
	if err != nil {
		return c, err
	}
	relation := s.Budget.Relation.OfRecords()
	ask := func(by dp.Accountant, delta float64) dp.Guarantee {
		g, other := dp.EpsilonBy(ctx, by, all, relation, delta)
		if err = check.All(err, unless(other, dp.ErrUnbounded)); other != nil {
			g.Epsilon = math.Inf(1)
		}
		return g
	}
	c.sum, c.renyi.Epsilon = ask(dp.Best{}, 0), math.Inf(1)
	if order := s.order(); order > 0 {
		c.renyi = ask(rdp.Accountant{Orders: []float64{order}}, s.Budget.Delta-s.KeysDelta)
	}
	if len(keys) > 0 && err == nil {
		var g dp.Guarantee
		g, err = dp.DeltaBy(ctx, rdp.Accountant{}, keys, relation, math.MaxFloat64)
		c.keys = g.Delta
	}
	return c, err
}

// price is what one question adds at most: to the sum of ε, to that of divergences, and to the δ of keys.
type price struct{ epsilon, divergence, keys float64 }

// price charges a question alone.
func (s *Session) price(ctx context.Context, q Question) (price, error) {
	c, err := s.cost(ctx, []Question{q})
	return price{c.sum.Epsilon, c.renyi.Epsilon - s.conversion(), c.keys}, err
}

// conversion is what turns a sum of divergences into ε: see Left.
func (s *Session) conversion() float64 {
	order := s.order()
	if order == 0 {
		return 0
	}
	return math.Log1p(-1/order) - (logspace.Log(s.Budget.Delta-s.KeysDelta)+logspace.Log(order))/(order-1)
}

// affordable reports whether running sums of prices, which are upper bounds, show that the budget
// pays for another question. So a question costs as little after a thousand different ones.
func (s *Session) affordable(ctx context.Context, q Question) (bool, error) {
	for len(s.prices) < len(s.asked) {
		p, err := s.price(ctx, s.asked[len(s.prices)])
		if err != nil {
			return false, err
		}
		s.prices = append(s.prices, p)
	}
	total, err := s.price(ctx, q)
	for _, p := range s.prices {
		total.epsilon, total.divergence, total.keys = total.epsilon+p.epsilon, total.divergence+p.divergence,
			total.keys+p.keys
	}
	least := min(total.epsilon, total.divergence+s.conversion())
	return err == nil && total.keys <= s.KeysDelta && least*(1+slack/2) <= s.Budget.Epsilon, err
}

// unless is err, or nil if it is the other.
func unless(err, other error) error {
	if errors.Is(err, other) {
		return nil
	}
	return err
}

// events are those of questions given that none fails, and those of questions with a δ. Nothing
// asked is an event of ε = 0.
func (s *Session) events(asked []Question) (all, keys dp.Compose, err error) {
	each, err := s.compose(asked)
	all = dp.Compose{dp.Pure{}}
	for _, e := range each {
		if own, ok := e.(dp.Approximate); ok {
			keys = append(keys, e)
			e = dp.Pure{Epsilon: own.Epsilon}
		}
		all = append(all, e)
	}
	return all, keys, err
}

// filter refuses a question that the budget does not pay for after all that was asked.
func (s *Session) filter(ctx context.Context, q Question) error {
	if ok, err := s.affordable(ctx, q); ok || err != nil {
		return err
	}
	c, err := s.cost(ctx, append(s.asked[:len(s.asked):len(s.asked)], q))
	if err != nil {
		return err
	}
	if q.Delta > 0 && c.keys > s.KeysDelta*(1+slack) {
		return bad("delta = %v: with earlier keys it is %v: must be at most Session.KeysDelta = %v", q.Delta, c.keys,
			s.KeysDelta)
	}
	g := c.needs()
	if g.Epsilon <= s.Budget.Epsilon*(1+slack) {
		return nil
	}
	e, err := q.event(s.Budget.Relation.Group)
	switch {
	case err != nil:
		return err
	case math.IsInf(g.Epsilon, 1):
		return fmt.Errorf("query: %v: %w at delta = %v", e, dp.ErrUnbounded, s.Budget.Delta-s.KeysDelta)
	}
	return &OverBudgetError{Event: e, Needs: g, Budget: s.Budget}
}
