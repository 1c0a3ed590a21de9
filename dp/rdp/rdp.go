package rdp

import (
	"context"
	"fmt"
	"math"

	"coupling/dp/internal/check"
	"coupling/dp/pair"
)

// Conversion turns a Rényi divergence into ε at δ.
type Conversion int

const (
	// Tight is ε = ρ(α) + log(1 − 1/α) − (log δ + log α)/(α−1) (Canonne, Kamath, Steinke 2020).
	Tight Conversion = iota
	// Classical is ε = ρ(α) − log δ/(α−1) (Mironov 2017), for reproducing papers.
	Classical
)

// offset returns c(α) such that (α−1)·ε = K(α) + c(α) − log δ.
func (c Conversion) offset(beta float64) float64 {
	if c == Classical {
		return 0
	}
	// α log(1 − 1/α) − log(α−1) with α = 1 + β, which is β log β − (1+β) log(1+β): without the two large terms that cancel.
	return -beta*math.Log1p(1/beta) - math.Log1p(beta)
}

// Accountant composes pairs by their Rényi divergences. The zero value searches for the best real order with the tight
// conversion. It is stateless and safe for concurrent use.
type Accountant struct {
	Conversion Conversion
	Orders     []float64 // if not empty, only these orders (> 1) are tried, as papers do
}

// Result is an upper bound with the order it was found at.
type Result struct {
	Upper float64 // of ε or of δ
	Order float64 // +Inf for pure differential privacy
}

// Name is "rdp".
func (Accountant) Name() string { return "rdp" }

// Bound returns an upper bound of ε or of δ, and no lower bound. Cost: some 60 moments of each
// step's pair, whatever the number of times. Errors: pair.ErrParameter, pair.ErrUnbounded.
func (a Accountant) Bound(ctx context.Context, steps []pair.Step, q pair.Question) (pair.Answer, error) {
	r, err := a.Search(ctx, steps, q)
	return pair.Answer{Interval: pair.Interval{Upper: r.Upper}, By: a.Name()}, err
}

// Search is Bound with the order of the best bound.
func (a Accountant) Search(ctx context.Context, steps []pair.Step, q pair.Question) (Result, error) {
	if err := check.All(q.Check("rdp", steps), a.check(), ctx.Err()); err != nil {
		return Result{}, err
	}
	if q.Delta {
		return a.delta(moments(steps), q.At), nil
	}
	r := a.epsilon(moments(steps), q.At)
	if math.IsInf(r.Upper, 1) || math.IsNaN(r.Upper) {
		return Result{}, fmt.Errorf("rdp: eps at delta = %v: %w", q.At, pair.ErrUnbounded)
	}
	return r, nil
}

// epsilon minimises ε(α), which at δ = 0 is the sum of the largest losses.
func (a Accountant) epsilon(m moments, delta float64) Result {
	pure := Result{Upper: m.largest(), Order: math.Inf(1)}
	if delta == 0 {
		return pure
	}
	logDelta := math.Log(delta) - 1e-15
	r := a.best(func(beta float64) float64 {
		k := m.at(1 + beta)
		num := k + a.Conversion.offset(beta) - logDelta
		// Rounding of the sum, in units of its terms.
		return (num + 1e-15*(k+math.Abs(logDelta)+1+beta)) / beta
	})
	if a.Orders == nil && pure.Upper < r.Upper {
		r = pure
	}
	r.Upper = max(0, r.Upper)
	return r
}

// delta minimises δ(α): log δ(α) = K − βε + c(α) is convex in α.
func (a Accountant) delta(m moments, eps float64) Result {
	if a.Orders == nil && m.largest() <= eps {
		return Result{Order: math.Inf(1)}
	}
	r := a.best(func(beta float64) float64 {
		k := m.at(1 + beta)
		return k - beta*eps + a.Conversion.offset(beta) + 1e-15*(k+beta*eps+1+beta)
	})
	r.Upper = min(1, math.Exp(r.Upper)*(1+1e-15))
	if math.IsNaN(r.Upper) {
		r.Upper = 1
	}
	r.Upper = max(r.Upper, math.SmallestNonzeroFloat64) // δ underflows
	return r
}

// moments are checked steps.
type moments []pair.Step

func (a Accountant) check() error {
	for _, alpha := range a.Orders {
		if err := check.In("rdp").Order(alpha); err != nil {
			return err
		}
	}
	return nil
}

// at returns an upper bound of K(α) of the composition.
func (m moments) at(alpha float64) float64 {
	sum := 0.0
	for _, s := range m {
		k, bound := s.Pair.LogMoment(alpha)
		if math.IsNaN(k) || math.IsNaN(bound) {
			return math.Inf(1)
		}
		sum += float64(s.Times) * (k + bound)
	}
	return sum * (1 + 4e-16*float64(len(m)+1))
}

// largest returns the sum of the largest losses, rounded up.
func (m moments) largest() float64 {
	sum := 0.0
	for _, s := range m {
		sum += float64(s.Times) * max(0, s.Pair.Support().Max) * (1 + s.Pair.RelErr())
	}
	return sum * (1 + 4e-16*float64(len(m)+1))
}
