package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"coupling/lab/store"
)

// row is a cell in the form sent to the page.
type row struct {
	Key        string           `json:"key"` // KEY.CODE; see store.Change
	Experiment string           `json:"experiment"`
	State      string           `json:"state"`             // of store.Status
	Columns    map[string]any   `json:"columns,omitempty"` // see store.Row
	Host       string           `json:"host,omitempty"`
	Error      string           `json:"error,omitempty"`
	Artifacts  []store.Artifact `json:"artifacts,omitempty"`
}

// index is the known content of the store. Changes are numbered from 1.
type index struct {
	mu      sync.Mutex
	scanner *store.Scanner
	rows    map[string]numbered
	changes int
}

// numbered is a row, the number of its last change, and its record where it finished or failed.
type numbered struct {
	row
	change int
	record store.Record
}

// update is the list of events after some change.
type update struct {
	Epoch  string `json:"epoch"` // of the server that numbered the changes
	Change int    `json:"change"`
	Rows   []row  `json:"rows"`
	More   bool   `json:"more"`            // the store was not read to its end
	Fault  string `json:"fault,omitempty"` // why
}

// since scans the store, for at most half a second, so that a large one shows quickly, and returns
// the rows that changed after change n.
func (x *index) since(n int) (u update) {
	x.mu.Lock()
	defer x.mu.Unlock()
	late := time.Now().Add(500 * time.Millisecond)
	for c, err := range x.scanner.Look() {
		if err != nil {
			u.Fault = err.Error()
			break
		}
		x.add(c)
		if u.More = time.Now().After(late); u.More {
			break
		}
	}
	u.Change = x.changes
	for _, r := range x.rows {
		if r.change > n {
			u.Rows = append(u.Rows, r.row)
		}
	}
	return u
}

func (x *index) add(c store.Change) {
	x.changes++
	n := numbered{row: toRow(c), change: x.changes}
	if c.Status.Stored && c.Err == nil {
		n.record = c.Record
	}
	x.rows[c.Name] = n
}

func (x *index) record(key string) (store.Record, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.rows[key].record
	return r, r.Key != ""
}

func toRow(c store.Change) row {
	r := c.Record
	out := row{
		Key:        c.Name,
		Experiment: c.Experiment,
		State:      c.Status.String(),
		Host:       r.Manifest.Host,
		Error:      r.Error,
		Artifacts:  r.Artifacts,
	}
	if c.Err == nil && r.Key == "" { // it runs, or is gone
		return out
	}
	flat, err := r.Flatten()
	if err = errors.Join(c.Err, err); err != nil {
		out.State, out.Error = "failed", err.Error()
		return out
	}
	out.Columns = map[string]any{}
	for name, v := range flat {
		out.Columns[name] = plain(v)
	}
	return out
}

// plain converts v for JSON: NaN and infinities become text, which the page reads back; a long list
// is cut, since a table cannot show it.
func plain(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	case json.Number:
		if n, err := v.Int64(); err != nil || n > 1<<53 || n < -1<<53 {
			return v.String()
		}
	case []any:
		return plain(store.FormatCell(v))
	case string:
		if r := []rune(v); len(r) > 80 {
			return string(r[:79]) + "…"
		}
	}
	return v
}
