package runs

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"
)

type params struct {
	Eps    float64 `json:"eps"`
	N      int     `json:"n"`
	Solver string  `json:"solver"`
	Tol    float64 `json:"tol"`
}

type result struct {
	Loss  float64 `json:"loss"`
	Steps int     `json:"steps"`
}

// descent is an experiment whose loss depends on all of its parameters, and is
// NaN where n is 13. At n of 14 it fails; at 15 it waits.
var descent = lab.Experiment[params, result]{Name: "test/descent", Version: 1,
	Run: func(ctx context.Context, c *lab.Cell, p params) (result, error) {
		switch p.N {
		case 13:
			return result{Loss: math.NaN()}, nil
		case 14:
			return result{}, errors.New("fourteen is <b>refused</b>")
		case 15:
			<-ctx.Done()
			return result{}, context.Cause(ctx)
		}
		path, err := c.Artifact("note.txt")
		if err != nil {
			return result{}, err
		}
		return descend(c.Rand("x").NormFloat64(), p), os.WriteFile(path, []byte("so it went"), 0o666)
	}}

func descend(noise float64, p params) result {
	rate := 1.0
	if p.Solver == "newton" {
		rate = 3
	}
	return result{Loss: p.Eps*math.Exp(.1*noise) + math.Exp(-rate*float64(p.N)/300),
		Steps: int(40 / rate / math.Sqrt(p.Eps))}
}

// serve starts a server over a store, and a client that has its cookie.
func serve(t *testing.T, gallery string) (*store.Store, *Server, *httptest.Server, *http.Client) {
	t.Helper()
	s := must.Get(lab.OpenStore(t.TempDir()))
	v := New(s, gallery)
	web := httptest.NewServer(v)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	resp := must.Get(client.Get(web.URL + v.Path()))
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || strings.Contains(resp.Request.URL.String(), "token") {
		t.Fatalf("%s at %s", resp.Status, resp.Request.URL)
	}
	return s, v, web, client
}

func body(client *http.Client, url string) (int, string) {
	resp := must.Get(client.Get(url))
	defer resp.Body.Close()
	b := must.Get(io.ReadAll(resp.Body))
	return resp.StatusCode, string(b)
}

func TestStrangersAreKeptOut(t *testing.T) {
	_, v, web, client := serve(t, "")
	for _, path := range []string{"/", "/app.js", "/changes", "/about", "/?token=wrong",
		"/about" + strings.TrimPrefix(v.Path(), "/")} {
		if code, _ := body(http.DefaultClient, web.URL+path); code != http.StatusForbidden {
			t.Errorf("%s without a cookie: %d", path, code)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", web.URL+v.Path(), nil)
	req.Host = "evil.example"
	resp := must.Get(client.Do(req))
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("another host's name: %s", resp.Status)
	}
	resp = must.Get(client.Get(web.URL + "/"))
	defer resp.Body.Close()
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("policy %q", csp)
	}
}

// changes asks what changed after the last update.
func changes(t *testing.T, client *http.Client, url string, last update) (u update) {
	t.Helper()
	code, text := body(client, fmt.Sprintf("%s/changes?epoch=%s&change=%d", url, last.Epoch, last.Change))
	if err := json.Unmarshal([]byte(text), &u); err != nil || code != http.StatusOK || u.Fault != "" {
		t.Fatalf("%d %s: %v", code, text, err)
	}
	return u
}

