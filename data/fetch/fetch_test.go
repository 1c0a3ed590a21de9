package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if url := os.Getenv("FETCH_TEST_URL"); url != "" {
		os.Exit(fetchInProcess(url, os.Getenv("FETCH_TEST_PATH")))
	}
	goleak.VerifyTestMain(m)
}

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

// server counts requests and remembers their Range headers.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	ranges []string
}

func serve(t *testing.T, handler http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ranges)
}

// whole serves b properly: ranges, If-Range, an ETag.
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
var quick = Client{Pause: time.Millisecond, Stall: 5 * time.Second}

// target describes content in a fresh folder.
func target(t *testing.T, urls ...string) File {
	return File{
		Path: filepath.Join(t.TempDir(), "sub", "file.bin"), URLs: urls,
		SHA256: digest(content), MaxBytes: int64(len(content)),
	}
}

// wantFile checks that the file is there and that nothing else is left over.
func wantFile(t *testing.T, f File) {
	t.Helper()
	got, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, content) {
		t.Fatalf("%d bytes that are not the content", len(got))
	}
	wantFolder(t, f, filepath.Base(f.Path))
}

func wantFolder(t *testing.T, f File, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(f.Path))
	if err != nil {
		t.Fatal(err)
	}
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
	if err := client.Get(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	wantFile(t, f)
	if !slices.IsSorted(reports) || reports[0] != 0 || reports[len(reports)-1] != int64(len(content)) {
		t.Errorf("progress %v: want it to rise from 0 to %d", reports, len(content))
	}
	if err := client.Get(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests: want 1, the file was there", n)
	}
}

func TestGetPacked(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(content)
	w.Close()
	s := serve(t, whole(packed.Bytes()))
	f := target(t, s.URL)
	f.SHA256, f.Unpacked, f.MaxBytes = "", digest(content), int64(packed.Len())
	if err := quick.Get(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.Path); err != nil || !bytes.Equal(got, packed.Bytes()) {
		t.Errorf("the file was not stored as it was sent: %v", err)
	}
	f.Path += "2"
	f.MaxUnpacked = int64(len(content)) - 1
	wantError(t, quick.Get(t.Context(), f), ErrChecksum, "more than 299999 bytes")
}

func TestResumeAfterCut(t *testing.T) {
	s := serve(t, cutting(120_000, whole(content)))
	f := target(t, s.URL)
	if err := quick.Get(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	wantFile(t, f)
	// How much of the 120,000 bytes reaches us before the reset is up to TCP.
	if got := s.requests(); len(got) < 3 || got[0] != "" || !strings.HasPrefix(got[1], "bytes=") {
		t.Errorf("ranges %q: want the whole, then rests", got)
	}
}

func TestServerIgnoresRange(t *testing.T) {
	tries := atomic.Int32{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range")
		if tries.Add(1) < 3 {
			cutting(100_000, whole(content))(w, r)
			return
		}
		whole(content)(w, r)
	})
	f := target(t, s.URL)
	if err := quick.Get(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	wantFile(t, f)
	if n := len(s.requests()); n != 3 {
		t.Errorf("%d requests: want 3", n)
	}
}

// A server that has another version now sends all of it: no mixture.
func TestFileChangesBetweenAttempts(t *testing.T) {
	tries := atomic.Int32{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			cutting(100_000, whole(bytes.Repeat([]byte("old"), 100_000)))(w, r)
			return
		}
		whole(content)(w, r)
	})
	f := target(t, s.URL)
	if err := quick.Get(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	wantFile(t, f)
	if got := s.requests(); len(got) != 2 || got[1] == "" {
		t.Errorf("ranges %q: want a second request for the rest, answered by the whole", got)
	}
}

func TestWrongRest(t *testing.T) {
	for name, contentRange := range map[string]string{
		"other start": "bytes 7-299999/300000", "none": "", "nonsense": "bytes */*",
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Range") == "" {
					whole(content)(w, r)
					return
				}
				w.Header().Set("Content-Range", contentRange)
				w.WriteHeader(http.StatusPartialContent)
				w.Write(content)
			})
			f := target(t, s.URL)
			leavePart(t, f, origin{URL: s.URL}, content[:1000])
			if err := quick.Get(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			wantFile(t, f)
		})
	}
}

