package data

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/data/format"
	"coupling/lab/must"
)

// alone makes a test see no data but what it makes: an empty cache folder, no
// COUPLING_DATA, a working directory without ../shared/data. It returns the
// folder that downloads go to.
func alone(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv("COUPLING_DATA", "")
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("LocalAppData", filepath.Join(dir, "cache"))
	work := filepath.Join(dir, "work", "deep")
	must.Do(os.MkdirAll(work, 0o777))
	t.Chdir(work)
	return must.Get(cache())
}

func put(path string, b []byte) {
	must.Do(os.MkdirAll(filepath.Dir(path), 0o777))
	must.Do(os.WriteFile(path, b, 0o666))
}

func sum(b []byte) string {
	hash := sha256.Sum256(b)
	return hex.EncodeToString(hash[:])
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	must.Get(w.Write(b))
	must.Do(w.Close())
	return out.Bytes()
}

func idx(dims []int, values []byte) []byte {
	out := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, uint32(d))
	}
	return append(out, values...)
}

// tinyMNIST is a data set of MNIST's layout with three training images and one
// test image, whose pixels are all equal to 50·label, and its unpacked files.
func tinyMNIST(bases ...string) (idxSet, map[string][]byte) {
	files := map[string][]byte{}
	set := idxSet{name: "tiny", classes: digits(), parts: map[Split]idxPart{}}
	for split, labels := range map[Split][]byte{Train: {5, 0, 4}, Test: {2}} {
		var pixels []byte
		for _, label := range labels {
			pixels = append(pixels, bytes.Repeat([]byte{50 * label}, 784)...)
		}
		file := func(what string, dims []int, values []byte) remote {
			name := split.String() + what
			files[name] = idx(dims, values)
			return packed("tiny", name, bases, sum(files[name]), int64(len(files[name])))
		}
		set.parts[split] = idxPart{len(labels), file("-images", []int{len(labels), 28, 28}, pixels),
			file("-labels", []int{len(labels)}, labels)}
	}
	return set, files
}

func checkTinyMNIST(t *testing.T, m *Images, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "tiny/train" || fmt.Sprint(m.Labels) != "[5 0 4]" || m.Len() != 3 || m.Lo != 0 || m.Hi != 1 {
		t.Errorf("%s: labels %v, %d images in [%v, %v]", m.Name, m.Labels, m.Len(), m.Lo, m.Hi)
	}
	for i, label := range m.Labels {
		for _, v := range m.Row(i) {
			if v != float32(50*label)/255 {
				t.Fatalf("image %d has the value %v", i, v)
			}
		}
	}
}

// tinyUSPS is a file of two digits, all grey values 0.25 and -1.
func tinyUSPS() (uspsFile, []byte) {
	content := []byte("7.0000" + strings.Repeat(" 0.2500", 256) + " \n3.0000" + strings.Repeat(" -1.0000", 256) + " \n")
	return uspsFile{packed("usps", "zip.tiny", nil, sum(content), int64(len(content))), 2}, content
}

// tinyCIFAR is an archive with the batches named; batch k has the labels k and
// k+1, and pixels that equal the label.
func tinyCIFAR(names ...string) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name string, b []byte) {
		header := &tar.Header{Name: "cifar-10-batches-bin/" + name, Mode: 0o644, Size: int64(len(b))}
		must.Do(w.WriteHeader(header))
		must.Get(w.Write(b))
	}
	add("batches.meta.txt", []byte("airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n"))
	for k, name := range names {
		add(name, cifarRecords(byte(k), byte(k+1)))
	}
	must.Do(w.Close())
	return gzipped(out.Bytes())
}

func cifarRecords(labels ...byte) []byte {
	var out []byte
	for _, label := range labels {
		out = append(out, label)
		out = append(out, bytes.Repeat([]byte{label}, format.CIFARPixels)...)
	}
	return out
}

// serveFiles serves files by their paths and counts requests.
func serveFiles(t *testing.T, files map[string][]byte) (url string, requests *int) {
	requests = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests++
		b, ok := files[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(b)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// realData loads from the folders that From describes, without a download, and
// skips the test where the data set is not there.
func realData(t testing.TB, load func(context.Context, From, Split) (*Images, error), split Split) *Images {
	t.Helper()
	m, err := load(t.Context(), From{Offline: true}, split)
	if errors.Is(err, ErrMissing) {
		t.Skip("the data set is neither in COUPLING_DATA, ../shared/data nor the cache")
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// counts returns the number of images of each class.
func counts(m *Images) []int {
	var out []int
	for _, members := range m.ByClass() {
		out = append(out, len(members))
	}
	return out
}

// moments returns the mean and the standard deviation of all values.
func moments(m *Images) (mean, std float64) {
	var s1, s2 float64
	for _, v := range m.Pixels() {
		s1 += float64(v)
		s2 += float64(v) * float64(v)
	}
	n := float64(m.n * m.Dim())
	return s1 / n, math.Sqrt(s2/n - s1/n*s1/n)
}