// Cells are sent as they land, fail, run and go, and a page that lost the
// connection goes on where it was.
func TestChanges(t *testing.T) {
	s, _, web, client := serve(t, "")
	var last update
	await := func(p params, want string) row {
		t.Helper()
		key := descent.Jobs(1, p)[0].Record().Name()
		for range 30_000 {
			last = changes(t, client, web.URL, last)
			for _, x := range last.Rows {
				if x.Key == key && x.State == want {
					return x
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("no cell %+v is %s", p, want)
		return row{}
	}
	do := func(p params) {
		t.Helper()
		if _, err := lab.Do(t.Context(), s, descent, 1, p); err != nil && p.N != 14 {
			t.Fatal(err)
		}
	}
	do(params{Eps: .5, N: 3, Solver: "lbfgs"})
	x := await(params{Eps: .5, N: 3, Solver: "lbfgs"}, "stored")
	if x.Columns["param.eps"] != .5 || x.Columns["value.loss"] == nil || x.Columns["seed"] != 1. ||
		len(x.Artifacts) != 1 {
		t.Errorf("%+v", x)
	}
	first := last
	do(params{N: 13})
	if x := await(params{N: 13}, "stored"); x.Columns["value.loss"] != "NaN" {
		t.Errorf("NaN came as %v", x.Columns["value.loss"])
	}
	do(params{N: 14})
	if x := await(params{N: 14}, "failed"); !strings.Contains(x.Error, "fourteen") {
		t.Errorf("%+v", x)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _, _ = lab.Do(ctx, s, descent, 1, params{N: 15}) }()
	await(params{N: 15}, "running")
	cancel()
	<-done
	await(params{N: 15}, "gone")

	if u := changes(t, client, web.URL, last); len(u.Rows) != 0 {
		t.Errorf("nothing changed, and %d rows came", len(u.Rows))
	}
	if u := changes(t, client, web.URL, first); len(u.Rows) != 3 {
		t.Errorf("after the first cell: %d rows, want 3", len(u.Rows))
	}
	if u := changes(t, client, web.URL, update{Epoch: "of-before", Change: 17}); len(u.Rows) != 4 {
		t.Errorf("with the epoch of another server: %d rows, want 4", len(u.Rows))
	}
}

func TestCellsDiffsAndDownloads(t *testing.T) {
	gallery, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	lab.Check(errors.Join(os.WriteFile(secret, nil, 0o666), os.Symlink(secret, filepath.Join(gallery, "link")),
		os.WriteFile(filepath.Join(gallery, "index.html"), nil, 0o666)))
	s, _, web, client := serve(t, gallery)
	var keys []string
	for _, p := range []params{{Eps: .5, N: 3, Solver: "lbfgs"}, {Eps: .25, N: 3, Solver: "newton"}} {
		r := must.Get(lab.Do(t.Context(), s, descent, 1, p))
		keys = append(keys, lab.Must(s.Find(string(r.Key))).Name())
	}
	changes(t, client, web.URL, update{})
	code, text := body(client, web.URL+"/diff?"+url.Values{"a": {keys[0]}, "b": {keys[1]}}.Encode())
	if code != 200 || !strings.Contains(text, `"column":"param.solver","a":"lbfgs","b":"newton"`) ||
		!strings.Contains(text, "(-50.0 %)") {
		t.Errorf("diff: %d %s", code, text)
	}
	if code, text := body(client, web.URL+"/cell/"+keys[0]); code != 200 || !strings.Contains(text, keys[0][:32]) {
		t.Errorf("cell: %d %s", code, text)
	}
	if code, text := body(client, web.URL+"/artifact/"+keys[0]+"/note.txt"); code != 200 || text != "so it went" {
		t.Errorf("artifact: %d %s", code, text)
	}
	inside, _ := body(client, web.URL+"/gallery/")
	if outside, _ := body(client, web.URL+"/gallery/link"); inside != http.StatusOK || outside == http.StatusOK {
		t.Errorf("the gallery: %d, a link out of it: %d", inside, outside)
	}
	for _, path := range []string{"/cell/0", "/artifact/" + keys[0] + "/none.txt",
		"/artifact/" + keys[0] + "/..%2f..%2fx", "/diff?a=1&b=2", "/gallery/x"} {
		if code, _ := body(client, web.URL+path); code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, code)
		}
	}
	post := func(ask any) (int, []byte) {
		b, _ := json.Marshal(ask)
		resp := must.Get(client.Post(web.URL+"/export", "application/json", bytes.NewReader(b)))
		defer resp.Body.Close()
		out, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, out
	}
	if code, out := post(map[string]any{"keys": append(keys, "gone")}); code != 200 {
		t.Errorf("csv: %d %s", code, out)
	} else if recs, err := csv.NewReader(bytes.NewReader(out)).ReadAll(); err != nil || len(recs) != 3 {
		t.Errorf("csv: %d lines, %v", len(recs), err)
	}
	if code, _ := post("keys"); code != http.StatusBadRequest {
		t.Errorf("no keys: %d", code)
	}
}
