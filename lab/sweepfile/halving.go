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
	"strconv"
	"strings"

	"coupling/lab"
)

// Halving stops sweeps early: all configurations run with a small budget (a parameter such as the
// number of steps), and only the best 1/Factor of them continue with Factor times the budget,
// repeatedly.
//
// It is ASHA (Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020,
// algorithm 2): a configuration is promoted as soon as it is among the best ⌊k/Factor⌋ of the k
// that have finished its rung, without waiting for the rung to fill, and the largest possible
// promotion comes first. In waves (see [Halving.Run]) a rung is complete before it is judged, and
// the same cells run every time; otherwise the cells that run depend on which finish first. Each
// cell has the same result as in any other sweep. Each job counts as a configuration of its own, so
// that jobs should share one seed.
//
// If Checkpoint names an artifact, that of the smaller budget is copied into the scratch folder of
// the larger one under the same name, for the experiment to continue from. The experiment must then
// give the same result as from the start.
type Halving struct {
	Budget     string  // parameter
	Min, Max   int     `min:"1"` // budgets of the first rung and the last
	Factor     int     `min:"2"` // 3 unless given
	Metric     string  // of the result, with dots for objects and lists: "loss", "errors.0"
	Goal       string  // of the metric: "min" unless given, or "max"
	Checkpoint string  // artifact; may be empty
	at         rebudge // a configuration at another budget
}

type rebudge = func(lab.Job, int) (lab.Job, error)

// rebudget returns a job with another budget.
func rebudget(d lab.Decoder, j lab.Job, name string, budget int) (lab.Job, error) {
	id := j.Record()
	var params values
	exact := json.NewDecoder(bytes.NewReader(id.Params))
	exact.UseNumber() // the other parameters stay as they are: a float64 does not hold every integer
	err := exact.Decode(&params.v)
	var nested map[string]any
	if err == nil {
		nested, err = params.with(name, budget, 0).nested()
	}
	b, errJSON := json.Marshal(nested)
	if err := errors.Join(err, errJSON); err != nil {
		return lab.Job{}, fmt.Errorf("sweep: budget %q: %w", name, err)
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

// A rung holds the finished and running configurations of one budget.
type rung struct {
	done     []finished
	promoted map[lab.Key]bool // running or finished on the next rung
}

type finished struct {
	job    lab.Job
	record lab.Record
	metric float64 // smaller is better
}

// promotable returns a configuration of a rung that may be promoted: the first of the best
// ⌊k/factor⌋ that has not been.
func (r *rung) promotable(factor int) (finished, bool) {
	slices.SortStableFunc(r.done, func(a, b finished) int {
		return cmp.Or(compare(a.metric, b.metric), cmp.Compare(a.record.Key, b.record.Key))
	})
	for _, f := range r.done[:len(r.done)/factor] {
		if !r.promoted[f.record.Key] {
			return f, true
		}
	}
	return finished{}, false
}

// compare puts NaN, which is a run that diverged, last.
func compare(a, b float64) int {
	switch na, nb := math.IsNaN(a), math.IsNaN(b); {
	case na && nb:
		return 0
	case na:
		return 1
	case nb:
		return -1
	}
	return cmp.Compare(a, b)
}

// Run computes the sweep and yields every cell when it finishes or fails; a failed configuration is
// not promoted. With waves of 0, a cell starts whenever one of slots is free; else, for clusters,
// all cells that may run are passed to the executor at once, and Run waits for the whole wave.
func (h Halving) Run(ctx context.Context, s *lab.Store, ex lab.Executor, slots int, jobs []lab.Job) iter.Seq2[lab.Job, error] {
	t := &tournament{Halving: h, store: s, budgets: h.Budgets(), fresh: slices.Clone(jobs), home: map[lab.Key]int{}}
	for range t.budgets {
		t.rungs = append(t.rungs, &rung{promoted: map[lab.Key]bool{}})
	}
	return func(yield func(lab.Job, error) bool) { t.run(ctx, ex, slots, yield) }
}

// tournament is one run of a [Halving].
type tournament struct {
	Halving
	store   *lab.Store
	budgets []int
	fresh   []lab.Job // of the first rung, not begun
	rungs   []*rung
	home    map[lab.Key]int // rung of each cell
}

// next returns the cells that may begin, the largest budget first, or only the first of them.
func (t *tournament) next(one bool) (out []lab.Job, err error) {
	for {
		j, ok, err := t.begin()
		if ok && err == nil {
			out = append(out, j)
		}
		if !ok || err != nil || one {
			return out, err
		}
	}
}

// begin returns a cell that may begin; ok is false if none may.
func (t *tournament) begin() (j lab.Job, ok bool, err error) {
	for k := len(t.rungs) - 2; k >= 0; k-- {
		f, ok := t.rungs[k].promotable(t.Factor)
		if !ok {
			continue
		}
		t.rungs[k].promoted[f.record.Key] = true
		j, err := t.at(f.job, t.budgets[k+1])
		if err != nil {
			return j, false, err
		}
		t.home[j.Record().Key] = k + 1
		return j, true, t.warmStart(f, j)
	}
	if len(t.fresh) == 0 {
		return j, false, nil
	}
	j = t.fresh[0]
	t.fresh = t.fresh[1:]
	t.home[j.Record().Key] = 0
	return j, true, nil
}

// warmStart hands the checkpoint on, if there is one.
func (t *tournament) warmStart(from finished, to lab.Job) error {
	if t.Checkpoint == "" {
		return nil
	}
	err := t.store.WarmStart(to.Record(), t.Checkpoint, from.record, t.Checkpoint)
	if errors.Is(err, lab.ErrMissing) { // there is none: the cell starts from the beginning
		return nil
	}
	return err
}

// finish records a finished cell.
func (t *tournament) finish(j lab.Job) error {
	r, err := j.Recall(t.store)
	if err != nil {
		return err
	}
	m, err := metric(r.Value, t.Metric)
	if err != nil {
		return fmt.Errorf("sweep: halving: metric %q of %s: %w", t.Metric, r.Key, err)
	}
	if t.Goal == "max" {
		m = -m
	}
	k := t.rungs[t.home[r.Key]]
	k.done = append(k.done, finished{j, r, m})
	return nil
}

// metric returns the number at a dotted path into a result: names of members,
// and from 0 the places in lists.
func metric(value []byte, path string) (float64, error) {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return 0, err
	}
	for part := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(in) {
				return 0, fmt.Errorf("%q is no place in a list of %d", part, len(in))
			}
			v = in[i]
		default:
			return 0, fmt.Errorf("%q goes into %v", part, v)
		}
	}
	x, ok := lab.Number(v)
	if !ok {
		return 0, fmt.Errorf("%v is no number", v)
	}
	return x, nil
}

