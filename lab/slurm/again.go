package slurm

import (
	"cmp"
	"context"
	"slices"
)

// again decides about the lines whose tasks died, and returns those to submit again.
func (f *follower) again(ctx context.Context, dead []*line) (again []*line) {
	slices.SortFunc(dead, func(a, b *line) int {
		return cmp.Or(cmp.Compare(a.sub.name, b.sub.name), cmp.Compare(a.task, b.task), cmp.Compare(a.place, b.place))
	})
	for len(dead) > 0 {
		n := 1
		for n < len(dead) && dead[n].sub == dead[0].sub && dead[n].task == dead[0].task {
			n++
		}
		again = append(again, f.death(ctx, dead[:n:n])...)
		dead = dead[n:]
	}
	return again
}

// death decides about the unfinished lines of one dead task, in their order. A task runs its lines one after the
// other, so it died in the first of them, and the others never began. If the task finished other
// lines, that line may not be the cause (the finished ones may have used up the time limit), so no
// line is charged with the death: it will be the first of a later task, or more lines will finish
// before it.
func (f *follower) death(ctx context.Context, left []*line) []*line {
	if f.draining {
		for _, l := range left {
			delete(f.open, l.job.Record().Key) // given up in this run
			if f.cause != nil {
				f.yield(l.job, l.job.Record().CellError(f.cause))
			}
		}
		return nil
	}
	head := left[0]
	state, sub, task := head.state, head.sub, head.task
	log, tail := sub.tail(task)
	if state == "CANCELLED" || state == "DEADLINE" { // a person stopped all lines of the task
		for _, l := range left {
			f.giveUp(ctx, l, &Error{state, l.tries + 1, log, tail})
		}
		return nil
	}
	if !sub.progressed[task] {
		head.tries++
		hopeless := state == "OUT_OF_MEMORY" || state == failedByUsage
		if hopeless || head.tries > f.Retries {
			f.giveUp(ctx, head, &Error{state, head.tries, log, tail})
			left = left[1:]
		}
	}
	if len(left) > 0 {
		f.say("task %d of array %v ended as %s; cells of it that are submitted again: %d", task, sub.ids,
			state, len(left))
	}
	return left
}
