package data

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"

	"coupling/data/format"
)

// checked is an open data file. Its reader returns the unpacked content and hashes it; done reads
// the rest and compares the checksums.
type checked struct {
	path           string
	file           *os.File
	stored, inside hash.Hash
	io.Reader
}

// open opens a file that may be packed by gzip. Reading stops when ctx is
// cancelled, and is refused beyond limit unpacked bytes.
func open(ctx context.Context, path string, limit int64) (*checked, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	c := &checked{path: path, file: file, stored: sha256.New(), inside: sha256.New()}
	unpacked, err := format.Gunzip(io.TeeReader(reader{ctx, file}, c.stored))
	if err != nil {
		file.Close()
		return nil, inFile(path, err)
	}
	c.Reader = io.TeeReader(&limited{unpacked, limit}, c.inside)
	return c, nil
}

// done compares checksums; an empty one is not checked. Call it after the
// content was parsed and before it is used.
func (c *checked) done(stored, inside string) error {
	if _, err := io.Copy(io.Discard, c.Reader); err != nil {
		return inFile(c.path, err)
	}
	if got := hex.EncodeToString(c.stored.Sum(nil)); stored != "" && got != stored {
		return corrupt(c.path, "SHA-256 %s, want %s; remove it to have it downloaded again", got, stored)
	}
	if got := hex.EncodeToString(c.inside.Sum(nil)); inside != "" && got != inside {
		return corrupt(c.path, "SHA-256 of the content %s, want %s; remove it to have it downloaded again", got, inside)
	}
	return nil
}

// parse reads the file at path, which is r or a packing of it, by a parser of its unpacked content;
// if r has checksums, they must match.
func parse[T any](ctx context.Context, path string, r remote, of func(io.Reader) (T, error)) (T, error) {
	var none T
	file, err := open(ctx, path, r.size)
	if err != nil {
		return none, err
	}
	defer file.file.Close()
	v, err := of(file)
	if err != nil {
		return none, inFile(path, err)
	}
	if err := file.done(r.sha256, r.content); err != nil {
		return none, err
	}
	return v, nil
}

// reader stops when its context does.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// limited refuses more than left bytes.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("%w: it holds more than expected", ErrCorrupt)
	}
	return n, err
}
