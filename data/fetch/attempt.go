package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// attempt makes one request and adds what arrives to the part. A nil error
// means that the server has sent everything it announced.
func (c Client) attempt(ctx context.Context, f File, p *part, url string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := orDefault(c.Stall, 30*time.Second)
	watchdog := time.AfterFunc(stall, func() {
		cancel(fmt.Errorf("nothing arrived for %v", stall))
	})
	defer watchdog.Stop()

	response, err := c.request(ctx, p, url)
	if err != nil {
		return because(ctx, err)
	}
	defer response.Body.Close()
	total, err := p.accept(response, url)
	if err != nil {
		return err
	}
	if total > f.MaxBytes {
		return permanent{fmt.Errorf("the server announces %d bytes: want at most %d", total, f.MaxBytes)}
	}
	alive := func() { watchdog.Reset(stall) }
	if err := c.receive(f, p, response.Body, total, alive); err != nil {
		return because(ctx, err)
	}
	if total >= 0 && p.size != total {
		return fmt.Errorf("%d bytes arrived, %d were announced", p.size, total)
	}
	return nil
}

// because prefers the reason for a cancellation to "context canceled".
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, errPermanent) {
		return cause
	}
	return err
}

// request asks for the whole file, or for the rest when the part has a
// beginning from the same URL.
func (c Client) request(ctx context.Context, p *part, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, permanent{err}
	}
	// Without this line the transport would ask for gzip and unpack it unasked.
	request.Header.Set("Accept-Encoding", "identity")
	if p.size > 0 && p.from.URL == url {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.size))
		if v := p.from.validator(); v != "" {
			request.Header.Set("If-Range", v)
		}
	}
	return orDefault(c.HTTP, http.DefaultClient).Do(request)
}

// accept prepares the part for the body of a response, and returns the size
// that the complete file will have, -1 when the server does not say.
func (p *part) accept(response *http.Response, url string) (total int64, err error) {
	from := origin{url, response.Header.Get("ETag"), response.Header.Get("Last-Modified")}
	switch code := response.StatusCode; {
	case code == http.StatusOK && strings.HasPrefix(response.Header.Get("Content-Type"), "text/html"):
		return 0, permanent{errors.New("the server sent a web page, not the file")}
	case code == http.StatusOK: // the whole file, asked for or not
		return response.ContentLength, p.restart(from)
	case code == http.StatusPartialContent:
		return p.acceptRest(response.Header.Get("Content-Range"), from)
	case code == http.StatusRequestedRangeNotSatisfiable:
		p.reset()
		return 0, errors.New("the server has no more bytes than the part that was here, which is not complete")
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return 0, errors.New(response.Status)
	default:
		return 0, permanent{errors.New(response.Status)}
	}
}

// acceptRest continues the part if the answer does begin where the part ends,
// and belongs to the same version of the file.
func (p *part) acceptRest(contentRange string, from origin) (total int64, err error) {
	var first, last int64
	total = -1
	n, _ := fmt.Sscanf(contentRange, "bytes %d-%d/%d", &first, &last, &total)
	same := from.ETag == p.from.ETag || from.ETag == "" || p.from.ETag == ""
	if n < 2 || first != p.size || p.size == 0 || !same {
		p.reset()
		return 0, fmt.Errorf("the server answered with other bytes than were asked for (Content-Range %q)", contentRange)
	}
	return total, p.resume()
}

// receive copies the body to the part and reports progress.
func (c Client) receive(f File, p *part, body io.Reader, total int64, alive func()) error {
	name := filepath.Base(f.Path)
	report := func() {
		if c.Progress != nil {
			c.Progress(name, p.size, total)
		}
	}
	report()
	defer report()
	last := time.Now()
	buf := make([]byte, 1<<17)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			alive()
			if p.size+int64(n) > f.MaxBytes {
				p.reset()
				return permanent{fmt.Errorf("the server sends more than %d bytes", f.MaxBytes)}
			}
			if err := p.write(buf[:n]); err != nil {
				return permanent{fmt.Errorf("%w: %w", errHere, err)}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the connection broke after %d bytes: %w", p.size, err)
		}
		if time.Since(last) > 100*time.Millisecond {
			last = time.Now()
			report()
		}
	}
}
