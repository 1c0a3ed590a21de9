package headless

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"coupling/lab/nb/ipynb"
	"coupling/lab/nb/kernel"
)

// A CellError reports a cell that failed.
type CellError struct {
	ID     string // of the cell, if it has one
	Name   string
	Value  string
	Output string // what the cell wrote to stderr
}

// Error returns the text that the cell wrote, which GoNB mostly ends with Value itself.
func (e *CellError) Error() string {
	text := e.Output
	if !strings.Contains(text, e.Value) {
		text = e.Name + ": " + e.Value + "\n" + text
	}
	text = strings.TrimRight(text, "\n") + "\n" + kernel.Hint(text)
	return strings.TrimSpace(fmt.Sprintf("cell %s: %s", e.ID, text))
}

// Execute runs one cell's code and returns what it shows. The error is a
// [*CellError] if the cell failed. When ctx ends, the cell is interrupted.
func (s *Session) Execute(ctx context.Context, code string) ([]ipynb.Output, error) {
	id, err := s.send(s.shell, "execute_request", map[string]any{
		"code": code, "silent": false, "store_history": true, "user_expressions": map[string]any{},
		"allow_stdin": false, "stop_on_error": true,
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
				idle = idle || m.content.State == "idle"
			}
			t.add(m)
		case m := <-s.replies:
			if m.parent == id {
				reply = &m
			}
		case <-s.child.Ended:
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

type transcript struct {
	outputs []ipynb.Output
	at      map[string]int // by display id
	stderr  strings.Builder
}

func (t *transcript) add(m message) {
	switch m.kind {
	case "stream":
		t.stream(m.content.Name, m.content.Text)
	case "display_data", "execute_result", "update_display_data":
		o, id := ipynb.Display(m.content.Data, m.content.Metadata), m.content.Transient.Display
		if i, ok := t.at[id]; ok && id != "" {
			t.outputs[i] = o
			return
		}
		t.at[id] = len(t.outputs)
		t.outputs = append(t.outputs, o)
	case "error":
		t.outputs = append(t.outputs, ipynb.Error(m.content.Error, m.content.Value, m.content.Traceback))
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
	if reply.content.Status == "ok" {
		return nil
	}
	return &CellError{Name: reply.content.Error, Value: reply.content.Value, Output: t.stderr.String()}
}

// Notebook executes the code cells of nb in order, puts their outputs into them (but displays that
// were cleared), and stops at the first that fails. It returns how many it executed.
func (s *Session) Notebook(ctx context.Context, nb *ipynb.Notebook) (executed int, err error) {
	for i := range nb.Cells {
		c := &nb.Cells[i]
		if c.Type != ipynb.Code {
			continue
		}
		outputs, err := s.Execute(ctx, c.Source)
		executed++
		c.Count, c.Outputs = executed, nil
		for _, o := range outputs {
			if !empty(o) {
				c.Outputs = append(c.Outputs, o)
			}
		}
		if failed := (*CellError)(nil); errors.As(err, &failed) {
			failed.ID = c.ID
		}
		if err != nil {
			return executed, err
		}
	}
	return executed, nil
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
