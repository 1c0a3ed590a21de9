package sample

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"coupling/data"
)

//go:embed SHA256SUMS mnist fashion-mnist usps cifar10
var files embed.FS

// From returns where to read images of an origin: it gives [data.MNIST] and the others the samples,
// which they take only where o is [data.Sample].
func From(o data.Origin) data.From {
	return data.From{Origin: o, Samples: func(set string, split data.Split) (*data.Images, error) {
		return read(files, set, split)
	}}
}

// set describes a sample.
type set struct {
	Name        string
	Train, Test int    // images, a tenth in each class
	What        string // the training images
	Channels    int
	Side        int
	Lo          float32 // black; white is 1
	Levels      levels
	Sheet       int // most images of one file
}

// sets returns the four samples.
func sets() []set {
	return []set{
		{Name: "mnist", Train: 6000, Test: 2000, What: "6,000 digits", Channels: 1, Side: 28, Levels: 256, Sheet: 6000},
		{
			Name:     "fashion-mnist",
			Train:    3000,
			Test:     1000,
			What:     "3,000 pictures of clothing",
			Channels: 1,
			Side:     28,
			Levels:   256,
			Sheet:    3000,
		},
		{
			Name:     "usps",
			Train:    2000,
			Test:     1000,
			What:     "2,000 digits",
			Channels: 1,
			Side:     16,
			Lo:       -1,
			Levels:   2001,
			Sheet:    2000,
		},
		{
			Name:     "cifar10",
			Train:    1200,
			Test:     300,
			What:     "1,200 pictures",
			Channels: 3,
			Side:     32,
			Levels:   256,
			Sheet:    600,
		},
	}
}

// find returns the description of a sample.
func find(name string) (set, bool) {
	all := sets()
	i := slices.IndexFunc(all, func(s set) bool { return s.Name == name })
	if i < 0 {
		return set{}, false
	}
	return all[i], true
}

// Note returns the size of the sample of a set, for a picture that was drawn from it, for example
// "sample of 6,000 digits". It is empty for other origins. Figures show it as part of their badge.
func Note(o data.Origin, set string) string {
	s, ok := find(set)
	if o != data.Sample || !ok {
		return ""
	}
	return "sample of " + s.What
}

// Most returns the number of training images of a set that an origin has: most, or fewer in a sample.
func Most(o data.Origin, set string, most int) int {
	if s, ok := find(set); ok && o == data.Sample {
		return min(most, s.Train)
	}
	return most
}

// read returns a sample. The error wraps [data.ErrCorrupt] and names the file that is not as the
// list of checksums has it.
func read(from fs.FS, name string, split data.Split) (*data.Images, error) {
	s, ok := find(name)
	n := map[data.Split]int{data.Train: s.Train, data.Test: s.Test}[split]
	if !ok || n == 0 {
		return nil, fmt.Errorf("sample: %w: there is none of %s, split %v", data.ErrMissing, name, split)
	}
	m, err := data.New(n, s.Channels, s.Side, s.Side)
	if err != nil {
		return nil, err
	}
	m.Lo = s.Lo
	base := name + "/" + split.String()
	text, err := checked(from, base+"-labels.txt")
	if err != nil {
		return nil, err
	}
	for _, c := range strings.Join(strings.Fields(string(text)), "") {
		m.Labels = append(m.Labels, int(c-'0'))
	}
	for k, at := 0, 0; at < n; k++ {
		some := min(n-at, s.Sheet)
		if err := decode(from, fmt.Sprintf("%s-%d.png", base, k), s.Levels, m.Slice(at, at+some)); err != nil {
			return nil, err
		}
		at += some
	}
	return m, nil
}

func decode(from fs.FS, path string, l levels, m *data.Images) error {
	b, err := checked(from, path)
	if err != nil {
		return err
	}
	if err := l.decode(bytes.NewReader(b), m); err != nil {
		return fmt.Errorf("sample: %s: %w: %w", path, data.ErrCorrupt, err)
	}
	return nil
}

// checked returns the content of a file whose checksum is the listed one.
func checked(from fs.FS, path string) ([]byte, error) {
	b, err1 := fs.ReadFile(from, path)
	sums, err2 := fs.ReadFile(from, "SHA256SUMS")
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("sample: %s: %w", path, err)
	}
	got := sha256.Sum256(b)
	line := hex.EncodeToString(got[:]) + "  " + path
	if !slices.Contains(strings.Split(string(sums), "\n"), line) {
		return nil, fmt.Errorf(
			"sample: %s: %w: SHA-256 %x is not the one in SHA256SUMS; fix: git checkout data/sample, and build again",
			path, data.ErrCorrupt, got)
	}
	return b, nil
}
