package nb

import (
	"context"
	_ "embed"
	"fmt"
	"html"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
)

// Film draws one frame for each value beforehand and shows them under a slider that needs no
// kernel: it also works in exported HTML. Frames are part of the notebook, so keep them to some
// twenty. Its Stop button and an interrupt leave the frames drawn so far.
func Film[V any](label string, values []V, draw func(V) any) {
	ctx, cancel := context.WithCancel(Context())
	defer cancel()
	removeStop := stopButton(ctx, "Stop the film", cancel)
	defer removeStop()
	Check(film(ctx, label, len(values), func(k int) (string, view, error) {
		v, err := viewOf(draw(values[k]))
		return fmt.Sprint(values[k]), v, err
	}))
}

// film draws n frames, or as many as there are until ctx ends, and shows them.
func film(ctx context.Context, label string, n int, draw func(k int) (value string, v view, err error)) error {
	var frames []frame
	for k := 0; k < n && ctx.Err() == nil; k++ {
		value, v, err := draw(k)
		if err == nil {
			frames = append(frames, frame{value, v})
		} else if ctx.Err() == nil {
			return err
		}
	}
	if len(frames) > 0 {
		screen.put("", view{html: filmOf(label, frames)})
		screen.sync()
	}
	return nil
}

type frame struct {
	value string
	view  view
}

//go:embed film.js
var filmScript string

// filmOf returns the film; where scripts do not run, its first frame is shown.
func filmOf(label string, frames []frame) string {
	id := "nb-film-" + gonbui.UniqueId()
	var b strings.Builder
	fmt.Fprintf(&b,
		`<div id="%s" class="nb-film">`+
			`<label style="%s">%s <input type="range" min="0" max="%d" value="0" style="%s"> `+
			`<output style="%s">%s</output></label>`,
		id, labelStyle, html.EscapeString(label), len(frames)-1, sliderStyle, valueStyle,
		html.EscapeString(frames[0].value))
	for i, f := range frames {
		display := "none"
		if i == 0 {
			display = "block"
		}
		fmt.Fprintf(&b, `<div class="nb-frame" data-value="%s" style="display:%s">%s</div>`, html.EscapeString(f.value),
			display, f.view.markup())
	}
	fmt.Fprintf(&b, "<script>(%s)(%q)</script></div>", filmScript, id)
	return b.String()
}
