package data

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"coupling/data/format"

	"gonum.org/v1/gonum/mat"
)

// Points is a matrix of numbers that a file holds, a point in each row.
type Points struct {
	X      *mat.Dense
	Header []string // the names of the columns, where text has them; else nil
	SHA256 string   // of the bytes that were read: the whole file, or archive
}

// String describes the points in a line.
func (p Points) String() string {
	n, d := p.X.Dims()
	text := fmt.Sprintf("%d × %d numbers", n, d)
	if p.Header != nil {
		text += fmt.Sprintf(" (header: %s)", strings.Join(p.Header, ", "))
	}
	return text
}

// ReadPoints reads a matrix of numbers, a point in each row, from an NPY file, from
// a member of an NPZ archive, which is named after a colon (clouds.npz:x), or from text:
// CSV, TSV, or columns between semicolons or blanks, as [format.ReadTable] and
// [format.ReadNPYMatrix] take them. A vector is one column. Which of them a file is
// shows in its first bytes; its name does not matter. The error names the file and,
// for text, line and column; it wraps [ErrCorrupt] where the content is wrong.
// The file is read into memory.
func ReadPoints(path string) (*mat.Dense, error) {
	p, err := LoadPoints(path)
	return p.X, err
}

// LoadPoints is [ReadPoints] with what else is known of the file. The path - is standard input.
func LoadPoints(path string) (Points, error) {
	file, member := splitMember(path)
	var b []byte
	var err error
	if file == "-" {
		b, err = io.ReadAll(os.Stdin)
	} else {
		b, err = os.ReadFile(file)
	}
	if err != nil {
		return Points{}, fmt.Errorf("data: %w", err)
	}
	p, err := parsePoints(b, member)
	if err != nil {
		return Points{}, fmt.Errorf("data: %s: %w", path, err)
	}
	sum := sha256.Sum256(b)
	p.SHA256 = hex.EncodeToString(sum[:])
	return p, nil
}

// splitMember splits archive.npz:name.
func splitMember(path string) (file, member string) {
	at := strings.LastIndex(strings.ToLower(path), ".npz:")
	if at < 0 {
		return path, ""
	}
	return path[:at+4], path[at+5:]
}

// parsePoints reads points of any format. Only an archive has members.
func parsePoints(b []byte, member string) (p Points, err error) {
	var t format.Table
	switch {
	case bytes.HasPrefix(b, []byte("PK\x03\x04")):
		t.Rows, t.Cols, t.Values, err = readMember(b, member)
	case member != "":
		err = fmt.Errorf("%w: it is no NPZ archive, and has no members", ErrCorrupt)
	case bytes.HasPrefix(b, []byte("\x93NUMPY")):
		t.Rows, t.Cols, t.Values, err = format.ReadNPYMatrix(bytes.NewReader(b), math.MaxInt/8)
	default:
		t, err = format.ReadTable(b)
	}
	if err != nil {
		return p, err
	}
	return Points{X: mat.NewDense(t.Rows, t.Cols, t.Values), Header: t.Header}, nil
}

// readMember reads the member NAME.npy of an NPZ archive.
func readMember(b []byte, name string) (rows, cols int, x []float64, err error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return 0, 0, nil, fmt.Errorf("%w: NPZ archive: %w", ErrCorrupt, err)
	}
	var names []string
	for _, f := range z.File {
		have := strings.TrimSuffix(f.Name, ".npy")
		if names = append(names, have); have != name {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return 0, 0, nil, fmt.Errorf("%w: NPZ archive: %w", ErrCorrupt, err)
		}
		defer r.Close()
		return format.ReadNPYMatrix(r, math.MaxInt/8)
	}
	what := fmt.Sprintf("no member %q in the archive", name)
	if name == "" {
		what = "it is an NPZ archive: name a member as in FILE.npz:NAME"
	}
	return 0, 0, nil, fmt.Errorf("%w: %s; it has %s", ErrCorrupt, what, strings.Join(names, ", "))
}
