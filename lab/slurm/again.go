package slurm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// again decides what becomes of lines whose tasks died, and returns those to
// submit again.
func (f *follower) again(ctx context.Context, dead []*line) (again []*line) {
	type key struct {
		sub  *submission
		task int
	}
	var order []key
	tasks := map[key][]*line{}
	for _, l := range dead {
		k := key{l.sub, l.task}
		if tasks[k] == nil {
			order = append(order, k)
		}
		tasks[k] = append(tasks[k], l)
	}
	for _, k := range order {
		again = append(again, f.death(ctx, tasks[k])...)
		if f.broken {
			return nil
		}
	}
	return again
}

// death decides about the lines that one task left. A task does them one after
// the other, so it died of the first of them, and the others never began. Where
// something of the task has landed not even that is certain (the time limit may
// have been used up by what landed), and no line is charged: it will be the first
// of a later task, or more will land before it.
func (f *follower) death(ctx context.Context, left []*line) []*line {
	if f.draining {
		for _, l := range left {
			delete(f.open, l.job.Record().Key) // left for another day
		}
		return nil
	}
	slices.SortFunc(left, func(a, b *line) int { return cmp.Compare(a.place, b.place) })
	head := left[0]
	state, sub, task := head.state, head.sub, head.task
	log, tail := sub.tail(task)
	if state == "CANCELLED" || state == "DEADLINE" { // which was meant for all of them
		for _, l := range left {
			f.giveUp(ctx, l, &Error{state, l.tries + 1, log, tail})
		}
		return nil
	}
	if !sub.progressed[task] {
		head.tries++
		hopeless := state == "OUT_OF_MEMORY" || state == failedByUsage
		if hopeless || head.tries > f.retries() {
			f.giveUp(ctx, head, &Error{state, head.tries, log, tail})
			left = left[1:]
		}
	}
	if len(left) > 0 {
		f.say("task %d of array %v ended as %s; submitting %s of it again", task, sub.ids, state, cells(len(left)))
	}
	return left
}

func cells(n int) string {
	if n == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", n)
}
