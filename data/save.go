package data

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coupling/data/format"
	"coupling/lab/durable"
)

// about is the information that an NPY file cannot hold, stored beside it as JSON.
type about struct {
	Name    string   `json:"name"`
	Classes []string `json:"classes,omitempty"`
	Lo      float32  `json:"lo"`
	Hi      float32  `json:"hi"`
	Pixels  string   `json:"pixels_sha256"`
	Labels  string   `json:"labels_sha256,omitempty"`
}

// Save writes the images to path, which must end in ".npy", as a float32 array
// [N, C, H, W] that NumPy reads. Beside x.npy it writes x.json with name,
// classes, range and checksums and, when there are labels, x.labels.npy with an
// int64 array [N].
//
// Each file is written under another name, synced and renamed. The checksums bind the files
// together, so that [Load] refuses a mixture of old and new files, which a crash between two
// renames leaves behind.
func (m *Images) Save(path string) error {
	stem, ok := strings.CutSuffix(path, ".npy")
	if !ok {
		return fmt.Errorf("data: save to path = %q: must end in .npy", path)
	}
	if m.Labels != nil && len(m.Labels) != m.n {
		return fmt.Errorf("data: save %s: %d labels for %d images", m.Name, len(m.Labels), m.n)
	}
	labels := make([]int64, len(m.Labels))
	for i, label := range m.Labels {
		labels[i] = int64(label)
	}
	writePixels := func(w io.Writer) error {
		return format.WriteNPY(w, []int{m.n, m.c, m.h, m.w}, m.Pixels())
	}
	writeLabels := func(w io.Writer) error { return format.WriteNPY(w, []int{m.n}, labels) }
	note := about{Name: m.Name, Classes: m.Classes, Lo: m.Lo, Hi: m.Hi, Pixels: digest(writePixels)}
	if m.Labels != nil {
		note.Labels = digest(writeLabels)
	}
	text, err := json.MarshalIndent(note, "", "  ")
	if err != nil {
		return fmt.Errorf("data: save %s: %w", m.Name, err)
	}
	err = durable.Write(stem+".json", append(text, '\n'))
	if err == nil && m.Labels != nil {
		err = durable.WriteFile(stem+".labels.npy", 0o666, writeLabels)
	}
	if err == nil {
		err = durable.WriteFile(path, 0o666, writePixels)
	}
	return err
}

// digest returns the SHA-256 of what write writes.
func digest(write func(io.Writer) error) string {
	hash := sha256.New()
	_ = write(hash) // a hash accepts everything
	return hex.EncodeToString(hash.Sum(nil))
}

// maxValues bounds what Load reads: 2³³ values, 32 GiB of pixels.
const maxValues = 1 << 33

// Load reads images that [Images.Save] or NumPy wrote to path: a float32 array
// [N, C, H, W], or [N, H, W] for one channel. Without an x.json beside x.npy the
// name is that of the file, Lo and Hi are the least and the greatest value, and
// labels are taken from x.labels.npy where there is one. The error wraps
// [ErrCorrupt] when a file is damaged, has another type or shape, or does not
// belong to the others.
func Load(path string) (*Images, error) {
	stem := strings.TrimSuffix(path, ".npy")
	note, err := loadAbout(stem + ".json")
	if err != nil {
		return nil, err
	}
	array, sum, err := loadNPY[float32](path)
	if err != nil {
		return nil, err
	}
	if note != nil && sum != note.Pixels {
		return nil, corrupt(path, "it is not the file that %s.json was written with", filepath.Base(stem))
	}
	m, err := fromArray(path, array)
	if err != nil {
		return nil, err
	}
	if note == nil {
		m.Name = filepath.Base(stem)
		m.setRange()
		if err := m.loadLabels(stem+".labels.npy", "", true); err != nil {
			return nil, err
		}
		return m, nil
	}
	m.Name, m.Classes, m.Lo, m.Hi = note.Name, note.Classes, note.Lo, note.Hi
	if note.Labels == "" {
		return m, nil
	}
	if err := m.loadLabels(stem+".labels.npy", note.Labels, false); err != nil {
		return nil, err
	}
	return m, nil
}

func loadAbout(path string) (*about, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	note := &about{}
	if err := json.Unmarshal(text, note); err != nil {
		return nil, corrupt(path, "%v", err)
	}
	if err := checkRange(note.Lo, note.Hi); err != nil {
		return nil, corrupt(path, "%v", err)
	}
	return note, nil
}

// loadNPY also returns the SHA-256 of the file.
func loadNPY[T format.Element](path string) (*format.NPY[T], string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	hash := sha256.New()
	array, err := format.ReadNPY[T](io.TeeReader(bufio.NewReaderSize(file, 1<<18), hash), maxValues)
	if err != nil {
		return nil, "", inFile(path, err)
	}
	return array, hex.EncodeToString(hash.Sum(nil)), nil
}

func fromArray(path string, array *format.NPY[float32]) (*Images, error) {
	shape := array.Shape
	if len(shape) == 3 {
		shape = []int{shape[0], 1, shape[1], shape[2]}
	}
	if len(shape) != 4 {
		return nil, corrupt(path, "its shape is %v: want [N, C, H, W] or [N, H, W]", array.Shape)
	}
	if err := checkShape(shape[0], shape[1], shape[2], shape[3]); err != nil {
		return nil, corrupt(path, "%v", err)
	}
	return &Images{pixels: array.Data, n: shape[0], c: shape[1], h: shape[2], w: shape[3], Hi: 1}, nil
}

// setRange takes Lo and Hi from the values, if they differ and are finite.
func (m *Images) setRange() {
	if len(m.pixels) == 0 {
		return
	}
	if lo, hi := slices.Min(m.pixels), slices.Max(m.pixels); checkRange(lo, hi) == nil {
		m.Lo, m.Hi = lo, hi
	}
}

func (m *Images) loadLabels(path, sum string, optional bool) error {
	array, got, err := loadNPY[int64](path)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	switch {
	case err != nil:
		return err
	case sum != "" && got != sum:
		return corrupt(path, "it is not the file that was written with the images")
	case !slices.Equal(array.Shape, []int{m.n}):
		return corrupt(path, "its shape is %v: want [%d], as many labels as images", array.Shape, m.n)
	}
	classes := int64(1 << 16)
	if m.Classes != nil {
		classes = int64(len(m.Classes))
	}
	m.Labels = make([]int, m.n)
	for i, label := range array.Data {
		if label < 0 || label >= classes {
			return corrupt(path, "label %d of image %d: want 0 to %d", label, i, classes-1)
		}
		m.Labels[i] = int(label)
	}
	return nil
}
