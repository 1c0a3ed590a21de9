package format

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"coupling/lab/must"
)

// zip packs b as gzip does.
func zip(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	must.Get(w.Write(b))
	must.Do(w.Close())
	return out.Bytes()
}

// wantBad checks that err is an ErrFormat that mentions each of the texts.
func wantBad(t *testing.T, err error, texts ...string) {
	t.Helper()
	if !errors.Is(err, ErrFormat) {
		t.Fatalf("error = %v: want one that wraps ErrFormat", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error = %q: want it to mention %q", err, text)
		}
	}
}

// bad are the bytes of a file that is refused, and what the error mentions.
type bad[B string | []byte] struct {
	in   B
	text string
}

// refuse checks that files by their names are refused, and give no values.
func refuse[T any, B string | []byte](t *testing.T, read func(io.Reader) (*T, error), files map[string]bad[B]) {
	for name, f := range files {
		t.Run(name, func(t *testing.T) {
			got, err := read(strings.NewReader(string(f.in)))
			wantBad(t, err, f.text)
			if got != nil {
				t.Error("a refused file gave values")
			}
		})
	}
}

func TestGunzip(t *testing.T) {
	content := bytes.Repeat([]byte("coupling "), 1000)
	packed := zip(content)
	for name, in := range map[string][]byte{"packed": packed, "plain": content} {
		r, err := Gunzip(bytes.NewReader(in))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: read %d bytes, error %v: want %d bytes", name, len(got), err, len(content))
		}
	}

	damaged := bytes.Clone(packed)
	damaged[len(damaged)-6] ^= 1 // in the CRC
	blocks := bytes.Clone(packed)
	blocks[12] ^= 0xff // in the deflate stream
	for name, in := range map[string][]byte{
		"truncated":   packed[:len(packed)-3],
		"only magic":  packed[:5],
		"trailing":    append(bytes.Clone(packed), "garbage after the end"...),
		"wrong CRC":   damaged,
		"bad deflate": blocks,
	} {
		r, err := Gunzip(bytes.NewReader(in))
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error = %v: want ErrFormat", name, err)
		}
	}
}

// A reader's own error is not a bad file.
func TestReadErrorsPass(t *testing.T) {
	broken := errors.New("disk on fire")
	read := map[string]func(io.Reader) error{
		"idx":       func(r io.Reader) error { _, err := ReadIDX(r, 100); return err },
		"usps":      func(r io.Reader) error { _, err := ReadUSPS(r, 100); return err },
		"cifar":     func(r io.Reader) error { _, err := ReadCIFAR(r, 100); return err },
		"archive":   func(r io.Reader) error { _, err := ReadCIFARArchive(r); return err },
		"attribute": func(r io.Reader) error { _, err := ReadCelebAAttributes(r, 100); return err },
		"partition": func(r io.Reader) error { _, err := ReadCelebAPartition(r, 100); return err },
		"npy":       func(r io.Reader) error { _, err := ReadNPY[float32](r, 100); return err },
		"gunzip":    func(r io.Reader) error { _, err := Gunzip(r); return err },
	}
	for name, f := range read {
		if err := f(iotest.ErrReader(broken)); !errors.Is(err, broken) || errors.Is(err, ErrFormat) {
			t.Errorf("%s: error = %v: want the reader's own", name, err)
		}
	}
}

// A header's claim costs no memory: 2^31 images in a file of a few bytes.
func TestClaimsCostNothing(t *testing.T) {
	claims := map[string]func() error{
		"idx": func() error {
			_, err := ReadIDX(strings.NewReader("\x00\x00\x08\x01\x7f\xff\xff\xffabc"), 1<<40)
			return err
		},
		"npy": func() error {
			in := npyHeader([]int{1 << 31, 784}, "<f4") + "abcd"
			_, err := ReadNPY[float32](strings.NewReader(in), 1<<62)
			return err
		},
		"celeba": func() error {
			_, err := ReadCelebAAttributes(strings.NewReader("2000000000\nMale\n000001.jpg 1\n"), 1<<31)
			return err
		},
	}
	for name, claim := range claims {
		wantBad(t, claim(), "truncated")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = claim()
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<19 {
			t.Errorf("%s: %d bytes allocated for a file of a few bytes: want at most 512 KiB", name, got)
		}
	}
}
