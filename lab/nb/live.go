package nb

import (
	"context"
	"errors"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"

	"coupling/lab"

	"github.com/janpfeifer/gonb/gonbui"
)

// Live draws a picture for parameters P that the reader of a notebook moves. It ends with its Stop
// button, an interrupt, when the page closes, or after Idle without a move, and leaves the last
// picture in the notebook. Without a browser it leaves a [Film].
//
// Pictures are cached, so going back is instant. Results that Draw computes through the lab are
// recalled in later cells too: see [Explore].
type Live[P any] struct {
	Base     P
	Controls []Control[P]
	// Draw returns anything that Show takes. Its context ends if the picture takes long and the
	// reader has moved on.
	Draw func(ctx context.Context, p P) (any, error)
	// Idle is how long to wait for a move; zero is two minutes.
	Idle time.Duration
}

// Slider is [Live] for one number.
func Slider(label string, steps []float64, draw func(v float64) any) {
	type at struct{ V float64 }
	Live[at]{
		Controls: []Control[at]{Range(label, steps, func(p *at, v float64) { p.V = v })},
		Draw:     func(_ context.Context, p at) (any, error) { return draw(p.V), nil },
	}.Run()
}

// Explore is [Live] over an experiment: each position is a cell of the lab,
// recalled from the store or computed into it.
func Explore[P, R any](e lab.Experiment[P, R], seed uint64, base P, draw func(lab.Result[P, R]) (any, error),
	controls ...Control[P]) {
	Live[P]{Base: base, Controls: controls, Draw: func(ctx context.Context, p P) (any, error) {
		r, err := lab.Do(ctx, Store(), e, seed, p)
		if err != nil {
			return nil, err
		}
		return draw(r)
	}}.Run()
}

// Run shows the controls and the picture, and returns when Live ends.
func (l Live[P]) Run() {
	Check(l.check())
	ctx := Context()
	s := &session[P]{live: l, id: "nb-live-" + gonbui.UniqueId(), cache: map[string]view{}}
	for _, c := range l.Controls {
		s.at, s.seqs = append(s.at, c.start), append(s.seqs, 0)
	}
	heard, ok := screen.connect(ctx, "/nb/live/"+s.id)
	if !ok {
		Check(s.still(ctx))
		return
	}
	first, err := s.draw(ctx, s.at)
	Check(err)
	screen.put(s.id, view{html: s.page(first)})
	why := s.listen(ctx, heard, first)
	s.leave(why)
}

func (l Live[P]) check() error {
	switch {
	case l.Draw == nil:
		return errors.New("nb: Live.Draw is nil")
	case len(l.Controls) == 0:
		return errors.New("nb: Live.Controls is empty")
	}
	for i, c := range l.Controls {
		if len(c.names) == 0 {
			return fmt.Errorf("nb: Live.Controls[%d] %q has no positions", i, c.label)
		}
	}
	return nil
}

// session is the state of a running Live.
type session[P any] struct {
	live  Live[P]
	id    string
	at    []int           // the position of each control
	seqs  []int           // of the newest message of each control
	cache map[string]view // by position
	last  view
	drawn []int // the position of the last picture
}

func (s *session[P]) params(at []int) P {
	p := s.live.Base
	for i, c := range s.live.Controls {
		c.set(&p, at[i])
	}
	return p
}

// draw makes the picture at a position. Only draw may run beside the loop; it reads only constant
// fields of the session.
func (s *session[P]) draw(ctx context.Context, at []int) (v view, err error) {
	defer lab.End(&err)
	return viewOf(lab.Must(s.live.Draw(ctx, s.params(at))))
}

// words describes a position: "ε = 0.01, cost = squared".
func (s *session[P]) words(at []int) string {
	var parts []string
	for i, c := range s.live.Controls {
		parts = append(parts, c.label+" = "+c.names[at[i]])
	}
	return strings.Join(parts, ", ")
}

// obey handles a message of the page, "SEQ:CONTROL:POSITION" or "SEQ:stop:WHY", and returns the
// reason to stop, if any. Messages may arrive out of order.
func (s *session[P]) obey(m string) (why string) {
	f := strings.SplitN(m, ":", 3)
	if len(f) != 3 {
		return "" // the probe
	}
	if f[1] == "stop" {
		return f[2]
	}
	seq, err1 := strconv.Atoi(f[0])
	control, err2 := strconv.Atoi(f[1])
	position, err3 := strconv.Atoi(f[2])
	if errors.Join(err1, err2, err3) != nil || control < 0 || control >= len(s.at) || position < 0 ||
		position >= len(s.live.Controls[control].names) {
		return ""
	}
	if seq > s.seqs[control] {
		s.seqs[control], s.at[control] = seq, position
	}
	return ""
}

// still is the film for a notebook without a browser: the first control moves, the others stay.
func (s *session[P]) still(ctx context.Context) error {
	const most = 5
	c := s.live.Controls[0]
	n := min(most, len(c.names))
	return film(ctx, c.label, n, func(k int) (string, view, error) {
		at := slices.Clone(s.at)
		at[0] = k * (len(c.names) - 1) / max(1, n-1)
		v, err := s.draw(ctx, at)
		return c.names[at[0]], v, err
	})
}

// leave replaces the controls by the last picture.
func (s *session[P]) leave(why string) {
	v := s.last
	note := html.EscapeString(s.words(s.drawn) + " (" + why + ")")
	screen.put(s.id, view{html: `<div class="nb-left" style="color:#555">` + note + `</div>`})
	screen.put("", v)
	screen.sync()
}
