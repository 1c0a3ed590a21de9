package nb

import (
	"context"
	_ "embed"
	"fmt"
	"html"
	"slices"
	"time"
)

const (
	// patience is how long a picture may still take after the reader has moved on.
	patience = time.Second
	// quick is how long a picture may take if others are to be drawn ahead.
	quick = patience / 2
)

// drawing is a picture being drawn.
type drawing struct {
	at     []int
	ahead  bool // before the reader asked
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
		ahead:  !slices.Equal(at, s.at),
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
// At most one picture is drawn at a time, and always the newest position next. While the reader
// looks, quick pictures of positions beside it are drawn ahead, so that a move shows one at once.
func (s *session[P]) listen(ctx context.Context, heard <-chan string, first view) (why string) {
	s.last, s.drawn = first, slices.Clone(s.at)
	s.cache[fmt.Sprint(s.at)] = first
	idle := s.live.Idle
	if idle <= 0 {
		idle = 2 * time.Minute
	}
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
		next := s.at
		if slices.Equal(s.at, s.drawn) {
			next = s.ahead()
		} else if v, ok := s.cache[fmt.Sprint(s.at)]; ok {
			s.show(s.at, v)
			next = s.ahead()
		} else if busy == nil {
			s.status("drawing…")
		}
		if busy == nil && next != nil {
			busy = s.begin(ctx, next)
			done = busy.done
		}
	}
}

// ahead is the position nearest to the reader's, by one control, whose picture is not there; nil if
// there is none, or if pictures take long.
func (s *session[P]) ahead() []int {
	if s.slow {
		return nil
	}
	for step, within := 1, true; within; step++ {
		within = false
		for i, c := range s.live.Controls {
			for _, k := range []int{s.at[i] + step, s.at[i] - step} {
				if k < 0 || k >= len(c.names) {
					continue
				}
				within = true
				at := slices.Clone(s.at)
				at[i] = k
				if _, ok := s.cache[fmt.Sprint(at)]; !ok {
					return at
				}
			}
		}
	}
	return nil
}

// finish shows the result of a drawing; one that was drawn ahead is kept until the reader comes
// there. A cancelled drawing shows nothing; a failed one shows its error and is not tried again
// until the reader moves.
func (s *session[P]) finish(ctx context.Context, d *drawing) {
	d.cancel()
	s.slow = s.slow || d.err != nil || time.Since(d.began) > quick
	v := d.view
	if d.err != nil {
		if !slices.Equal(d.at, s.at) || ctx.Err() != nil {
			return
		}
		v = view{html: `<pre style="color:#a00;white-space:pre-wrap">` + html.EscapeString(d.err.Error()) + `</pre>`,
			text: d.err.Error()}
		s.show(d.at, v)
		return
	}
	s.cache[fmt.Sprint(d.at)] = v
	if !d.ahead || slices.Equal(d.at, s.at) {
		s.show(d.at, v)
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
	screen.script(fmt.Sprintf("(%s)(%s, %s, %d, %s, %s)", showScript, jsString(s.id), jsString(src), v.width,
		jsString(markup), jsString(s.words(at))))
}

func (s *session[P]) status(text string) {
	screen.script(fmt.Sprintf(`(() => {
		const l = document.getElementById(%s);
		if (l) l.querySelector(".nb-status").textContent = %s;
	})()`, jsString(s.id), jsString(text)))
}