// leavePart does what a killed process leaves behind.
func leavePart(t *testing.T, f File, from origin, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
		t.Fatal(err)
	}
	p := openPart(f.Path + ".part")
	if err := p.restart(from); err != nil {
		t.Fatal(err)
	}
	if err := p.write(b); err != nil {
		t.Fatal(err)
	}
	p.close()
}

func TestLeftOverParts(t *testing.T) {
	etag := `"` + digest(content)[:8] + `"`
	other := bytes.Repeat([]byte("x"), 1000)
	for _, test := range []struct {
		name   string
		part   []byte
		etag   string
		ranges []string
	}{
		{"good", content[:1000], etag, []string{"bytes=1000-"}},
		{"complete", content, etag, nil},
		{"too long", append(slices.Clone(content), 'x'), etag, []string{"bytes=300001-", ""}},
		{"of another version", content[:1000], `"other"`, []string{"bytes=1000-"}},
		{"damaged", other, etag, []string{"bytes=1000-", ""}},
		{"without a validator", content[:1000], "", []string{"bytes=1000-"}},
		{"weak validator", content[:1000], `W/"x"`, []string{"bytes=1000-", ""}},
		{"empty", nil, etag, []string{""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, whole(content))
			f := target(t, s.URL)
			leavePart(t, f, origin{URL: s.URL, ETag: test.etag}, test.part)
			if err := quick.Get(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			wantFile(t, f)
			if got := s.requests(); !slices.Equal(got, test.ranges) {
				t.Errorf("ranges %q: want %q", got, test.ranges)
			}
		})
	}
	t.Run("of unknown origin", func(t *testing.T) {
		s := serve(t, whole(content))
		f := target(t, s.URL)
		leavePart(t, f, origin{URL: s.URL}, content[:1000])
		if err := os.WriteFile(f.Path+".part.json", []byte(`{"url": "htt`), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := quick.Get(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		wantFile(t, f)
		if got := s.requests(); !slices.Equal(got, []string{""}) {
			t.Errorf("ranges %q: want a fresh start", got)
		}
	})
	t.Run("of the second server", func(t *testing.T) {
		first, second := serve(t, whole(content)), serve(t, whole(content))
		f := target(t, first.URL, second.URL)
		leavePart(t, f, origin{URL: second.URL, ETag: etag}, content[:1000])
		if err := quick.Get(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		wantFile(t, f)
		if a, b := first.requests(), second.requests(); len(a) != 0 || !slices.Equal(b, []string{"bytes=1000-"}) {
			t.Errorf("first server %q, second %q: want the second to be asked for the rest", a, b)
		}
	})
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
		{"503", status(503), "503 Service Unavailable", 3},
		{"wrong checksum", whole(wrong), "wrong checksum", 1},
		{"short file", whole(content[:1000]), "wrong checksum", 1},
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
		}, "broke after 1000 bytes", 4}, // the first brings 1000 bytes, then three bring nothing
		{"endless", endless, "more than 300000 bytes", 1},
		{"cut at once", cutting(0, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }), "EOF", 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			bad, good := serve(t, test.handler), serve(t, whole(content))
			f := target(t, bad.URL)
			err := quick.Get(t.Context(), f)
			wantError(t, err, nil, "could not download file.bin", bad.URL, test.text)
			var failure *Error
			if !errors.As(err, &failure) || len(failure.Tried) != 1 {
				t.Errorf("error %v: want an Error with one attempt", err)
			}
			if _, err := os.Stat(f.Path); err == nil {
				t.Error("a bad file has the final name")
			}
			if n := len(bad.requests()); n != test.tries {
				t.Errorf("%d requests: want %d", n, test.tries)
			}
			f.URLs = []string{refused.URL, bad.URL, "no scheme://", good.URL}
			if err := quick.Get(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			wantFile(t, f)
		})
	}
}

func TestAllFail(t *testing.T) {
	a, b := serve(t, status(404)), serve(t, whole(content[1:]))
	f := target(t, a.URL, b.URL)
	err := quick.Get(t.Context(), f)
	wantError(t, err, ErrChecksum, a.URL+": 404 Not Found", b.URL+": what arrived is not the file", digest(content))
	wantFolder(t, f)
}

