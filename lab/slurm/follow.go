package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coupling/lab"
	"coupling/lab/store"
)

// follower is one run of an [Executor].
type follower struct {
	Executor
	store    *store.Store
	yield    func(store.Job, error) bool
	broken   bool  // the loop over Run ended early
	draining bool  // nothing is submitted any more
	cause    error // of draining, if ctx ended
	order    []*line
	open     map[store.Key]*line // neither finished nor given up
	subs     []*submission
	most     int // tasks an array may have
	silent   string
}

// A line is a submitted job.
type line struct {
	job   store.Job
	sub   *submission
	task  int
	place int // in the job file: a task runs its lines in this order
	tries int // tasks that died in it
	ended int // consecutive polls at which its task had ended
	state string
}

func (f *follower) run(ctx context.Context, jobs []store.Job) (err error) {
	var q map[string]tasks
	if len(f.store.Missing(jobs)) > 0 {
		if err = f.check(); err == nil {
			q, err = queue(ctx)
		}
	}
	f.recall(ctx, jobs) // after the queue answered: a task that has ended by then has stored its cell
	if len(f.open) == 0 || f.broken {
		return nil
	}
	if err == nil {
		err = f.pickUp(q)
	}
	if err != nil {
		return err
	}
	var todo []*line
	for _, l := range f.order {
		if l.sub == nil && f.open[l.job.Record().Key] != nil {
			todo = append(todo, l)
		}
	}
	if err := f.submit(ctx, todo); err != nil || f.Detach {
		return err
	}
	return f.follow(ctx)
}

// recall yields the stored cells and opens the others.
func (f *follower) recall(ctx context.Context, jobs []store.Job) {
	for _, j := range f.store.Missing(jobs) {
		l := &line{job: j}
		f.order = append(f.order, l)
		f.open[j.Record().Key] = l
	}
	seen := map[store.Key]bool{}
	for _, j := range jobs {
		id := j.Record()
		if f.open[id.Key] != nil || seen[id.Key] {
			continue
		}
		seen[id.Key] = true
		store.Report(ctx, id, store.Event{Kind: store.Recalled})
		if !f.yield(j, nil) {
			return
		}
	}
}

// pickUp finds lines in arrays of this store that an earlier client submitted.
func (f *follower) pickUp(q map[string]tasks) (err error) {
	defer lab.End(&err)
	known := lab.Must(f.store.Statuses(f.ids()))
	for _, name := range slices.Sorted(maps.Keys(q)) {
		sub := &submission{
			name:       name,
			dir:        filepath.Join(root(f.store), name),
			ids:        q[name].ids,
			progressed: map[int]bool{},
		}
		_, err := fmt.Sscan(name[strings.LastIndexByte(name, '-')+1:], &sub.tasks)
		if err != nil || sub.tasks < 1 || !q[name].anyLive() {
			continue
		}
		lines, err := sub.read()
		if errors.Is(err, fs.ErrNotExist) { // of another store
			continue
		}
		lab.Check(err)
		n := 0
		for i, id := range lines {
			l, task := f.open[id.Key], i%sub.tasks
			if l == nil || l.sub != nil || known[id.Key].Failed || !live(q[name].state[task]) {
				continue // the same task does not repeat a cell that failed there
			}
			l.sub, l.task, l.place = sub, task, i
			n++
		}
		if n > 0 {
			f.subs = append(f.subs, sub)
			f.say("array %v, submitted earlier, is at work on %d of the cells", sub.ids, n)
		}
	}
	return nil
}

func (f *follower) submit(ctx context.Context, lines []*line) (err error) {
	defer lab.End(&err)
	if len(lines) == 0 {
		return nil
	}
	if f.most == 0 {
		f.most = maxArray(ctx)
	}
	jobs := make([]store.Job, len(lines))
	for i, l := range lines {
		jobs[i] = l.job
		lab.Check(f.store.ClearFailure(l.job)) // so that a later failure record is a new one
	}
	sub := lab.Must(f.write(f.store, jobs, f.most))
	lab.Check(sub.submit(ctx))
	for i, l := range lines {
		l.sub, l.task, l.place, l.ended = sub, i%sub.tasks, i, 0
	}
	f.subs = append(f.subs, sub)
	f.say("array %v submitted: %d cells in %d tasks, logs in %s", sub.ids, len(lines), sub.tasks, sub.dir)
	return nil
}

