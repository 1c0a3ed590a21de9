package store

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// EventKind is what happened to a cell.
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

// An Event reports a change of a cell to a progress display.
type Event struct {
	Kind        EventKind
	Experiment  string
	Key         Key
	Done, Total int
	Seconds     float64
	OtherCode   bool // a recalled cell was computed by code that differs from this program's
	Note        string
	Err         error
}

type sinkKey struct{}

// WithSink returns a context under which every cell reports its events to sink: a terminal's bar, a
// notebook's, a log. Sinks are called from many goroutines and must be quick.
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

// A Meter counts the events of a list of jobs, for a display.
type Meter struct {
	what    string
	total   int
	mu      sync.Mutex
	landed  int
	failed  int
	partial map[Key]float64 // of the running cells
	most    float64         // it never goes back
	began   time.Time
}

// NewMeter returns the meter of total cells of what.
func NewMeter(what string, total int) *Meter {
	return &Meter{what: what, total: total, partial: map[Key]float64{}, began: time.Now()}
}

// Add counts an event and returns how many cells are done, parts of them included, and a text:
// "tour/digits: 3 of 7 cells, about 20s left". A cell's progress may differ much from the share of
// its time, so there is no forecast before half a cell is done.
func (m *Meter) Add(e Event) (done float64, line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.Kind {
	case Advanced:
		if e.Total > 0 {
			m.partial[e.Key] = min(float64(e.Done)/float64(e.Total), 1)
		}
	case Stored, Recalled, Failed:
		delete(m.partial, e.Key)
		m.landed++
		if e.Kind == Failed {
			m.failed++
		}
	}
	done = float64(m.landed)
	for _, f := range m.partial {
		done += f
	}
	m.most = max(m.most, done)
	line = fmt.Sprintf("%s: %d of %d cells", m.what, m.landed, m.total)
	if m.failed > 0 {
		line += fmt.Sprintf(", %d failed", m.failed)
	}
	elapsed := time.Since(m.began)
	if m.most < .5 {
		return m.most, fmt.Sprintf("%s, %s so far", line, elapsed.Round(time.Second))
	}
	left := time.Duration(float64(elapsed) * max(0, float64(m.total)/m.most-1))
	return m.most, fmt.Sprintf("%s, about %s left", line, left.Round(time.Second))
}
