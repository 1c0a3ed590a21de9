package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// File is a download: its URLs, its path and its limits.
type File struct {
	Path     string                  // where the file shall lie
	URLs     []string                // servers that hold it, tried in turn
	MaxBytes int64                   // refuse more than this; must be positive
	Check    func(path string) error // says whether the file at path is the right one
}

// Client downloads files. The zero value works.
type Client struct {
	// Progress is called from Get with the file's name, the bytes that have
	// arrived and their final number (-1 where the server does not say): at the
	// start, at most ten times a second, and at the end.
	Progress func(name string, done, total int64)
	Stall    time.Duration // longest silence of a server; zero: 30 s
	Pause    time.Duration // before a second request to the same servers; zero: 2 s
}

// busy holds a token for each path that a Get of this process is at work on.
var busy sync.Map // of chan struct{}

// Get downloads f unless it is there already, and checks it either way. It asks
// each server in turn, and all of them a second time where the reason may pass: a
// broken connection, silence, a status of 5xx. The error lists every server with
// its last reason.
func (c Client) Get(ctx context.Context, f File) error {
	if f.Path == "" || len(f.URLs) == 0 || f.MaxBytes <= 0 || f.Check == nil {
		return fmt.Errorf("fetch: %+v: Path, URLs, MaxBytes and Check must be set", f)
	}
	token, _ := busy.LoadOrStore(f.Path, make(chan struct{}, 1))
	select {
	case token.(chan struct{}) <- struct{}{}:
		defer func() { <-token.(chan struct{}) }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if _, err := os.Stat(f.Path); err == nil {
		return f.Check(f.Path)
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
		return err
	}
	reasons := make([]error, len(f.URLs))
	for again := range 2 {
		for i, url := range f.URLs {
			if again > 0 && !passing(reasons[i]) {
				continue
			}
			if reasons[i] = c.download(ctx, f, url); reasons[i] == nil || errors.Is(reasons[i], errDisk) {
				return reasons[i]
			}
			if ctx.Err() != nil {
				return fmt.Errorf("fetch: %s: %w", url, context.Cause(ctx))
			}
		}
		if again > 0 || !passing(reasons...) {
			break
		}
		select {
		case <-time.After(cmp.Or(c.Pause, 2*time.Second)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := fmt.Errorf("could not download %s", filepath.Base(f.Path))
	for i, url := range f.URLs {
		err = fmt.Errorf("%w; %s: %w", err, url, reasons[i])
	}
	return err
}

var (
	errDisk    = errors.New("cannot be written here") // whatever the server
	errPassing = errors.New("try again")              // marks what a second request may not meet
)

// passing reports whether one of the reasons may pass.
func passing(reasons ...error) bool { return errors.Is(errors.Join(reasons...), errPassing) }

// passes marks a reason without changing its text.
type passes struct{ error }

func (passes) Is(target error) bool { return target == errPassing }
func (p passes) Unwrap() error      { return p.error }

// download asks one server once. The bytes go to a file of another name, which is
// synced, checked and renamed, so that f.Path only ever is the right file.
func (c Client) download(ctx context.Context, f File, url string) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := cmp.Or(c.Stall, 30*time.Second)
	watchdog := time.AfterFunc(stall, func() { cancel(fmt.Errorf("nothing arrived for %v", stall)) })
	defer watchdog.Stop()

	body, total, err := c.request(ctx, url, f.MaxBytes)
	if err != nil {
		return err
	}
	defer body.Close()
	file, err := os.CreateTemp(filepath.Dir(f.Path), filepath.Base(f.Path)+".*.part")
	if err != nil {
		return fmt.Errorf("fetch: %w: %w", errDisk, err)
	}
	defer func() {
		file.Close()
		os.Remove(file.Name()) // is no more where it was renamed
	}()
	report := func(done int64) {
		if c.Progress != nil {
			c.Progress(filepath.Base(f.Path), done, total)
		}
	}
	n, err := receive(file, body, f.MaxBytes, func(done int64) { watchdog.Reset(stall); report(done) })
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = passes{cause}
		}
		return err
	}
	if total >= 0 && n != total {
		return passes{fmt.Errorf("%d bytes arrived, %d were announced", n, total)}
	}
	report(n)
	if err := errors.Join(file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("fetch: %w: %w", errDisk, err)
	}
	if err := f.Check(file.Name()); err != nil {
		return fmt.Errorf("what arrived is not the file: %w", err)
	}
	return os.Rename(file.Name(), f.Path)
}

// request returns the body of the file at url and its size, -1 where the server does not say.
func (c Client) request(ctx context.Context, url string, most int64) (io.ReadCloser, int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	// Without this line the transport would ask for gzip and unpack it unasked.
	request.Header.Set("Accept-Encoding", "identity")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, 0, passes{err}
	}
	switch code := response.StatusCode; {
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		err = passes{errors.New(response.Status)}
	case code != http.StatusOK:
		err = errors.New(response.Status)
	case strings.HasPrefix(response.Header.Get("Content-Type"), "text/html"):
		err = errors.New("the server sent a web page, not the file")
	case response.ContentLength > most:
		err = fmt.Errorf("the server announces %d bytes: want at most %d", response.ContentLength, most)
	default:
		return response.Body, response.ContentLength, nil
	}
	response.Body.Close()
	return nil, 0, err
}

// receive copies body to file and calls tick when something has arrived, at most ten times a second.
func receive(file *os.File, body io.Reader, most int64, tick func(done int64)) (n int64, err error) {
	tick(0)
	last := time.Now()
	buf := make([]byte, 1<<17)
	for {
		k, err := body.Read(buf)
		if n += int64(k); n > most {
			return n, fmt.Errorf("the server sends more than %d bytes", most)
		}
		if _, err := file.Write(buf[:k]); err != nil {
			return n, fmt.Errorf("fetch: %w: %w", errDisk, err)
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, passes{fmt.Errorf("the connection broke after %d bytes: %w", n, err)}
		}
		if k > 0 && time.Since(last) > 100*time.Millisecond {
			last = time.Now()
			tick(n)
		}
	}
}
