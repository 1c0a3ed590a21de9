package headless

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"coupling/lab/nb/ipynb"
)

// A CellError reports a cell that failed.
type CellError struct {
	ID     string // of the cell, if it has one
	Name   string
	Value  string
	Output string // what the cell wrote to stderr
}

// Error is what the cell wrote, which GoNB mostly ends with Value itself.
func (e *CellError) Error() string {
	text := e.Output
	if !strings.Contains(text, e.Value) {
		text = e.Name + ": " + e.Value + "\n" + text
	}
	return strings.TrimSpace(fmt.Sprintf("cell %s: %s", e.ID, text))
}

// Execute runs one cell's code and returns what it shows. The error is a
// [*CellError] if the cell failed. When ctx ends, the cell is interrupted.
func (s *Session) Execute(ctx context.Context, code string) ([]ipynb.Output, error) {
	id, err := s.send(s.shell, "execute_request", map[string]any{
		"code": code, "silent": false, "store_history": true, "user_expressions": map[string]any{}, "allow_stdin": false, "stop_on_error": true,
	})
	if err != nil {
		return nil, fmt.Errorf("headless: %w", err)
	}
	t := transcript{at: map[string]int{}}
	var reply *message
	var late <-chan time.Time // after the interrupt
	stop := ctx.Done()
	for idle := false; reply == nil || !idle; {
		select {
		case m := <-s.published:
			if m.parent != id {
				continue
			}
			if m.kind == "status" {
				idle = idle || m.content["execution_state"] == "idle"
			}
			t.add(m)
		case m := <-s.replies:
			if m.parent == id {
				reply = &m
			}
		case <-s.ended:
			return t.outputs, fmt.Errorf("headless: the kernel ended\n%s", s.log())
		case <-stop:
			stop, late = nil, time.After(15*time.Second)
			if err := s.Interrupt(); err != nil {
				return t.outputs, err
			}
		case <-late:
			return t.outputs, fmt.Errorf("headless: the kernel does not heed an interrupt: %w", context.Cause(ctx))
		}
	}
	return t.outputs, errors.Join(ctx.Err(), t.failure(*reply))
}

// transcript collects what a cell publishes.
type transcript struct {
	outputs []ipynb.Output
	at      map[string]int // by display id
	stderr  strings.Builder
}

func (t *transcript) add(m message) {
	switch m.kind {
	case "stream":
		name, _ := m.content["name"].(string)
		text, _ := m.content["text"].(string)
		t.stream(name, text)
	case "display_data", "execute_result", "update_display_data":
		data, _ := m.content["data"].(map[string]any)
		metadata, _ := m.content["metadata"].(map[string]any)
		o := ipynb.Display(data, metadata)
		if i, ok := t.at[m.display]; ok && m.display != "" {
			t.outputs[i] = o
			return
		}
		if m.display != "" {
			t.at[m.display] = len(t.outputs)
		}
		t.outputs = append(t.outputs, o)
	case "error":
		name, _ := m.content["ename"].(string)
		value, _ := m.content["evalue"].(string)
		t.outputs = append(t.outputs, ipynb.Error(name, value, texts(m.content["traceback"])))
	}
}

// stream joins text to the output before it, as Jupyter does.
func (t *transcript) stream(name, text string) {
	if name == "stderr" {
		t.stderr.WriteString(text)
	}
	if n := len(t.outputs); n > 0 && t.outputs[n-1].Kind() == "stream" && t.outputs[n-1]["name"] == name {
		text = t.outputs[n-1].Text("text/plain") + text
		t.outputs = t.outputs[:n-1]
	}
	t.outputs = append(t.outputs, ipynb.Stream(name, text))
}

func (t *transcript) failure(reply message) error {
	if status, _ := reply.content["status"].(string); status == "ok" {
		return nil
	}
	name, _ := reply.content["ename"].(string)
	value, _ := reply.content["evalue"].(string)
	return &CellError{Name: name, Value: value, Output: t.stderr.String()}
}

func texts(v any) []string {
	out := []string{}
	list, _ := v.([]any)
	for _, x := range list {
		s, _ := x.(string)
		out = append(out, s)
	}
	return out
}

// Timing is how long a cell took.
type Timing struct {
	ID      string
	Elapsed time.Duration
}

// Notebook executes the code cells of nb in order, puts what they show into them, and stops at the
// first that fails. Displays that were cleared (progress bars) are left out.
func (s *Session) Notebook(ctx context.Context, nb *ipynb.Notebook) (times []Timing, err error) {
	count := 0
	for i := range nb.Cells {
		c := &nb.Cells[i]
		if c.Type != ipynb.Code {
			continue
		}
		began := time.Now()
		outputs, err := s.Execute(ctx, c.Source)
		times = append(times, Timing{c.ID, time.Since(began)})
		count++
		c.Count, c.Outputs = count, nil
		for _, o := range outputs {
			if !empty(o) {
				c.Outputs = append(c.Outputs, o)
			}
		}
		if failed := (*CellError)(nil); errors.As(err, &failed) {
			failed.ID = c.ID
		}
		if err != nil {
			return times, err
		}
	}
	return times, nil
}

func empty(o ipynb.Output) bool {
	data, ok := o["data"].(map[string]any)
	if !ok {
		return false
	}
	for _, v := range data {
		if s, ok := v.(string); !ok || strings.TrimSpace(s) != "" {
			return false
		}
	}
	return true
}
