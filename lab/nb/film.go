package nb

import (
	"context"
	"fmt"
	"html/template"

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
			frames = append(frames, frame{value, template.HTML(v.markup())})
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
	Value  string
	Markup template.HTML
}

// filmOf returns the film; where scripts do not run, its first frame is shown.
func filmOf(label string, frames []frame) string {
	return fill("film", map[string]any{
		"ID":     "nb-film-" + gonbui.UniqueId(),
		"Slider": control{Label: label, Name: frames[0].Value, Last: len(frames) - 1},
		"Frames": frames,
	})
}
