package lab

import "context"

// EventKind says what happened to a cell.
type EventKind int

// The events in the life of a cell.
const (
	Started  EventKind = iota // computing began
	Advanced                  // Done of Total steps are behind it
	Waiting                   // another process computes it; Note says which
	Recalled                  // it was in the store
	Stored                    // it was computed and stored, in Seconds
	Failed                    // it failed; Err says why
)

func (k EventKind) String() string {
	return [...]string{"started", "advanced", "waiting", "recalled", "stored", "failed"}[k]
}

// An Event is what a progress display hears of a cell.
type Event struct {
	Kind        EventKind
	Experiment  string
	Key         Key
	Done, Total int
	Seconds     float64
	OtherCode   bool // a recalled cell was computed by other code than this program's
	Note        string
	Err         error
}

type sinkKey struct{}

// WithSink returns a context under which every cell reports its events to sink:
// a terminal's bar, a notebook's, a log. Sinks are called from many goroutines
// and must be quick.
func WithSink(ctx context.Context, sink func(Event)) context.Context {
	return context.WithValue(ctx, sinkKey{}, sink)
}

// watcher returns a function that sends events of one cell to ctx's sink.
func watcher(ctx context.Context, id Record) func(Event) {
	sink, ok := ctx.Value(sinkKey{}).(func(Event))
	if !ok {
		return func(Event) {}
	}
	return func(e Event) {
		e.Experiment, e.Key = id.Experiment, id.Key
		sink(e)
	}
}

// Report sends e, an event of the cell id, to ctx's sink: for executors, whose
// cells are computed by other processes.
func Report(ctx context.Context, id Record, e Event) { watcher(ctx, id)(e) }
