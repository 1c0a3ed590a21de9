package nb

import (
	"context"
	"fmt"
	"html"
	"sync"
	"time"

	"coupling/lab"

	"github.com/janpfeifer/gonb/gonbui"
)

// Progress returns a context under which the lab's cells (see [lab.WithSink])
// move a bar below the notebook's cell, and a function that removes the bar. total is the number of
// cells that are asked for.
func Progress(ctx context.Context, what string, total int) (context.Context, func()) {
	b := &bar{id: "nb-progress-" + gonbui.UniqueId(), what: what, total: total, partial: map[lab.Key]float64{}, began: time.Now()}
	if total > 0 {
		screen.put(b.id, view{}) // its place, above what is shown meanwhile
	}
	return lab.WithSink(ctx, b.event), b.remove
}

// bar is a progress bar. It says what it knows ten times a second at most: a
// browser that is told more falls behind.
type bar struct {
	mu      sync.Mutex
	id      string
	what    string
	total   int
	landed  int
	failed  int
	partial map[lab.Key]float64
	began   time.Time
	spoke   time.Time
	most    float64 // the bar never goes back
	shown   bool
	gone    bool
}

func (b *bar) event(e lab.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e.Kind {
	case lab.Advanced:
		if e.Total > 0 {
			b.partial[e.Key] = min(float64(e.Done)/float64(e.Total), 1)
		}
	case lab.Stored, lab.Recalled, lab.Failed:
		delete(b.partial, e.Key)
		b.landed++
		if e.Kind == lab.Failed {
			b.failed++
		}
	}
	if b.gone || time.Since(b.began) < 200*time.Millisecond || time.Since(b.spoke) < 100*time.Millisecond {
		return
	}
	b.spoke, b.shown = time.Now(), true
	screen.put(b.id, view{html: b.markup()})
}

func (b *bar) markup() string {
	done := float64(b.landed)
	for _, f := range b.partial {
		done += f
	}
	b.most = max(b.most, done)
	text := fmt.Sprintf("%s: %d of %d cells", b.what, b.landed, b.total)
	if b.failed > 0 {
		text += fmt.Sprintf(", %d failed", b.failed)
	}
	if elapsed := time.Since(b.began); b.most >= .5 && b.total > 0 {
		left := time.Duration(float64(elapsed) * max(0, float64(b.total)/b.most-1))
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return fmt.Sprintf(`<div style="color:#555"><progress style="vertical-align:middle" max="%d" value="%.2f"></progress> %s</div>`,
		max(1, b.total), b.most, html.EscapeString(text))
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
