package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"coupling/data/format"
)

// ErrChecksum is wrapped by the error for a file whose content is not the
// expected one.
var ErrChecksum = errors.New("wrong checksum")

// File says what to download, where to put it and how to recognise it. At
// least one of SHA256 and Unpacked must be set.
type File struct {
	Path     string   // where the file shall lie
	URLs     []string // servers that hold it, tried in turn
	SHA256   string   // of the file as it is stored, in hexadecimal; empty: not checked
	Unpacked string   // SHA-256 of what gzip holds (or of a plain file); empty: not checked
	MaxBytes int64    // refuse more than this; must be positive
	// MaxUnpacked bounds what gzip may unpack to when Unpacked is set; zero is
	// 20·MaxBytes.
	MaxUnpacked int64
}

// Verify checks the file at path against the checksums of f. The error wraps
// [ErrChecksum] when the content is not the expected one.
func (f File) Verify(path string) error {
	if f.SHA256 != "" {
		got, err := sum(path, func(r io.Reader) (io.Reader, error) { return r, nil }, f.MaxBytes)
		if err := compare(path, "SHA-256", got, f.SHA256, err); err != nil {
			return err
		}
	}
	if f.Unpacked != "" {
		limit := f.MaxUnpacked
		if limit == 0 {
			limit = 20 * f.MaxBytes
		}
		got, err := sum(path, format.Gunzip, limit)
		return compare(path, "SHA-256 of the unpacked content", got, f.Unpacked, err)
	}
	return nil
}

func compare(path, what, got, want string, err error) error {
	switch {
	case errors.Is(err, format.ErrFormat):
		return fmt.Errorf("%s: %w: %w", path, ErrChecksum, err)
	case err != nil:
		return err
	case !strings.EqualFold(got, want):
		return fmt.Errorf("%s: %w: %s is %s, want %s", path, ErrChecksum, what, got, want)
	}
	return nil
}

// sum returns the SHA-256 of the file at path, seen through a reader.
func sum(path string, through func(io.Reader) (io.Reader, error), limit int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	r, err := through(file)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(r, limit+1))
	if err != nil {
		return "", err
	}
	if n > limit {
		return "", fmt.Errorf("%w: more than %d bytes", format.ErrFormat, limit)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func (f File) check() error {
	switch {
	case f.Path == "":
		return errors.New("fetch: Path is empty")
	case len(f.URLs) == 0:
		return fmt.Errorf("fetch: %s: no URLs", f.Path)
	case f.SHA256 == "" && f.Unpacked == "":
		return fmt.Errorf("fetch: %s: no checksum", f.Path)
	case f.MaxBytes <= 0:
		return fmt.Errorf("fetch: %s: MaxBytes = %d: must be positive", f.Path, f.MaxBytes)
	}
	return nil
}
