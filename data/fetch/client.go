package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Client downloads files. The zero value works.
type Client struct {
	HTTP *http.Client // nil: http.DefaultClient
	// Progress is called from Get with the file's name, the bytes that lie on
	// the disk and their final number (-1 where the server does not say): at the
	// start, at most ten times a second, and at the end.
	Progress func(name string, done, total int64)
	Stall    time.Duration // give a connection up after silence; zero: 30 s
	Tries    int           // attempts at one server that bring nothing new; zero: 3
	Pause    time.Duration // before the second attempt, doubled at each; zero: 1 s
}

// Error is the error for a file that no server could give.
type Error struct {
	Path  string
	Tried []Attempt
}

// Attempt is what went wrong with one server.
type Attempt struct {
	URL string
	Err error
}

// Error lists what was tried, a line each.
func (f *Error) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "could not download %s", filepath.Base(f.Path))
	for _, attempt := range f.Tried {
		fmt.Fprintf(&s, "\n  %s: %v", attempt.URL, attempt.Err)
	}
	return s.String()
}

// Unwrap gives errors.Is and errors.As the reasons.
func (f *Error) Unwrap() []error {
	reasons := make([]error, len(f.Tried))
	for i, attempt := range f.Tried {
		reasons[i] = attempt.Err
	}
	return reasons
}

// Get puts f in its place unless it lies there already, and checks it either
// way. When no server could give it, the error is a [*Error]. A cancelled
// download keeps what has arrived for the next call. Concurrent calls for one
// path, in this and in other processes, download once.
func (c Client) Get(ctx context.Context, f File) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
		return err
	}
	unlock, err := lock(ctx, f.Path+".lock")
	if err != nil {
		return fmt.Errorf("fetch: lock for %s: %w", f.Path, err)
	}
	defer unlock()
	if _, err := os.Stat(f.Path); err == nil {
		return f.Verify(f.Path)
	}
	p := openPart(f.Path + ".part")
	defer p.close()
	if p.size > 0 && p.resume() == nil && p.finish(f) == nil {
		return nil // the last call was stopped just before the end
	}
	failure := &Error{Path: f.Path}
	for _, url := range startedFirst(f.URLs, p.from.URL) {
		err := c.mirror(ctx, f, p, url)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("fetch: %s: %w", url, context.Cause(ctx))
		}
		if errors.Is(err, errHere) { // no other server can mend a full disk
			return fmt.Errorf("fetch: %s: %w", f.Path, err)
		}
		failure.Tried = append(failure.Tried, Attempt{url, err})
	}
	return failure
}

// startedFirst puts the server that a left-over part came from in front.
func startedFirst(urls []string, started string) []string {
	urls = slices.Clone(urls)
	if i := slices.Index(urls, started); i > 0 {
		urls = slices.Insert(slices.Delete(urls, i, i+1), 0, started)
	}
	return urls
}

// errHere marks failures of this machine's disk.
var errHere = errors.New("cannot be written here")

// errPermanent marks failures that another attempt at the same server would not mend.
var errPermanent = errors.New("given up")

type permanent struct{ error }

func (permanent) Is(target error) bool { return target == errPermanent }
func (p permanent) Unwrap() error      { return p.error }

// mirror fetches f from one server, with as many attempts as bring something.
func (c Client) mirror(ctx context.Context, f File, p *part, url string) error {
	const most = 100 // attempts, whatever they bring
	pause := orDefault(c.Pause, time.Second)
	barren := 0
	mended := false // a resumed part turned out wrong and was thrown away
	for range most {
		before := p.size
		resumed := before > 0 && p.from.URL == url
		err := c.attempt(ctx, f, p, url)
		if err == nil {
			if err = p.finish(f); err == nil {
				return nil
			}
			p.reset()
			if !errors.Is(err, ErrChecksum) || !resumed || mended {
				return err
			}
			mended = true
			continue
		}
		if ctx.Err() != nil || errors.Is(err, errPermanent) {
			return err
		}
		if barren++; p.size > before {
			barren, pause = 0, orDefault(c.Pause, time.Second)
		}
		if barren >= orDefault(c.Tries, 3) {
			return err
		}
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("the connection broke %d times", most)
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
