package nb

import (
	"context"
	"fmt"
	"html"
	"iter"
	"os"
	"strings"
	"sync"
	"time"

	"coupling/lab"
	"coupling/lab/store"

	"github.com/janpfeifer/gonb/gonbui"
)

// Sweep is [lab.Sweep] in this notebook's store, one cell on each core, under a bar with a Stop
// button. It yields in the order of ps. It ends early, without an error, when the button is pressed
// or the notebook's cell is interrupted: Context().Err() is not nil in the latter case. Stored cells stay,
// so the same sweep goes on from there.
func Sweep[P, R any](
	e lab.Experiment[P, R], seed uint64, ps []P, more ...uint64,
) iter.Seq2[lab.Result[P, R], error] {
	return under(lab.Sweep[P, R], e, seed, ps, more)
}

// SweepAsLanded is [Sweep] in the order in which cells finish, for a [Board].
func SweepAsLanded[P, R any](
	e lab.Experiment[P, R], seed uint64, ps []P, more ...uint64,
) iter.Seq2[lab.Result[P, R], error] {
	return under(lab.SweepAsLanded[P, R], e, seed, ps, more)
}

func under[P, R any](
	sweep func(context.Context, *store.Store, lab.Experiment[P, R], int, uint64, []P, ...uint64,
	) iter.Seq2[lab.Result[P, R], error],
	e lab.Experiment[P, R], seed uint64, ps []P, more []uint64,
) iter.Seq2[lab.Result[P, R], error] {
	return func(yield func(lab.Result[P, R], error) bool) {
		ctx, cancel := context.WithCancel(Context())
		defer cancel()
		removeStop := stopButton(ctx, "Stop the sweep", cancel)
		defer removeStop()
		ctx, done := Progress(ctx, e.Name, len(ps)*(1+len(more)))
		defer done()
		other := 0
		defer func() { sayOtherCode(other) }()
		for r, err := range sweep(ctx, Store(), e, 0, seed, ps, more...) {
			if err != nil && ctx.Err() != nil {
				return // stopped: the rest is unfinished
			}
			if r.OtherCode {
				other++
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// sayOtherCode reports that n recalled cells were computed by other code.
func sayOtherCode(n int) {
	if n > 0 {
		fmt.Fprintf(os.Stdout,
			"%d of the recalled cells were computed by other code, or by code that is not known; with %%env "+
				"COUPLING_RECALL=same they are computed again\n", n)
	}
}

// stopButton shows a button, as soon as there is a page to press it on, that calls stop once;
// nothing waits for the page. The returned function removes the button.
func stopButton(ctx context.Context, label string, stop func()) (remove func()) {
	id, address := "nb-stop-"+gonbui.UniqueId(), "/nb/stop/"+gonbui.UniqueId()
	page := screen       // the present screen, even if the goroutine outlives it
	page.put(id, view{}) // its place
	ctx, cancel := context.WithCancel(ctx)
	var mu sync.Mutex // a button does not appear after it was removed
	go func() {
		heard, ok := page.connect(ctx, address)
		if !ok {
			return
		}
		mu.Lock()
		if ctx.Err() == nil {
			page.put(id, view{html: fmt.Sprintf(`<button type="button" class="nb-stop" `+
				`onclick="globalThis.gonb_comm && gonb_comm.send('%s', 'stop')">%s</button>`, address, label)})
		}
		mu.Unlock()
		for {
			select {
			case m := <-heard:
				if strings.HasPrefix(m, "stop") {
					stop()
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		mu.Lock()
		defer mu.Unlock()
		page.put(id, view{})
		page.sync()
	}
}

// A Board is a place below the cell whose content can be replaced, such as a growing figure.
type Board struct{ id string }

// NewBoard makes an empty board.
func NewBoard() *Board { return &Board{"nb-board-" + gonbui.UniqueId()} }

// Show replaces the board's content by x, anything that [Show] takes.
func (b *Board) Show(x any) {
	screen.put(b.id, Must(viewOf(x)))
	screen.sync()
}

// Progress returns a context under which the lab's cells (see [store.WithSink]), total of them,
// move a bar below the notebook's cell, and a function that removes the bar.
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

// bar is a progress bar, updated at most ten times a second: a browser cannot keep up with more.
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
