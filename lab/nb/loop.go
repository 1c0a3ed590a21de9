package nb

import (
	"context"
	_ "embed"
	"fmt"
	"html"
	"slices"
	"time"
)

// patience is how long a picture may still take after the reader has moved on.
const patience = time.Second

// idle is how long to wait for a move.
var idle = 2 * time.Minute

type drawing struct {
	at     []int
	began  time.Time
	cancel context.CancelFunc
	done   chan struct{}
	view   view
	err    error
}

func (s *session[P]) begin(ctx context.Context, at []int) *drawing {
	ctx, cancel := context.WithCancel(ctx)
	d := &drawing{
		at:     slices.Clone(at),
		began:  time.Now(),
		cancel: cancel,
		done:   make(chan struct{}),
	}
	go func() {
		defer close(d.done)
		d.view, d.err = s.draw(ctx, d.at)
	}()
	return d
}

// listen follows the controls until there is a reason to stop, which it returns.
// At most one picture is drawn at a time, and always the newest position next.
func (s *session[P]) listen(ctx context.Context, heard <-chan string, first view) (why string) {
	s.last, s.drawn = first, slices.Clone(s.at)
	s.cache[fmt.Sprint(s.at)] = first
	timer := time.NewTimer(idle)
	defer timer.Stop()
	impatient := time.NewTicker(patience / 4)
	defer impatient.Stop()
	var busy *drawing
	var done <-chan struct{}
	defer func() {
		if busy != nil {
			busy.cancel()
		}
	}()
	for {
		select {
		case m := <-heard:
			if why := s.obey(m); why != "" {
				return why
			}
			timer.Reset(idle)
		case <-done:
			s.finish(ctx, busy)
			busy, done = nil, nil
		case <-impatient.C:
			if busy != nil && !slices.Equal(busy.at, s.at) && time.Since(busy.began) > patience {
				busy.cancel()
			}
		case <-timer.C:
			if busy != nil { // a reader who waits for a picture is not idle
				timer.Reset(idle)
				continue
			}
			return fmt.Sprintf("%s without a move", idle)
		case <-ctx.Done():
			return "interrupted"
		}
		if slices.Equal(s.at, s.drawn) {
			continue
		}
		if v, ok := s.cache[fmt.Sprint(s.at)]; ok {
			s.show(s.at, v)
		} else if busy == nil {
			s.status("drawing…")
			busy = s.begin(ctx, s.at)
			done = busy.done
		}
	}
}

// finish shows the result of a drawing. A cancelled one shows nothing; a failed one shows its error
// and is not tried again until the reader moves.
func (s *session[P]) finish(ctx context.Context, d *drawing) {
	d.cancel()
	if d.err == nil {
		s.cache[fmt.Sprint(d.at)] = d.view
		s.show(d.at, d.view)
	} else if slices.Equal(d.at, s.at) && ctx.Err() == nil {
		s.show(d.at, view{html: `<pre style="color:#a00;white-space:pre-wrap">` +
			html.EscapeString(d.err.Error()) + `</pre>`, text: d.err.Error()})
	}
}

//go:embed show.js
var showScript string

// show replaces the picture, or only its source if possible, so that the page does not jump.
func (s *session[P]) show(at []int, v view) {
	s.last, s.drawn = v, slices.Clone(at)
	src, markup := "", v.markup()
	if v.png != nil {
		src = v.dataURI()
	}
	screen.script(fmt.Sprintf("(%s)(%s, %s, %d, %s, %s)", showScript, js(s.id), js(src), v.width, js(markup),
		js(s.words(at))))
}

func (s *session[P]) status(text string) {
	screen.script(fmt.Sprintf(`(() => {
		const l = document.getElementById(%s);
		if (l) l.querySelector(".nb-status").textContent = %s;
	})()`, js(s.id), js(text)))
}
