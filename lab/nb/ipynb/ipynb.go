// Package ipynb reads, writes and makes Jupyter notebooks (nbformat 4.5).
//
// The notebooks of this project are written in Markdown, where they can be
// reviewed and merged, and generated from it: see [FromMarkdown].
package ipynb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Notebook is a list of cells.
type Notebook struct {
	Cells []Cell
}

// The types of cells.
const (
	Code     = "code"
	Markdown = "markdown"
)

// A Cell is text or code, with what the code has shown.
type Cell struct {
	ID      string
	Type    string
	Source  string
	Count   int // of execution; 0: not executed
	Outputs []Output
}

// An Output is one thing that a cell has shown, in the form of nbformat. Its
// output_type is stream, display_data, execute_result or error.
type Output map[string]any

// Stream returns the output of text on stdout or stderr.
func Stream(name, text string) Output {
	return Output{"output_type": "stream", "name": name, "text": text}
}

// Display returns the output of a bundle of MIME types.
func Display(data, metadata map[string]any) Output {
	if metadata == nil {
		metadata = map[string]any{}
	}
	return Output{"output_type": "display_data", "data": data, "metadata": metadata}
}

// Error returns the output of a failed cell.
func Error(name, value string, traceback []string) Output {
	return Output{"output_type": "error", "ename": name, "evalue": value, "traceback": traceback}
}

// Kind returns the output_type.
func (o Output) Kind() string { s, _ := o["output_type"].(string); return s }

// Text returns what the output holds as the MIME type (text/plain for a stream), or "".
func (o Output) Text(mime string) string {
	if o.Kind() == "stream" && mime == "text/plain" {
		return joined(o["text"])
	}
	data, _ := o["data"].(map[string]any)
	return joined(data[mime])
}

// joined turns nbformat's "multiline string" into one.
func joined(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, line := range v {
			s, _ := line.(string)
			b.WriteString(s)
		}
		return b.String()
	}
	return ""
}

// split is the list of lines that nbformat stores.
func split(s string) []string {
	return append([]string{}, slices.Collect(strings.Lines(s))...) // not nil, which is null in JSON
}

// Decode reads a notebook of nbformat 4.
func Decode(b []byte) (*Notebook, error) {
	var file struct {
		Format int `json:"nbformat"`
		Cells  []struct {
			ID      string   `json:"id"`
			Type    string   `json:"cell_type"`
			Source  any      `json:"source"`
			Count   *int     `json:"execution_count"`
			Outputs []Output `json:"outputs"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("ipynb: %w", err)
	}
	if file.Format != 4 {
		return nil, fmt.Errorf("ipynb: nbformat %d: want 4", file.Format)
	}
	nb := &Notebook{}
	for _, c := range file.Cells {
		cell := Cell{ID: c.ID, Type: c.Type, Source: joined(c.Source), Outputs: c.Outputs}
		if c.Count != nil {
			cell.Count = *c.Count
		}
		nb.Cells = append(nb.Cells, cell)
	}
	return nb, nil
}

// Encode writes the notebook as Jupyter does, byte for byte the same for the
// same notebook: keys in order, one space of indentation.
func (nb *Notebook) Encode() ([]byte, error) {
	cells := []any{}
	seen := map[string]bool{}
	for _, c := range nb.Cells {
		if c.ID == "" || seen[c.ID] {
			return nil, fmt.Errorf("ipynb: cell id %q: must be there and be one cell's own", c.ID)
		}
		seen[c.ID] = true
		cell := map[string]any{"cell_type": c.Type, "id": c.ID, "metadata": map[string]any{}, "source": split(c.Source)}
		if c.Type == Code {
			cell["execution_count"], cell["outputs"] = nil, []Output{}
			if c.Count > 0 {
				cell["execution_count"] = c.Count
			}
			if c.Outputs != nil {
				cell["outputs"] = c.Outputs
			}
		}
		cells = append(cells, cell)
	}
	if len(cells) == 0 {
		return nil, errors.New("ipynb: a notebook without cells")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(map[string]any{
		"cells": cells,
		"metadata": map[string]any{
			"kernelspec": map[string]any{"display_name": "Go (gonb)", "language": "go", "name": "gonb"},
			"language_info": map[string]any{"codemirror_mode": "", "file_extension": ".go", "mimetype": "text/x-go",
				"name": "go"},
		},
		"nbformat": 4, "nbformat_minor": 5,
	})
	if err != nil {
		return nil, fmt.Errorf("ipynb: %w", err)
	}
	return b.Bytes(), nil
}
