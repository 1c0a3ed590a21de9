package runs

import (
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"coupling/lab"
	"coupling/lab/gallery"
	"coupling/lab/store"
)

//go:embed page
var page embed.FS

// A Server is the page of one store. It is an [http.Handler].
type Server struct {
	store   *store.Store
	gallery string
	token   string
	epoch   string // distinguishes this server's changes from those of an earlier one
	index   *index
	mux     *http.ServeMux
}

// New returns the page of a store. gallery is the folder that coupling fig has written, or empty.
func New(s *store.Store, gallery string) *Server {
	static, _ := fs.Sub(page, "page") // it is in the program
	v := &Server{
		store:   s,
		gallery: gallery,
		token:   rand.Text(),
		epoch:   rand.Text()[:8],
		index:   &index{scanner: s.Scan(), rows: map[string]numbered{}},
		mux:     http.NewServeMux(),
	}
	v.mux.Handle("GET /", http.FileServerFS(static))
	for pattern, answer := range map[string]func(*http.Request) any{
		"GET /changes": v.changes, "GET /about": v.about, "GET /cell/{key}": v.cell, "GET /diff": v.diff,
	} {
		v.handle(pattern, func(w http.ResponseWriter, r *http.Request) {
			x := answer(r)
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(x) // the page has gone
		})
	}
	v.handle("GET /artifact/{key}/{name...}", v.artifact)
	v.handle("POST /export", v.export)
	if gallery != "" {
		v.handle("GET /gallery/", func(w http.ResponseWriter, r *http.Request) {
			root := lab.Must(os.OpenRoot(gallery)) // which no link leaves
			defer func() { _ = root.Close() }()    // it was read
			http.StripPrefix("/gallery/", http.FileServerFS(root.FS())).ServeHTTP(w, r)
		})
	}
	return v
}

// Path returns that of the page, with the token.
func (v *Server) Path() string { return "/?token=" + v.token }

const cookie = "coupling-runs"

// ServeHTTP requires the token, in the address the first time and later in a cookie.
func (v *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !local(r.Host) {
		http.Error(w, "this page answers to 127.0.0.1 and localhost only", http.StatusForbidden)
		return
	}
	_, port, _ := net.SplitHostPort(r.Host)
	name := cookie + port // browsers share cookies between the ports of a host
	if given := r.URL.Query().Get("token"); given != "" && r.URL.Path == "/" && v.isToken(given) {
		http.SetCookie(w, &http.Cookie{
			Name:     name,
			Value:    v.token,
			Path:     "/",
			HttpOnly: true,
			SameSite: http.SameSiteStrictMode,
		})
		http.Redirect(w, r, "/", http.StatusSeeOther) // out of the address bar
		return
	}
	if c, err := r.Cookie(name); err != nil || !v.isToken(c.Value) {
		http.Error(w, "open the address that coupling runs serve printed", http.StatusForbidden)
		return
	}
	v.mux.ServeHTTP(w, r)
}

func (v *Server) isToken(s string) bool {
	return subtle.ConstantTimeCompare([]byte(s), []byte(v.token)) == 1
}

// local refuses requests from pages whose own host name resolves to this machine (DNS rebinding).
func local(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return name == "127.0.0.1" || name == "localhost" || name == "::1" || name == "[::1]"
}

// changes sends the rows that changed after the page's last update, at first all.
func (v *Server) changes(r *http.Request) any {
	n := 0
	if r.FormValue("epoch") == v.epoch {
		n, _ = strconv.Atoi(r.FormValue("change"))
	}
	u := v.index.since(n)
	u.Epoch = v.epoch
	return u
}

func (v *Server) about(*http.Request) any {
	var pages []gallery.Page
	if v.gallery != "" {
		pages, _ = gallery.ReadPages(v.gallery) // a missing folder has no pages
	}
	return map[string]any{"store": v.store.Dir, "figures": pages}
}

// handle answers requests by serve, which [lab.Check] may end before it has written anything.
func (v *Server) handle(pattern string, serve http.HandlerFunc) {
	v.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		err := func() (err error) {
			defer lab.End(&err)
			serve(w, r)
			return nil
		}()
		if errors.Is(err, store.ErrMissing) || errors.Is(err, fs.ErrNotExist) {
			http.Error(w, err.Error(), http.StatusNotFound)
		} else if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}

func (v *Server) lookup(key string) store.Record {
	r, ok := v.index.record(key)
	if !ok {
		lab.Check(fmt.Errorf("cell %q: %w", key, store.ErrMissing))
	}
	return r
}

func (v *Server) cell(r *http.Request) any {
	return json.RawMessage(lab.Must(v.lookup(r.PathValue("key")).JSON()))
}

func (v *Server) diff(r *http.Request) any {
	return lab.Must(store.Diff(v.lookup(r.FormValue("a")), v.lookup(r.FormValue("b"))))
}

// artifact sends a file of a cell; anything but a picture is a download.
func (v *Server) artifact(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	rec := v.lookup(r.PathValue("key"))
	f := lab.Must(store.OpenArtifact(v.store.Files(rec), rec.Artifacts, name))
	defer f.Close()
	if filepath.Ext(name) != ".png" {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", "attachment")
	}
	http.ServeContent(w, r, name, rec.Manifest.Start, f)
}

func (v *Server) export(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Keys []string `json:"keys"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<20)).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	rows := []store.Row{}
	for _, key := range ask.Keys {
		if rec, ok := v.index.record(key); ok { // else removed since, or unfinished
			rows = append(rows, lab.Must(rec.Flatten())) // as it was for the page before
		}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := store.WriteCSV(w, rows); err != nil {
		panic(http.ErrAbortHandler) // so that the download fails, too
	}
}

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
