package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"coupling/lab"
)

// row is a cell in the form sent to the page.
type row struct {
	Key        lab.Key        `json:"key"`
	Experiment string         `json:"experiment"`
	State      string         `json:"state"` // of lab.Status
	Version    int            `json:"version,omitempty"`
	Seed       string         `json:"seed,omitempty"` // text, since a browser's numbers do not hold 64 bits
	Params     map[string]any `json:"params,omitempty"`
	Values     map[string]any `json:"values,omitempty"`
	Start      time.Time      `json:"start,omitzero"`
	Seconds    float64        `json:"seconds"`
	Device     string         `json:"device,omitempty"`
	Host       string         `json:"host,omitempty"`
	Commit     string         `json:"commit,omitempty"`
	Error      string         `json:"error,omitempty"`
	Artifacts  []lab.Artifact `json:"artifacts,omitempty"`
}

// index is the known content of the store, in the order of its changes.
type index struct {
	mu      sync.Mutex
	rows    map[lab.Key]row
	records map[lab.Key]lab.Record
	changes []lab.Key     // in order; a key may occur more than once
	more    chan struct{} // closed when there are more changes
	fault   string        // why the last look failed
}

func newIndex() *index {
	return &index{rows: map[lab.Key]row{}, records: map[lab.Key]lab.Record{}, more: make(chan struct{})}
}

// follow scans the store until ctx ends.
func (x *index) follow(ctx context.Context, s *lab.Store, every time.Duration) {
	scanner := s.Scan()
	for ctx.Err() == nil {
		x.look(ctx, scanner)
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

// look reads the changes in portions, so that a large store shows quickly.
func (x *index) look(ctx context.Context, scanner *lab.Scanner) {
	var portion []lab.Change
	fault := ""
	for c, err := range scanner.Look() {
		if err != nil {
			fault = err.Error()
			break
		}
		if portion = append(portion, c); len(portion) == 500 {
			x.add(portion)
			portion = portion[:0]
		}
		if ctx.Err() != nil {
			return
		}
	}
	x.mu.Lock()
	x.fault = fault
	x.mu.Unlock()
	x.add(portion)
}

func (x *index) add(portion []lab.Change) {
	if len(portion) == 0 {
		return
	}
	rows := make([]row, len(portion))
	for i, c := range portion {
		rows[i] = toRow(c)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, c := range portion {
		x.rows[c.Key] = rows[i]
		if delete(x.records, c.Key); c.Status.Stored && c.Err == nil {
			x.records[c.Key] = c.Record
		}
		x.changes = append(x.changes, c.Key)
	}
	close(x.more)
	x.more = make(chan struct{})
}

// since returns up to most rows that changed after the first n changes, each once, the number of
// changes covered, and a channel that is closed when there are more.
func (x *index) since(n, most int) (rows []row, covered int, more <-chan struct{}, fault string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n = min(max(n, 0), len(x.changes))
	end := min(n+most, len(x.changes))
	seen := map[lab.Key]bool{}
	for _, key := range x.changes[n:end] {
		if !seen[key] {
			seen[key] = true
			rows = append(rows, x.rows[key])
		}
	}
	return rows, end, x.more, x.fault
}

func (x *index) record(key lab.Key) (lab.Record, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r, ok := x.records[key]
	return r, ok
}

func toRow(c lab.Change) row {
	out := row{Key: c.Key, Experiment: c.Experiment, State: c.Status.String()}
	if c.Err != nil {
		out.State, out.Error = "failed", c.Err.Error()
		return out
	}
	if out.State != "stored" && out.State != "failed" {
		return out
	}
	r := c.Record
	out.Version, out.Seed, out.Start, out.Seconds = r.Version, fmt.Sprint(r.Seed), r.Manifest.Start, r.Manifest.Seconds
	out.Device, out.Host, out.Commit, out.Error = r.Manifest.Device, r.Manifest.Host, r.Manifest.Commit, r.Error
	out.Artifacts = r.Artifacts
	flat, err := r.Flatten()
	if err != nil {
		out.State, out.Error = "failed", err.Error()
		return out
	}
	out.Params, out.Values = map[string]any{}, map[string]any{}
	for name, v := range flat {
		if p, ok := strings.CutPrefix(name, "param."); ok {
			out.Params[p] = plain(v)
		}
		if p, ok := strings.CutPrefix(name, "value."); ok {
			out.Values[p] = plain(v)
		} else if name == "value" {
			out.Values["value"] = plain(v)
		}
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
		return plain(lab.FormatCell(v))
	case string:
		if r := []rune(v); len(r) > 80 {
			return string(r[:79]) + "…"
		}
	}
	return v
}
