package lab

import (
	"context"
	"iter"

	"coupling/lab/store"
)

// Sweep recalls the cells at ps, computes the missing ones on workers goroutines (0: one for each
// core), and yields all in the order of ps, so that a loop over it may draw: each as soon as it and
// those before it are finished. A cell that fails is yielded with its parameters and a
// [*store.CellError], and the others go on. Breaking out of the loop stops the sweep: running cells are
// cancelled, and Sweep returns when they have ended. What was stored stays, so the next Sweep goes
// on from there. A cell that occurs twice in ps is yielded once. When ctx ends, the unfinished
// cells are yielded with its error. With more seeds, the cells of each follow those of the one before.
//
// While other cells are missing, Sweep leaves a cell to the process that computes it, so processes
// that sweep the same cells share the work.
func Sweep[P, R any](
	ctx context.Context, s *store.Store, e Experiment[P, R], workers int, seed uint64, ps []P, more ...uint64,
) iter.Seq2[Result[P, R], error] {
	return func(yield func(Result[P, R], error) bool) {
		early, next := map[int]func() (Result[P, R], error){}, 0
		for i, land := range sweep(ctx, s, e, workers, append([]uint64{seed}, more...), ps) {
			early[i] = land
			for land, ok := early[next]; ok; land, ok = early[next] {
				if !yield(land()) {
					return
				}
				delete(early, next)
				next++
			}
		}
	}
}

// SweepAsLanded is [Sweep] in the order in which cells finish, which differs from run to run, for
// live displays. Cells that the store holds come first, in the order of ps.
func SweepAsLanded[P, R any](
	ctx context.Context, s *store.Store, e Experiment[P, R], workers int, seed uint64, ps []P, more ...uint64,
) iter.Seq2[Result[P, R], error] {
	return func(yield func(Result[P, R], error) bool) {
		for _, land := range sweep(ctx, s, e, workers, append([]uint64{seed}, more...), ps) {
			if !yield(land()) {
				return
			}
		}
	}
}

// sweep yields cells as they finish, with their places among the distinct cells of ps.
func sweep[P, R any](
	ctx context.Context, s *store.Store, e Experiment[P, R], workers int, seeds []uint64, ps []P,
) iter.Seq2[int, func() (Result[P, R], error)] {
	return func(yield func(int, func() (Result[P, R], error)) bool) {
		d := e.Decoder()
		jobs := store.Distinct(func(yield func(store.Job) bool) {
			for i := range len(seeds) * len(ps) {
				j, _ := d.Job(seeds[i/len(ps)], ps[i%len(ps)]) // an error comes with the outcome
				if !yield(j) {
					return
				}
			}
		})
		for l := range (store.Local{Workers: workers}).Land(ctx, s, jobs) {
			if !yield(l.Place, func() (Result[P, R], error) { return typed[P, R](s, l) }) {
				return
			}
		}
	}
}

// An Axis turns one parameter struct into several.
type Axis[P any] func(P) []P

// Vary returns the axis along which set gives one parameter each of vs in turn:
//
//	lab.Vary(func(p *Params, v float64) { p.Eps = v }, .01, .1, 1)
func Vary[P, V any](set func(*P, V), vs ...V) Axis[P] {
	return func(p P) []P {
		out := make([]P, len(vs))
		for i, v := range vs {
			out[i] = p
			set(&out[i], v)
		}
		return out
	}
}

// Grid returns the product of the axes around base, the last axis varying fastest. An axis may read
// the values that earlier axes have set.
func Grid[P any](base P, axes ...Axis[P]) []P {
	ps := []P{base}
	for _, axis := range axes {
		var next []P
		for _, p := range ps {
			next = append(next, axis(p)...)
		}
		ps = next
	}
	return ps
}
