package format

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrFormat is wrapped by every error about a file that does not hold
// what its format promises: wrong magic number, truncated, trailing bytes, a
// value out of range.
var ErrFormat = errors.New("bad file")

func badf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
}

// Gunzip returns a reader of the content of r, unpacked when r starts with the
// gzip magic number 1f 8b and as it is otherwise. Bytes that follow the last
// gzip member are an error when the reader gets there. The error of a damaged
// gzip stream wraps ErrFormat.
func Gunzip(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	head, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
		return buffered, nil
	}
	zipped, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, gzipError(err)
	}
	return gunzipper{zipped}, nil
}

type gunzipper struct{ r *gzip.Reader }

func (g gunzipper) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	return n, gzipError(err)
}

// gzipError marks errors of the stream itself; errors of the reader
// underneath and io.EOF pass unchanged.
func gzipError(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badf("gzip: truncated")
	case errors.Is(err, gzip.ErrHeader):
		return badf("gzip: %w (damaged header, or bytes after the end)", err)
	case errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return badf("gzip: damaged: %w", err)
	}
	return err
}

// readN reads exactly n elements of one byte. The buffer starts small and
// doubles as bytes arrive, so n may come from an untrusted header.
func readN(r io.Reader, n int64, what string) ([]byte, error) {
	const first = 1 << 16
	buf := make([]byte, 0, min(n, first))
	for int64(len(buf)) < n {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, int(min(n-int64(len(buf)), int64(len(buf)))))
		}
		m, err := io.ReadFull(r, buf[len(buf):min(int64(cap(buf)), n)])
		buf = buf[:len(buf)+m]
		if err != nil {
			return nil, short(err, what, int64(len(buf)), n)
		}
	}
	return buf, nil
}

// short turns an early end into an ErrFormat with the number of bytes that are missing.
func short(err error, what string, got, want int64) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badf("truncated: %d bytes of %s, want %d", got, what, want)
	}
	return err
}

// expectEnd refuses anything that is left in r.
func expectEnd(r io.Reader) error {
	var one [1]byte
	switch _, err := io.ReadFull(r, one[:]); err {
	case nil:
		return badf("trailing bytes after the end of the content")
	case io.EOF:
		return nil
	default:
		return err
	}
}

// product multiplies dimensions and refuses negative ones and results above limit.
func product(dims []int, limit int64) (int64, error) {
	if len(dims) > 0 && slices.Min(dims) < 0 {
		return 0, badf("negative dimension in %v", dims)
	}
	if slices.Contains(dims, 0) {
		return 0, nil
	}
	n := int64(1)
	for _, d := range dims {
		if n > limit/int64(d) {
			return 0, badf("dimensions %v hold more than the limit of %d values", dims, limit)
		}
		n *= int64(d)
	}
	return n, nil
}