// follow polls store and queue until every line has finished or is given up.
func (f *follower) follow(ctx context.Context) error {
	drain, end := f.Drain, ctx.Done()
	live, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	for {
		asked := live
		if end != nil { // a controller that does not answer is not waited for once ctx ends
			asked = ctx
		}
		again := f.look(asked)
		if err := f.submit(live, again); err != nil {
			for _, l := range again { // the others go on
				f.giveUp(live, l, err)
			}
		}
		if len(f.open) == 0 {
			f.tidy()
			return nil
		}
		select {
		case <-end:
			end, f.cause = nil, context.Cause(ctx)
			if errors.Is(f.cause, ErrLeave) {
				f.say("leaving; the same command follows the array again")
				return f.cause
			}
			f.cancel(live, false)
			limit := time.AfterFunc(2*time.Minute, giveUp) // KillWait is 30 s
			defer limit.Stop()
		case <-drain:
			drain = nil
			f.cancel(live, true)
		case <-live.Done():
			return f.cause
		case <-time.After(f.poll()):
		}
	}
}

// cancel ends the submitted tasks, or those that have not begun; no others follow.
func (f *follower) cancel(ctx context.Context, pendingOnly bool) {
	f.draining = true
	f.Poll = min(f.poll(), time.Second)
	for _, sub := range f.subs {
		if err := sub.cancel(ctx, pendingOnly); err != nil {
			f.say("%v", err)
		}
	}
}

// look polls once and returns the lines to submit again.
func (f *follower) look(ctx context.Context) []*line {
	// before the store: a task that ends in between is seen as running now and as stored next time
	q, qerr := queue(ctx)
	landed, serr := f.store.Statuses(f.ids())
	f.trouble(ctx, errors.Join(qerr, serr))
	if serr != nil {
		return nil
	}
	f.order = slices.DeleteFunc(f.order, func(l *line) bool { return f.open[l.job.Record().Key] == nil })
	var dead []*line
	for _, l := range f.order {
		switch p := landed[l.job.Record().Key]; {
		case p.Stored && f.land(ctx, l):
		case p.Failed && f.fail(ctx, l):
		case qerr != nil:
		case l.dead(q):
			dead = append(dead, l)
		}
	}
	return f.again(ctx, dead)
}

func (f *follower) ids() []store.Record {
	out := make([]store.Record, 0, len(f.open))
	for _, l := range f.open {
		out = append(out, l.job.Record())
	}
	return out
}

// land yields a line whose record can be read.
func (f *follower) land(ctx context.Context, l *line) bool {
	r, err := l.job.Recall(f.store)
	if err != nil {
		return false
	}
	store.Report(ctx, r, store.Event{Kind: store.Stored, Seconds: r.Manifest.Seconds})
	delete(f.open, r.Key)
	l.sub.progressed[l.task] = true
	f.yield(l.job, nil)
	return true
}

// fail yields a line whose cell failed by its own error.
func (f *follower) fail(ctx context.Context, l *line) bool {
	r, err := f.store.Failure(l.job.Record())
	if err != nil {
		return false
	}
	l.sub.progressed[l.task] = true
	f.giveUp(ctx, l, errors.New(r.Error))
	return true
}

func (f *follower) giveUp(ctx context.Context, l *line, err error) {
	id := l.job.Record()
	store.Report(ctx, id, store.Event{Kind: store.Failed, Err: err})
	delete(f.open, id.Key)
	if !f.broken {
		f.yield(l.job, id.CellError(err))
	}
}

// dead reports whether the line's task has been ended for two polls without a stored cell, since a
// record may appear late over a network. A task that the queue does not know gets four polls.
func (l *line) dead(q map[string]tasks) bool {
	state := q[l.sub.name].state[l.task]
	if live(state) {
		l.ended = 0
		return false
	}
	enough := 2
	if l.state = state; state == "" {
		l.state, enough = "VANISHED", 4
	}
	l.ended++
	return l.ended >= enough
}

// trouble logs, once, an error that may be temporary, such as a controller that restarts. None ends the
// run, since the store alone decides when everything is done.
func (f *follower) trouble(ctx context.Context, err error) {
	text := ""
	if err != nil && ctx.Err() == nil {
		text = err.Error()
	}
	if text != f.silent {
		if f.silent = text; text != "" {
			f.say("%s; looking again", text)
		} else {
			f.say("it is well again")
		}
	}
}

// refuse yields err for every line that is open.
func (f *follower) refuse(err error) {
	for _, l := range f.order {
		if id := l.job.Record(); f.open[id.Key] != nil && !f.yield(l.job, id.CellError(err)) {
			return
		}
	}
}

// tidy removes the folders of arrays whose cells have all finished.
func (f *follower) tidy() {
	for _, sub := range f.subs {
		lines, err1 := sub.read()
		landed, err2 := f.store.Statuses(lines)
		gone := func(id store.Record) bool { return !landed[id.Key].Stored }
		if errors.Join(err1, err2) == nil && !slices.ContainsFunc(lines, gone) {
			_ = os.RemoveAll(sub.dir) // a task that is just ending may still hold its log
		}
	}
}

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

// death decides about the unfinished lines of one dead task, in their order: it died in the first of
// them, and the others never began. If it finished other lines, these may have used up the time limit,
// so no line is charged with the death: it will be the first of a later task.
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
