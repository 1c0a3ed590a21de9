package data

import (
	"errors"
	"fmt"

	"coupling/data/format"
)

var (
	// ErrCorrupt is wrapped by the error for a file that was found but is not
	// the file it should be: truncated, damaged, another format, another checksum.
	// It is format.ErrFormat under another name.
	ErrCorrupt = format.ErrFormat
	// ErrMissing is wrapped by the error for a data set that was found nowhere
	// and could not be downloaded.
	ErrMissing = errors.New("data set not found")
)

// corrupt returns an ErrCorrupt that names the file.
func corrupt(path, text string, args ...any) error {
	return fmt.Errorf("data: %s: %w: "+text, append([]any{path, ErrCorrupt}, args...)...)
}

// inFile adds the file's name to an error of its reader, and what to do.
func inFile(path string, err error) error {
	if errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("data: %s: %w; remove it to have it downloaded again", path, err)
	}
	return fmt.Errorf("data: %s: %w", path, err)
}
