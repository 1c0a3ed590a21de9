package rdp

import (
	"errors"
	"fmt"
	"math"

	"coupling/dp/pair"
)

// ErrUnbounded marks a composition without a finite bound.
var ErrUnbounded = errors.New("no finite Rényi bound")

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
	// α log(1 − 1/α) − log(α−1) with α = 1 + β, which is β log β − (1+β) log(1+β).
	return beta*math.Log(beta) - (1+beta)*math.Log1p(beta)
}

// Accountant composes pairs by their Rényi divergences. The zero value searches for the best real order with the tight
// conversion. It is stateless and safe for concurrent use.
type Accountant struct {
	Conversion Conversion
	Orders     []float64 // if not empty, only these orders (> 1) are tried, as papers do
}

// Result is an upper bound with the order it was found at.
type Result struct {
	Epsilon, Delta float64
	Order          float64 // +Inf for pure differential privacy; 1 where no order is needed
	AtEdge         bool    // the best of the given Orders is the first or the last: a better one may lie outside
}

// Epsilon returns an upper bound, at least 0, of the ε of the composition at delta in (0, 1). Cost: some 60 moments of each
// step's pair, whatever the number of times.
func (a Accountant) Epsilon(steps []pair.Step, delta float64) (Result, error) {
	if !(delta > 0 && delta < 1) {
		return Result{}, fmt.Errorf("rdp: delta = %v: must be in (0, 1): %w", delta, pair.ErrParameter)
	}
	m, err := a.moments(steps)
	if err != nil {
		return Result{}, err
	}
	logDelta := math.Log(delta) - 1e-15
	objective := func(beta float64) float64 {
		k := m.at(1 + beta)
		num := k + a.Conversion.offset(beta) - logDelta
		// Rounding of the sum, in units of its terms.
		return (num + 1e-15*(k+math.Abs(logDelta)+1+beta)) / beta
	}
	r := a.best(objective)
	if pure := m.largest(); a.Orders == nil && pure < r.Epsilon {
		r = Result{Epsilon: pure, Order: math.Inf(1)}
	}
	r.Delta = delta
	r.Epsilon = max(0, r.Epsilon)
	if math.IsInf(r.Epsilon, 1) || math.IsNaN(r.Epsilon) {
		return Result{}, fmt.Errorf("rdp: eps at delta = %v: %w", delta, ErrUnbounded)
	}
	return r, nil
}

// Delta returns an upper bound of δ(ε) of the composition for finite ε ≥ 0.
func (a Accountant) Delta(steps []pair.Step, eps float64) (Result, error) {
	if !(eps >= 0) || math.IsInf(eps, 0) {
		return Result{}, fmt.Errorf("rdp: eps = %v: must be at least 0 and finite: %w", eps, pair.ErrParameter)
	}
	m, err := a.moments(steps)
	if err != nil {
		return Result{}, err
	}
	// log δ(α) = K − βε + c(α) is convex in α.
	objective := func(beta float64) float64 {
		k := m.at(1 + beta)
		return k - beta*eps + a.Conversion.offset(beta) + 1e-15*(k+beta*eps+1+beta)
	}
	r := a.best(objective)
	r.Delta = min(1, math.Exp(r.Epsilon)*(1+1e-15))
	if math.IsNaN(r.Delta) {
		r.Delta = 1
	}
	r.Epsilon = eps
	if a.Orders == nil && m.largest() <= eps {
		r = Result{Epsilon: eps, Delta: 0, Order: math.Inf(1)}
	}
	if r.Delta == 0 && !math.IsInf(r.Order, 1) {
		r.Delta = math.SmallestNonzeroFloat64 // δ underflows
	}
	return r, nil
}

// Curve returns ρ(α) of the composition, an upper bound, for orders α > 1; +Inf where it diverges.
func (a Accountant) Curve(steps []pair.Step, orders []float64) ([]float64, error) {
	m, err := a.moments(steps)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(orders))
	for i, alpha := range orders {
		if !(alpha > 1) || math.IsInf(alpha, 1) {
			return nil, fmt.Errorf("rdp: order = %v: must be above 1 and finite: %w", alpha, pair.ErrParameter)
		}
		out[i] = m.at(alpha) / (alpha - 1)
	}
	return out, nil
}

// moments are the steps, checked.
type moments []pair.Step

func (a Accountant) moments(steps []pair.Step) (moments, error) {
	if len(steps) == 0 {
		return nil, fmt.Errorf("rdp: steps: must not be empty: %w", pair.ErrParameter)
	}
	for i, s := range steps {
		if s.Pair == nil {
			return nil, fmt.Errorf("rdp: steps[%d].Pair = nil: %w", i, pair.ErrParameter)
		}
		if s.Times < 1 {
			return nil, fmt.Errorf("rdp: steps[%d].Times = %d: must be at least 1: %w", i, s.Times, pair.ErrParameter)
		}
	}
	for _, alpha := range a.Orders {
		if !(alpha > 1) || math.IsInf(alpha, 1) {
			return nil, fmt.Errorf("rdp: order = %v: must be above 1 and finite: %w", alpha, pair.ErrParameter)
		}
	}
	return steps, nil
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
