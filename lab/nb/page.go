package nb

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

// jsString is s as a literal of JavaScript.
func jsString(s string) string {
	b, err := json.Marshal(s) // also escapes <, > and &
	if err != nil {
		panic(err) // strings always have a form
	}
	return string(b)
}

// The layout of a label, its slider and its number in one line: Notebook 6 would otherwise set them
// below each other.
const (
	labelStyle  = "display:inline-flex;align-items:center;gap:.5em;margin:0;font-weight:normal"
	sliderStyle = "display:inline-block;width:18em;margin:0"
	valueStyle  = "display:inline-block;padding:0;min-width:4em"
)

//go:embed live.js
var liveScript string

// page is the controls, the picture and the script that reports moves. A move is
// "SEQ:CONTROL:POSITION"; while a slider is dragged at most some thirty a second
// are sent, and the last position always.
func (s *session[P]) page(first view) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		`<div id="%s" class="nb-live" data-drawn="%s">`+
			`<div style="display:flex;flex-wrap:wrap;gap:1.2em;align-items:center;margin-bottom:.4em">`,
		s.id, html.EscapeString(s.words(s.at)))
	for i, c := range s.live.Controls {
		if c.slider {
			fmt.Fprintf(&b,
				`<label style="%s">%s <input type="range" data-control="%d" min="0" max="%d" value="%d" style="%s"> `+
					`<output style="%s">%s</output></label>`,
				labelStyle, html.EscapeString(c.label), i, len(c.names)-1, s.at[i], sliderStyle, valueStyle,
				html.EscapeString(c.names[s.at[i]]))
			continue
		}
		fmt.Fprintf(&b, `<label style="%s">%s <select data-control="%d">`, labelStyle, html.EscapeString(c.label), i)
		for k, name := range c.names {
			selected := ""
			if k == s.at[i] {
				selected = " selected"
			}
			fmt.Fprintf(&b, `<option value="%d"%s>%s</option>`, k, selected, html.EscapeString(name))
		}
		b.WriteString(`</select></label>`)
	}
	b.WriteString(
		`<button type="button" class="nb-stop">Stop</button> <span class="nb-status" style="color:#888"></span></div>`)
	fmt.Fprintf(&b, `<div class="nb-picture">%s</div></div>`, first.markup())
	names := [][]string{}
	for _, c := range s.live.Controls {
		names = append(names, c.names)
	}
	list, err := json.Marshal(names)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(&b, "<script>(%s)(%q, %s, %q)</script>", liveScript, s.id, list, "/nb/live/"+s.id)
	return b.String()
}
