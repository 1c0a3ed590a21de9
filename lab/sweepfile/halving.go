package sweepfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"coupling/lab/store"
)

// Halving stops sweeps early: all configurations run with a small budget (a parameter such as the
// number of steps), and only the best 1/Factor of them continue with Factor times the budget,
// repeatedly.
//
// It is successive halving (Jamieson and Talwalkar, "Non-stochastic best arm identification and
// hyperparameter optimization", AISTATS 2016): a rung is complete before it is judged, so that the
// same cells run every time, on any number of workers. Each cell has the same result as in any other
// sweep. Each job counts as a configuration of its own, so that jobs should share one seed.
//
// If Checkpoint names an artifact, that of the smaller budget is copied into the scratch folder of
// the larger one under the same name, for the experiment to continue from. The experiment must then
// give the same result as from the start.
type Halving struct {
	Budget     string // parameter
	Min, Max   int    `min:"1"` // budgets of the first rung and the last
	Factor     int    `min:"2"` // 3 unless given
	Metric     string // of the result, with dots for objects and lists: "loss", "errors.0"
	Goal       string // of the metric: "min" unless given, or "max"
	Checkpoint string // artifact; may be empty

	at func(j store.Job, budget int) (store.Job, error) // a configuration at another budget
}

// rebudget returns a job with another budget.
func rebudget(d *store.Decoder, j store.Job, name string, budget int) (store.Job, error) {
	id := j.Record()
	params := map[string]any{}
	exact := json.NewDecoder(bytes.NewReader(id.Params))
	exact.UseNumber() // the other parameters stay as they are: a float64 does not hold every integer
	err := exact.Decode(&params)
	if err == nil {
		err = put(params, name, budget)
	}
	b, errJSON := json.Marshal(params)
	if err := errors.Join(err, errJSON); err != nil {
		return store.Job{}, fmt.Errorf("sweep: budget %q: %w", name, err)
	}
	return d.Make(id.Seed, b)
}

// Budgets lists the rungs: Min, Min·Factor, … and at last Max.
func (h Halving) Budgets() []int {
	var out []int
	for b := h.Min; b < h.Max; b *= h.Factor {
		out = append(out, b)
		if b > h.Max/h.Factor { // and before the product overflows
			break
		}
	}
	return append(out, h.Max)
}

// Run computes the sweep and yields every cell when it finishes or fails; a failed configuration is
// not promoted.
func (h Halving) Run(ctx context.Context, s *store.Store, ex store.Executor,
	jobs []store.Job) iter.Seq2[store.Job, error] {
	return func(yield func(store.Job, error) bool) {
		for _, next := range append(h.Budgets()[1:], 0) {
			ended := 0
			for j, err := range ex.Run(ctx, s, jobs) {
				if ended++; !yield(j, err) {
					return
				}
			}
			if ended < len(jobs) || ctx.Err() != nil || next == 0 { // an incomplete rung is not judged
				return
			}
			var err error
			if jobs, err = h.promote(s, jobs, next); err != nil {
				yield(store.Job{}, err)
				return
			}
		}
	}
}

// promote returns the best ⌊k/Factor⌋ of a rung's k finished cells at the next budget.
func (h Halving) promote(s *store.Store, jobs []store.Job, budget int) (next []store.Job, err error) {
	ranked, err := h.rank(s, jobs)
	for _, from := range ranked[:len(ranked)/h.Factor] {
		to, err := h.at(from.job, budget)
		if err == nil && h.Checkpoint != "" {
			err = s.WarmStart(to.Record(), from.Record, h.Checkpoint)
		}
		if err != nil && !errors.Is(err, store.ErrMissing) { // without a checkpoint the cell starts from the beginning
			return nil, err
		}
		next = append(next, to)
	}
	return next, err
}

// A Ranked is a configuration and its metric at some budget.
type Ranked struct {
	Record store.Record
	Metric float64 // as the experiment gave it
	job    store.Job
}

// rank returns the finished cells of jobs, the best first; NaN, which is a run that diverged, is last.
func (h Halving) rank(s *store.Store, jobs []store.Job) (out []Ranked, err error) {
	for _, j := range jobs {
		r, err := j.Recall(s)
		if errors.Is(err, store.ErrMissing) { // it failed
			continue
		}
		var m float64
		if err == nil {
			m, err = metric(r.Value, h.Metric)
		}
		if err != nil {
			return nil, fmt.Errorf("sweep: halving: metric %q of %s: %w", h.Metric, r.Key, err)
		}
		out = append(out, Ranked{r, m, j})
	}
	slices.SortFunc(out, func(a, b Ranked) int {
		x, y := a.Metric, b.Metric
		if h.Goal == "max" {
			x, y = -x, -y
		}
		if math.IsNaN(x) || math.IsNaN(y) {
			x, y = y, x // cmp.Compare has NaN first
		}
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.Record.Key, b.Record.Key))
	})
	return out, nil
}

// Best returns the n best configurations of the last rung that has any.
func (h Halving) Best(s *store.Store, jobs []store.Job, n int) ([]Ranked, error) {
	for _, budget := range slices.Backward(h.Budgets()) {
		rung := make([]store.Job, len(jobs))
		for i, j := range jobs {
			var err error
			if rung[i], err = h.at(j, budget); err != nil {
				return nil, err
			}
		}
		if ranked, err := h.rank(s, rung); err != nil || len(ranked) > 0 {
			return ranked[:min(n, len(ranked))], err
		}
	}
	return nil, nil
}

// metric returns the number at a dotted path into a result.
func metric(value []byte, path string) (float64, error) {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return 0, err
	}
	v = get(v, path)
	x, ok := store.Number(v)
	if !ok {
		return 0, fmt.Errorf("want a number, have %v", v)
	}
	return x, nil
}
