package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"coupling/lab/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// content is 300 kB that compress badly, so that cut connections leave parts.
var content = func() []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 300_000)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}()

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// server remembers the requests that it had.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	paths []string
}

func serve(t *testing.T, handler http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.paths = append(s.paths, r.URL.Path)
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.paths)
}

// whole serves b properly.
func whole(b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"`+digest(b)[:8]+`"`)
		http.ServeContent(w, r, "file.bin", time.Time{}, bytes.NewReader(b))
	}
}

// cutting serves as inner does, but breaks each connection after n bytes.
func cutting(n int, inner http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { inner(&cutter{w, n}, r) }
}

type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b[:min(len(b), c.left)])
	if c.left -= n; c.left == 0 {
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", code) }
}

// quick is a client that does not wait long between attempts.
var quick = Client{Pause: time.Millisecond, Stall: 5 * time.Minute}

var errWrong = errors.New("wrong content")

// target describes content in a fresh folder.
func target(t *testing.T, urls ...string) File {
	return File{
		Path: filepath.Join(t.TempDir(), "sub", "file.bin"), URLs: urls, MaxBytes: int64(len(content)),
		Check: func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil && !bytes.Equal(b, content) {
				err = errWrong
			}
			return err
		},
	}
}

// wantFile checks that the file is there and that nothing else is left over.
func wantFile(t *testing.T, f File) {
	t.Helper()
	got := must.Get(os.ReadFile(f.Path))
	if !bytes.Equal(got, content) {
		t.Fatalf("%d bytes that are not the content", len(got))
	}
	wantFolder(t, f, filepath.Base(f.Path))
}

func wantFolder(t *testing.T, f File, names ...string) {
	t.Helper()
	entries := must.Get(os.ReadDir(filepath.Dir(f.Path)))
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("the folder holds %q: want %q", got, names)
	}
}

func wantError(t *testing.T, err error, is error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error %v: want one that wraps %v", err, is)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q: want it to mention %q", err, text)
		}
	}
}

func TestGet(t *testing.T) {
	s := serve(t, whole(content))
	f := target(t, s.URL)
	var reports []int64
	client := quick
	client.Progress = func(name string, done, total int64) {
		if name != "file.bin" || total != int64(len(content)) {
			t.Errorf("progress of %q, total %d", name, total)
		}
		reports = append(reports, done)
	}
	must.Do(client.Get(t.Context(), f))
	wantFile(t, f)
	if !slices.IsSorted(reports) || reports[0] != 0 || reports[len(reports)-1] != int64(len(content)) {
		t.Errorf("progress %v: want it to rise from 0 to %d", reports, len(content))
	}
	must.Do(client.Get(t.Context(), f))
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests: want 1, the file was there", n)
	}
}

func TestNextServer(t *testing.T) {
	wrong := bytes.Clone(content)
	wrong[5] ^= 1
	refused := httptest.NewServer(nil)
	refused.Close()
	endless := func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := w.Write(content[:1<<16]); err != nil {
				return
			}
		}
	}
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		text    string
		tries   int
	}{
		{"404", status(404), "404 Not Found", 1},
		{"403", status(403), "403 Forbidden", 1},
		{"503", status(503), "503 Service Unavailable", 2},
		{"wrong checksum", whole(wrong), "wrong content", 1},
		{"short file", whole(content[:1000]), "wrong content", 1},
		{"web page", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html>Please log in")
		}, "web page", 1},
		{"announces too much", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "9000000000000000000")
			w.Write(content)
		}, "announces 9000000000000000000 bytes", 1},
		{"announces more than it sends", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "300000")
			w.Write(content[:1000])
		}, "broke after 1000 bytes", 2},
		{"endless", endless, "more than 300000 bytes", 1},
		{"cut at once", cutting(0, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }), "EOF",
			2},
	} {
		t.Run(test.name, func(t *testing.T) {
			bad, good := serve(t, test.handler), serve(t, whole(content))
			f := target(t, bad.URL)
			err := quick.Get(t.Context(), f)
			wantError(t, err, nil, "could not download file.bin", bad.URL, test.text)
			wantFolder(t, f)
			if n := len(bad.requests()); n != test.tries {
				t.Errorf("%d requests: want %d", n, test.tries)
			}
			f.URLs = []string{refused.URL, bad.URL, "no scheme://", good.URL}
			must.Do(quick.Get(t.Context(), f))
			wantFile(t, f)
		})
	}
}

func TestAllFail(t *testing.T) {
	a, b := serve(t, status(404)), serve(t, whole(content[1:]))
	f := target(t, a.URL, b.URL)
	err := quick.Get(t.Context(), f)
	wantError(t, err, errWrong, a.URL+": 404 Not Found", b.URL+": what arrived is not the file")
	wantFolder(t, f)
}

// A server that fails once, or breaks the connection, is asked again, from the beginning.
func TestServerRecovers(t *testing.T) {
	for _, first := range []http.HandlerFunc{status(503), cutting(120_000, whole(content))} {
		tries := atomic.Int32{}
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if tries.Add(1) == 1 {
				first(w, r)
				return
			}
			whole(content)(w, r)
		})
		f := target(t, s.URL)
		must.Do(quick.Get(t.Context(), f))
		wantFile(t, f)
	}
}

// hanging sends n bytes, tells on the channel, and then nothing until the client goes.
func hanging(n int, told chan<- bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Header().Set("ETag", `"`+digest(content)[:8]+`"`)
		w.Write(content[:n])
		w.(http.Flusher).Flush()
		if told != nil {
			told <- true
		}
		<-r.Context().Done()
	}
}

func TestStall(t *testing.T) {
	s, good := serve(t, hanging(1000, nil)), serve(t, whole(content))
	f := target(t, s.URL, good.URL)
	client := quick
	client.Stall = 50 * time.Millisecond
	wantError(t, client.Get(t.Context(), target(t, s.URL)), nil, "nothing arrived for 50ms")
	err := client.Get(t.Context(), f)
	for ; err != nil && client.Stall < time.Minute; err = client.Get(t.Context(), f) {
		client.Stall *= 2 // on a busy machine the good server stalls too
	}
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, f)
}

// A cancelled call leaves nothing, and does not keep another call for the same file waiting.
func TestCancel(t *testing.T) {
	told := make(chan bool, 1)
	s := serve(t, hanging(150_000, told))
	f := target(t, s.URL)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- quick.Get(ctx, f) }()
	<-told
	waiting, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	wantError(t, quick.Get(waiting, f), context.DeadlineExceeded)
	cancel()
	wantError(t, <-done, context.Canceled, s.URL)
	wantFolder(t, f)

	good := serve(t, whole(content))
	f.URLs = []string{good.URL}
	must.Do(quick.Get(t.Context(), f))
	wantFile(t, f)
}

// A full or read-only disk is not blamed on the servers.
func TestDisk(t *testing.T) {
	s := serve(t, whole(content))
	f := target(t, s.URL)
	f.Path = filepath.Join(t.TempDir(), "file", "file.bin")
	must.Do(os.WriteFile(filepath.Dir(f.Path), nil, 0o666))
	wantError(t, quick.Get(t.Context(), f), nil, filepath.Dir(f.Path))
	if len(s.requests()) != 0 {
		t.Error("a server was asked")
	}
}

func TestConcurrent(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(30 * time.Millisecond)
		whole(content)(w, r)
	})
	f := target(t, s.URL)
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		group.Go(func() { errs[i] = quick.Get(t.Context(), f) })
	}
	group.Wait()
	must.Do(errors.Join(errs...))
	wantFile(t, f)
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests by %d callers: want 1", n, len(errs))
	}
}

func TestExistingWrongFile(t *testing.T) {
	s := serve(t, whole(content))
	f := target(t, s.URL)
	must.Do(os.MkdirAll(filepath.Dir(f.Path), 0o777))
	must.Do(os.WriteFile(f.Path, []byte("precious"), 0o666))
	wantError(t, quick.Get(t.Context(), f), errWrong)
	if got, _ := os.ReadFile(f.Path); string(got) != "precious" || len(s.requests()) != 0 {
		t.Error("a file that was there was touched")
	}
}

func TestBadArguments(t *testing.T) {
	good := target(t, "http://localhost:1")
	for _, change := range []func(*File){
		func(f *File) { f.Path = "" },
		func(f *File) { f.URLs = nil },
		func(f *File) { f.Check = nil },
		func(f *File) { f.MaxBytes = 0 },
	} {
		f := good
		change(&f)
		wantError(t, quick.Get(t.Context(), f), nil, "must be set")
	}
}
