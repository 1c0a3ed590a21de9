package dp

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// RepeatAndSelect runs Event a random number K of times and releases the result of the best run
// alone, by any score of results: the choice of settings for a training, which each run draws at
// random. Only the number of runs is hidden; K must be drawn afresh, and independently of the data,
// from
//
//   - Poisson: mean Poisson > 0; nothing may be released where K = 0;
//   - else the truncated negative binomial distribution on 1, 2, … with Shape η > −1 and Gamma γ in
//     (0, 1): η = 1 is geometric and η = 0
//     logarithmic; its mean is Mean. The smaller η, the smaller ε for a mean.
//
// Its Rényi divergence of order λ is at most (Papernot, Steinke 2022, Theorems 2 and 6)
//
//	D_λ + (1+η)(1 − 1/λ′)D_λ′ + (1+η) log(1/γ)/λ′ + log(E K)/(λ−1)   for each λ′ ≥ 1,
//	D_λ + E K·δ(log(1 + 1/(λ−1))) + log(E K)/(λ−1)                    for Poisson,
//
// the latter of the results of runs alone, so that e^(−E K), for no run, is added to the moment
// e^((λ−1)D_λ): it cannot be left out of compositions. D and δ are the larger of both directions of
// Event. It is accounted for by package rdp, as an upper bound. Event may be any whose divergences are
// finite: not one that fails with a probability, or a random allocation.
type RepeatAndSelect struct {
	Event        Event
	Shape, Gamma float64
	Poisson      float64
}

// String shows the event.
func (e RepeatAndSelect) String() string {
	if e.Poisson > 0 {
		return fmt.Sprintf("RepeatAndSelect(Poisson of mean %g, %v)", e.Poisson, e.Event)
	}
	return fmt.Sprintf("RepeatAndSelect(shape %g, gamma %g, %v)", e.Shape, e.Gamma, e.Event)
}

// Mean returns E K.
func (e RepeatAndSelect) Mean() float64 {
	if e.Poisson > 0 {
		return e.Poisson
	}
	return math.Exp(e.logMean())
}

// logMean is log E K, of E K = η(1 − γ)/(γ(1 − γ^η)), and (1 − γ)/(γ log(1/γ)) at η = 0: by logs, as
// γ^η may overflow.
func (e RepeatAndSelect) logMean() float64 {
	if e.Poisson > 0 {
		return logspace.Log(e.Poisson)
	}
	shape, inverse := math.Abs(e.Shape), -logspace.Log(e.Gamma)
	log := inverse + math.Log1p(-e.Gamma)
	if shape < 1e-290 { // as 0; the product below would have few digits
		return log - logspace.Log(inverse)
	}
	power := shape * inverse
	if e.Shape < 0 {
		log -= power
	}
	return log + logspace.Log(shape) - logspace.Log(-math.Expm1(-power))
}

func (e RepeatAndSelect) check() error {
	if e.Poisson == 0 {
		if !(e.Shape > -1) || math.IsInf(e.Shape, 0) || !(e.Gamma > 0 && e.Gamma < 1) {
			return bad("RepeatAndSelect: shape = %v, gamma = %v: must be above −1, and in (0, 1)", e.Shape, e.Gamma)
		}
		return nil
	}
	if e.Shape != 0 || e.Gamma != 0 {
		return bad("RepeatAndSelect: Poisson = %v with shape = %v, gamma = %v: give one distribution", e.Poisson,
			e.Shape, e.Gamma)
	}
	return in.Positive("Poisson", e.Poisson)
}

// selection adds runs of which the best is released.
func (w *walker) selection(e RepeatAndSelect, times int, s sampling) error {
	if err := e.check(); err != nil {
		return err
	}
	if s.kind != everything {
		return noPair(e, "a sample of which several runs select")
	}
	run := walker{span: w.span, cells: w.cells, exchange: w.exchange, times: map[part]int{}}
	if err := run.walk(e.Event, 1, sampling{}); err != nil {
		return err
	}
	w.directed = w.directed || run.directed && w.span.total > 1 // moments of one record are those of both directions
	w.loose = true
	if times == 0 || len(run.steps) == 0 { // the best of runs that read nothing
		return nil
	}
	w.steps = append(w.steps, pair.Step{Pair: pair.NewMoments(e.String(), e.moments(run.steps)), Times: times})
	return nil
}

// order is a Rényi divergence D_λ of one run, the larger of both directions.
type order struct{ lambda, divergence float64 }

// orders are some of one run, of which any gives a bound. They are computed when they are asked for.
type orders []func() order

// least returns the least of f, which is convex in λ or in 1/λ, over the orders.
func (o orders) least(f func(order) float64) float64 {
	at := func(i int) float64 { return f(o[i]()) }
	return at(sort.Search(len(o)-1, func(i int) bool { return at(i+1) >= at(i) }))
}

// moments returns the bound of (λ−1)·D_λ of the best run.
func (e RepeatAndSelect) moments(run []pair.Step) func(lambda float64) float64 {
	var known orders
	for k := -24; k <= 48; k++ {
		lambda := 1 + math.Exp2(float64(k)/4)
		known = append(known, sync.OnceValue(func() order { return order{lambda, divergence(run, lambda)} }))
	}
	back := slices.Clone(run)
	for i, s := range run {
		back[i].Pair = s.Pair.Swap()
	}
	largest := max(pair.LargestLoss(run), pair.LargestLoss(back)) // D_∞
	logMean := e.logMean() + 1e-13*(1+math.Abs(e.logMean()))      // rounded up
	return func(lambda float64) float64 {
		extra := 0.0
		if e.Poisson > 0 {
			extra = e.Poisson * known.delta(math.Log1p(1/(lambda-1)))
		} else {
			extra = e.shapeCost(known, largest)
		}
		moment := (lambda-1)*(divergence(run, lambda)+extra) + logMean
		if e.Poisson > 0 { // no run, which is as likely for both data sets
			moment = logspace.Add(moment, -e.Poisson)
		}
		return max(0, moment) * (1 + 1e-12)
	}
}

// shapeCost is the least (1+η)((1 − 1/λ′)D_λ′ + log(1/γ)/λ′); λ′ = 1 and, as a limit, ∞ are
// two of the choices.
func (e RepeatAndSelect) shapeCost(known orders, largest float64) float64 {
	inverse := -logspace.Log(e.Gamma) // 1/γ is rounded, which counts where γ is near 1 and η large
	least := known.least(func(o order) float64 { return (1-1/o.lambda)*o.divergence + inverse/o.lambda })
	return (1 + e.Shape) * min(inverse, largest, least)
}

// delta bounds δ(ε) of a run by its divergences (Canonne, Kamath, Steinke 2020).
func (o orders) delta(eps float64) float64 {
	log := o.least(func(o order) float64 {
		above := o.lambda - 1
		return above*(o.divergence-eps) + above*math.Log1p(-1/o.lambda) - logspace.Log(o.lambda)
	})
	return math.Exp(min(0, log)) * (1 + 1e-12)
}

// divergence bounds D_λ of a composition in both directions.
func divergence(steps []pair.Step, lambda float64) float64 {
	there, back := 0.0, 0.0
	for _, s := range steps {
		a, wrongA := s.Pair.LogMoment(lambda)
		b, wrongB := s.Pair.Swap().LogMoment(lambda)
		there, back = there+float64(s.Times)*(a+wrongA), back+float64(s.Times)*(b+wrongB)
	}
	d := max(there, back) / (lambda - 1) * (1 + 1e-14*float64(len(steps)+1))
	if math.IsNaN(there+back) || math.IsNaN(d) {
		return math.Inf(1)
	}
	return d
}