// run keeps slots cells running, or, if slots is 0, passes all cells that may run to the executor
// at once and waits for them.
func (t *tournament) run(ctx context.Context, ex lab.Executor, slots int, yield func(lab.Job, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	type outcome struct {
		job   lab.Job
		err   error
		ended bool // of its run
	}
	out, running := make(chan outcome), 0
	defer func() {
		cancel()
		for running > 0 {
			if o := <-out; o.ended {
				running--
			}
		}
	}()
	for {
		for running < max(slots, 1) && ctx.Err() == nil {
			jobs, err := t.next(slots > 0)
			if err != nil && !yield(lab.Job{}, err) {
				return
			}
			if len(jobs) == 0 {
				break
			}
			running++
			go func() {
				for j, err := range ex.Run(ctx, t.store, jobs) {
					out <- outcome{job: j, err: err}
				}
				out <- outcome{ended: true}
			}()
		}
		if running == 0 {
			return
		}
		o := <-out
		if o.ended {
			running--
			continue
		}
		if o.err == nil {
			o.err = t.finish(o.job)
		}
		if !yield(o.job, o.err) {
			return
		}
	}
}

// A Ranked is a configuration and its metric at the largest budget it reached.
type Ranked struct {
	Record lab.Record
	Metric float64 // as the experiment gave it
}

// Best returns the n best configurations of the last rung that has any.
func (h Halving) Best(s *lab.Store, jobs []lab.Job, n int) ([]Ranked, error) {
	budgets := h.Budgets()
	for k := len(budgets) - 1; k >= 0; k-- {
		t := &tournament{Halving: h, store: s, budgets: budgets, rungs: []*rung{{}}, home: map[lab.Key]int{}}
		for _, j := range jobs {
			j, err := h.at(j, budgets[k])
			if err != nil {
				return nil, err
			}
			if err := t.finish(j); err != nil && !errors.Is(err, lab.ErrMissing) {
				return nil, err
			}
		}
		if done := t.rungs[0].done; len(done) > 0 {
			t.rungs[0].promotable(len(done) + 1) // sorts
			var out []Ranked
			for _, f := range done[:min(n, len(done))] {
				m := f.metric
				if h.Goal == "max" {
					m = -m
				}
				out = append(out, Ranked{f.record, m})
			}
			return out, nil
		}
	}
	return nil, nil
}
