package nb

import (
	"context"
	"fmt"
	"html"
	"sync"
	"time"

	"coupling/lab/store"

	"github.com/janpfeifer/gonb/gonbui"
)

// Progress returns a context under which the lab's cells (see [store.WithSink])
// move a bar below the notebook's cell, and a function that removes the bar. total is the number of
// cells that are asked for.
func Progress(ctx context.Context, what string, total int) (context.Context, func()) {
	b := &bar{
		id:    "nb-progress-" + gonbui.UniqueId(),
		total: total,
		meter: store.NewMeter(what, total),
		quiet: time.Now().Add(200 * time.Millisecond),
	}
	if total > 0 {
		screen.put(b.id, view{}) // its place, above what is shown meanwhile
	}
	return store.WithSink(ctx, b.event), b.remove
}

// bar is a progress bar. It is updated at most ten times a second, since a browser cannot keep up
// with more.
type bar struct {
	mu    sync.Mutex
	id    string
	total int
	meter *store.Meter
	quiet time.Time // until then
	shown bool
	gone  bool
}

func (b *bar) event(e store.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	done, line := b.meter.Add(e)
	if b.gone || time.Now().Before(b.quiet) {
		return
	}
	b.quiet, b.shown = time.Now().Add(100*time.Millisecond), true
	screen.put(b.id, view{html: fmt.Sprintf(
		`<div style="color:#555"><progress style="vertical-align:middle" max="%d" value="%.2f"></progress> %s</div>`,
		max(1, b.total), done, html.EscapeString(line))})
}

func (b *bar) remove() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown && !b.gone {
		screen.put(b.id, view{})
	}
	b.gone = true
	screen.sync()
}
