package format

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coupling/lab/must"
)

// records makes CIFAR-10 records with the given labels; record i has pixels i.
func records(labels ...byte) []byte {
	var out []byte
	for i, label := range labels {
		out = append(out, label)
		out = append(out, bytes.Repeat([]byte{byte(i)}, CIFARPixels)...)
	}
	return out
}

type entry struct {
	name    string
	content []byte
}

// archive makes a tar file of the given files.
func archive(files ...entry) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		must.Do(w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content))}))
		must.Get(w.Write(f.content))
	}
	must.Do(w.Close())
	return out.Bytes()
}

const (
	meta = "cifar-10-batches-bin/batches.meta.txt"
	one  = "cifar-10-batches-bin/data_batch_1.bin"
	two  = "cifar-10-batches-bin/data_batch_2.bin"
	test = "cifar-10-batches-bin/test_batch.bin"
)

func TestReadCIFAR(t *testing.T) {
	got := must.Get(ReadCIFAR(bytes.NewReader(records(3, 9)), 2))
	if fmt.Sprint(got.Labels) != "[3 9]" || len(got.Pixels) != 2*CIFARPixels || got.Pixels[CIFARPixels] != 1 {
		t.Errorf("labels %v, %d pixels", got.Labels, len(got.Pixels))
	}
	refuse(t, func(r io.Reader) (*CIFAR, error) { return ReadCIFAR(r, 2) }, map[string]bad[[]byte]{
		"empty":     {nil, "truncated: 0 bytes of record 0"},
		"truncated": {records(1, 2)[:cifarRecord+7], "truncated: 7 bytes of record 1, want 3073"},
		"trailing":  {append(records(1, 2), 1), "truncated: 1 bytes of record 2"},
		"label 10":  {records(1, 10), "record 1: label 10"},
		"too many":  {records(1, 2, 3), "more than 2 records"},
	})
}

func TestReadCIFARArchive(t *testing.T) {
	names := []byte("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n")
	in := archive(entry{meta, names}, entry{two, records(1)}, entry{"./" + test, records(2, 3)},
		entry{"cifar-10-batches-bin/readme.html", []byte("<html>")},
		entry{"elsewhere/data_batch_1.bin", []byte("no batch")})
	got := must.Get(ReadCIFARArchive(bytes.NewReader(in)))
	if test := got.Batches["test_batch.bin"]; len(got.Batches) != 2 || got.Batches["data_batch_2.bin"] == nil ||
		test == nil || len(test.Labels) != 2 {
		t.Errorf("batches %+v", got)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, got.Classes); diff != "" {
		t.Error(diff)
	}
}

func TestReadCIFARArchiveRefuses(t *testing.T) {
	good := archive(entry{one, records(1, 2)})
	header := bytes.Clone(good)
	header[150] ^= 0x10 // in the header's checksum
	var link bytes.Buffer
	w := tar.NewWriter(&link)
	must.Do(w.WriteHeader(&tar.Header{Name: one, Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}))
	refuse(t, ReadCIFARArchive, map[string]bad[[]byte]{
		"empty":          {nil, "no batches"},
		"no batches":     {archive(entry{"readme", nil}), "no batches"},
		"twice":          {archive(entry{one, records(1)}, entry{one, records(1)}), "twice"},
		"damaged":        {header, "tar: damaged"},
		"truncated":      {good[:2000], "truncated"},
		"trailing":       {append(bytes.Clone(good), "more"...), "trailing"},
		"symbolic link":  {link.Bytes(), "not a plain file"},
		"bad batch":      {archive(entry{one, records(11)}), "label 11"},
		"cut batch":      {archive(entry{one, records(1)[:99]}), "truncated: 99 bytes"},
		"nine names":     {archive(entry{meta, []byte("a b c d e f g h i")}), "9 classes"},
		"not a tar file": {bytes.Repeat([]byte("<html>"), 400), "tar: damaged"},
	})
}

func FuzzReadCIFAR(f *testing.F) {
	f.Add(records(1, 2))
	f.Add(records(1)[:10])
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := ReadCIFAR(bytes.NewReader(in), 100)
		if err != nil {
			wantBad(t, err)
			return
		}
		if len(got.Labels)*cifarRecord != len(in) || len(got.Pixels) != CIFARPixels*len(got.Labels) {
			t.Errorf("%d labels and %d pixels from %d bytes", len(got.Labels), len(got.Pixels), len(in))
		}
	})
}

func FuzzReadCIFARArchive(f *testing.F) {
	f.Add(archive(entry{meta, []byte("a b c d e f g h i j")}, entry{one, records(1)}))
	f.Add(zip(archive(entry{test, records(1)})))
	f.Add(archive(entry{one, records(1)})[:1000])
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := Gunzip(bytes.NewReader(in))
		if err == nil {
			_, err = ReadCIFARArchive(io.LimitReader(r, 1<<24)) // a gzip bomb costs time, not memory
		}
		if err != nil {
			wantBad(t, err)
		}
	})
}