func TestServerRecovers(t *testing.T) {
	tries := atomic.Int32{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) < 3 {
			status(503)(w, r)
			return
		}
		whole(content)(w, r)
	})
	f := target(t, s.URL)
	if err := quick.Get(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	wantFile(t, f)
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
	client.Stall, client.Tries = 50*time.Millisecond, 1
	if err := client.Get(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	wantFile(t, f)
	f = target(t, s.URL)
	wantError(t, client.Get(t.Context(), f), nil, "nothing arrived for 50ms")
}

// A cancelled call keeps the part; the next one goes on from there.
func TestCancelAndResume(t *testing.T) {
	told := make(chan bool, 1)
	var handler atomic.Value
	handler.Store(hanging(150_000, told))
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { handler.Load().(http.HandlerFunc)(w, r) })
	f := target(t, s.URL)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-told
		for {
			if info, err := os.Stat(f.Path + ".part"); err == nil && info.Size() == 150_000 {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	wantError(t, quick.Get(ctx, f), context.Canceled, s.URL)
	wantFolder(t, f, "file.bin.part", "file.bin.part.json")

	handler.Store(whole(content))
	if err := quick.Get(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	wantFile(t, f)
	if got := s.requests(); !slices.Equal(got, []string{"", "bytes=150000-"}) {
		t.Errorf("ranges %q: want the second call to ask for the rest", got)
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
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	wantFile(t, f)
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests by %d callers: want 1", n, len(errs))
	}
}

func fetchInProcess(url, path string) int {
	f := File{Path: path, URLs: []string{url}, SHA256: digest(content), MaxBytes: int64(len(content))}
	if err := quick.Get(context.Background(), f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Three processes want the file; one of them is killed while it downloads.
func TestProcesses(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan bool, 1)
	first := atomic.Bool{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(false, true) {
			hanging(100_000, told)(w, r)
			return
		}
		whole(content)(w, r)
	})
	f := target(t, s.URL)
	start := func() (*exec.Cmd, *bytes.Buffer) {
		command, out := exec.Command(self), &bytes.Buffer{}
		command.Env = append(os.Environ(), "FETCH_TEST_URL="+s.URL, "FETCH_TEST_PATH="+f.Path)
		command.Stderr = out
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		return command, out
	}
	killed, _ := start()
	<-told // it holds the lock and hangs
	second, secondOut := start()
	third, thirdOut := start()
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.Wait()
	if err := errors.Join(second.Wait(), third.Wait()); err != nil {
		t.Fatalf("%v\n%s%s", err, secondOut, thirdOut)
	}
	wantFile(t, f)
	if n := len(s.requests()); n != 2 {
		t.Errorf("%d requests: want 2, of the killed process and of one that went on", n)
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	f := target(t, "http://localhost:1")
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(t.Context(), f.Path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	wantError(t, quick.Get(ctx, f), context.DeadlineExceeded, "lock")
}

// The lock excludes, also across the removal of its file by each owner.
func TestLockExcludes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var inside, turns atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 25 {
				unlock, err := lock(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two owners at once")
				}
				turns.Add(1)
				inside.Add(-1)
				unlock()
			}
		})
	}
	group.Wait()
	if turns.Load() != 200 {
		t.Errorf("%d turns: want 200", turns.Load())
	}
}

func TestExistingWrongFile(t *testing.T) {
	s := serve(t, whole(content))
	f := target(t, s.URL)
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path, []byte("precious"), 0o666); err != nil {
		t.Fatal(err)
	}
	wantError(t, quick.Get(t.Context(), f), ErrChecksum, f.Path)
	if got, _ := os.ReadFile(f.Path); string(got) != "precious" || len(s.requests()) != 0 {
		t.Error("a file that was there was touched")
	}
}

func TestBadArguments(t *testing.T) {
	good := target(t, "http://localhost:1")
	for text, change := range map[string]func(*File){
		"Path is empty": func(f *File) { f.Path = "" },
		"no URLs":       func(f *File) { f.URLs = nil },
		"no checksum":   func(f *File) { f.SHA256 = "" },
		"MaxBytes = 0":  func(f *File) { f.MaxBytes = 0 },
	} {
		f := good
		change(&f)
		wantError(t, quick.Get(t.Context(), f), nil, "fetch: ", text)
	}
}
