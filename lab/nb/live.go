package nb

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"coupling/lab"

	"github.com/janpfeifer/gonb/gonbui"
)

// Live draws a picture for parameters P that the reader of a notebook moves. It ends with its Stop
// button, an interrupt, when the page closes, or two minutes after a move, and leaves the last
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

// draw makes the picture at a position. It may run beside the loop: it reads only constant fields.
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
	var seq, control, position int
	_, err := fmt.Sscanf(m, "%d:%d:%d", &seq, &control, &position)
	if err == nil && 0 <= control && control < len(s.at) && seq > s.seqs[control] &&
		0 <= position && position < len(s.live.Controls[control].names) {
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

func (s *session[P]) leave(why string) {
	note := html.EscapeString(s.words(s.drawn) + " (" + why + ")")
	screen.put(s.id, view{html: `<div class="nb-left" style="color:#555">` + note + `</div>`})
	screen.put("", s.last)
	screen.sync()
}

// js is v, of strings, as a literal of JavaScript.
func js(v any) string {
	b, _ := json.Marshal(v) // which always have a form; also escapes <, > and &
	return string(b)
}

//go:embed pages.html.tmpl live.js film.js
var pageFiles embed.FS

var pages = template.Must(template.ParseFS(pageFiles, "*"))

// fill returns a part of pages.html.tmpl, which has all that it needs in x.
func fill(name string, x any) string {
	var b strings.Builder
	Check(pages.ExecuteTemplate(&b, name, x))
	return b.String()
}

// control is what a page says of a Control. A label, its slider and its number stand in one line, which Notebook 6
// would break.
type control struct {
	Label, Control, Name string
	At, Last             int
	Options              []string // of a list; nil: it is a slider
}

// page is the controls, the picture and the script that reports moves. A move is
// "SEQ:CONTROL:POSITION"; while a slider is dragged at most some thirty a second
// are sent, and the last position always.
func (s *session[P]) page(first view) string {
	var controls []control
	var names [][]string
	for i, c := range s.live.Controls {
		at := s.at[i]
		k := control{Label: c.label, Control: strconv.Itoa(i), Name: c.names[at], At: at, Last: len(c.names) - 1}
		if !c.slider {
			k.Options = c.names
		}
		controls, names = append(controls, k), append(names, c.names)
	}
	return fill("live", map[string]any{
		"ID":       s.id,
		"Drawn":    s.words(s.at),
		"Controls": controls,
		"Picture":  template.HTML(first.markup()),
		"Names":    names,
		"Address":  "/nb/live/" + s.id,
	})
}

// A Control is one axis along which [Live] moves through parameters P: a
// slider or a list. Make it with [Range] or [Choice].
type Control[P any] struct {
	label  string
	names  []string // of its positions
	set    func(*P, int)
	slider bool
	start  int
}

// Range returns a slider over steps; set puts a step into the parameters. It starts in the middle.
func Range[P any](label string, steps []float64, set func(*P, float64)) Control[P] {
	c := Control[P]{
		label:  label,
		slider: true,
		start:  (len(steps) - 1) / 2,
		set:    func(p *P, i int) { set(p, steps[i]) },
	}
	for _, v := range steps {
		c.names = append(c.names, strconv.FormatFloat(v, 'g', 4, 64))
	}
	return c
}

// Choice returns a list of options, of which the first is chosen.
func Choice[P any, V any](label string, options []V, set func(*P, V)) Control[P] {
	c := Control[P]{label: label, set: func(p *P, i int) { set(p, options[i]) }}
	for _, v := range options {
		c.names = append(c.names, fmt.Sprint(v))
	}
	return c
}

// Steps returns n values from lo to hi, evenly spaced.
func Steps(lo, hi float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo + (hi-lo)*float64(i)/float64(max(1, n-1))
	}
	return out
}

// LogSteps returns n values from lo to hi, evenly spaced in their logarithm
// and rounded to three digits. lo and hi are positive.
func LogSteps(lo, hi float64, n int) []float64 {
	out := Steps(math.Log(lo), math.Log(hi), n)
	for i := range out {
		out[i], _ = strconv.ParseFloat(strconv.FormatFloat(math.Exp(out[i]), 'g', 3, 64), 64)
	}
	return out
}
