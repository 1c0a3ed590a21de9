package data

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coupling/lab/must"
)

// Each folder in turn, the last choice first: putting a file into an earlier
// one hides the later.
func TestSearchOrder(t *testing.T) {
	root := alone(t)
	work := must.Get(os.Getwd())
	env, dir := t.TempDir(), t.TempDir()
	t.Setenv("COUPLING_DATA", env)
	shared := filepath.Join(filepath.Dir(filepath.Dir(work)), "shared", "data")
	for _, step := range []struct {
		folder string
		from   From
	}{{shared, From{}}, {root, From{}}, {env, From{}}, {dir, From{Dir: dir}}} {
		want := filepath.Join(step.folder, "set", "file.gz")
		put(want, nil)
		if got := step.from.find("set", "file.gz", "file"); !sameFile(got, want) {
			t.Errorf("found %q: want %q", got, want)
		}
	}
	if got := (From{Dir: t.TempDir()}).find("set", "file.gz"); got != "" {
		t.Errorf("found %q beside an explicit folder", got)
	}
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

func packedFiles(set string, files map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for name, b := range files {
		out[set+"/"+name+".gz"] = gzipped(b)
	}
	return out
}

// The first use downloads to the cache, the second finds the files there.
func TestDownload(t *testing.T) {
	for name, useEnv := range map[string]bool{"cache": false, "COUPLING_DATA": true} {
		t.Run(name, func(t *testing.T) {
			root := alone(t)
			if useEnv {
				root = filepath.Join(t.TempDir(), "not yet there")
				t.Setenv("COUPLING_DATA", root)
			}
			set, files := tinyMNIST()
			url, requests := serveFiles(t, packedFiles("tiny", files))
			finished := map[string]bool{}
			from := From{Mirrors: []string{url + "/"}, Progress: func(name string, done, total int64) {
				if done == total {
					finished[name] = true
				}
			}}
			m, err := set.load(t.Context(), from, Train)
			checkTinyMNIST(t, m, err)
			if *requests != 2 || !finished["train-images.gz"] || !finished["train-labels.gz"] {
				t.Errorf("%d requests, finished %v", *requests, finished)
			}
			m, err = set.load(t.Context(), From{Offline: true}, Train)
			checkTinyMNIST(t, m, err)
			if !exists(filepath.Join(root, "tiny", "train-images.gz")) {
				t.Error("the files are not where they should be")
			}
		})
	}
}

// A mirror with wrong bytes is passed over; when nobody has the file the error
// says what was tried and what to do.
func TestDownloadFails(t *testing.T) {
	root := alone(t)
	_, files := tinyMNIST()
	wrong := packedFiles("tiny", files)
	wrong["tiny/train-labels.gz"] = gzipped(bytes.Repeat([]byte{1}, 11))
	bad, _ := serveFiles(t, wrong)
	good, _ := serveFiles(t, packedFiles("tiny", files))
	official, _ := serveFiles(t, nil)
	set, _ := tinyMNIST(official + "/x/")

	_, err := set.load(t.Context(), From{Mirrors: []string{bad}}, Train)
	if !errors.Is(err, ErrMissing) {
		t.Errorf("error %v: want ErrMissing", err)
	}
	wantError(t, err, "train-labels.gz", root, bad+"/tiny/train-labels.gz: what arrived is not the file",
		official+"/x/train-labels.gz: 404", "fix: curl", "COUPLING_DATA")

	m, err := set.load(t.Context(), From{Mirrors: []string{bad, good}}, Train)
	checkTinyMNIST(t, m, err)
}

func TestNoDownload(t *testing.T) {
	root := alone(t)
	_, files := tinyMNIST()
	url, requests := serveFiles(t, packedFiles("tiny", files))
	set, _ := tinyMNIST("http://localhost:1/")
	_, err := set.load(t.Context(), From{Mirrors: []string{url}, Offline: true}, Train)
	if !errors.Is(err, ErrMissing) {
		t.Errorf("error %v: want ErrMissing", err)
	}
	wantError(t, err, root, "Offline", "curl -fL --create-dirs -o '"+filepath.Join(root, "tiny",
		"train-labels.gz")+"' http://localhost:1/train-labels.gz")
	dir := t.TempDir()
	_, err = set.load(t.Context(), From{Mirrors: []string{url}, Dir: dir}, Train)
	if !errors.Is(err, ErrMissing) || strings.Contains(err.Error(), root) {
		t.Errorf("error %v: want ErrMissing, and only %s to be mentioned", err, dir)
	}
	wantError(t, err, dir, "From.Dir")
	if *requests != 0 {
		t.Errorf("%d requests: want none", *requests)
	}
}

func TestDownloadIsCancelled(t *testing.T) {
	alone(t)
	set, _ := tinyMNIST()
	server := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := set.load(ctx, From{Mirrors: []string{server.URL}}, Train)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrMissing) {
		t.Errorf("error %v: want the context's", err)
	}
}

// Every data set's files carry a checksum and a size, and an https or http URL.
func TestRemotes(t *testing.T) {
	var remotes []remote
	for _, s := range sets() {
		remotes = append(remotes, s.files...)
	}
	for _, r := range remotes {
		if len(r.sha256)+len(r.content) != 64 || r.maxBytes <= 0 || r.size <= 0 || len(r.bases) < 2 ||
			r.unpacked == "" {
			t.Errorf("%s/%s: %+v", r.set, r.name, r)
		}
		for _, base := range r.bases {
			if !strings.HasPrefix(base, "http") || !strings.HasSuffix(base, "/") {
				t.Errorf("%s: URL %s", r.name, base)
			}
		}
	}
}

func TestStatus(t *testing.T) {
	root := alone(t)
	names := func(all []Presence) (out []string) {
		for _, p := range all {
			out = append(out, p.Name)
		}
		return out
	}
	all := Status(From{})
	if diff := cmp.Diff([]string{"mnist", "fashion-mnist", "usps", "cifar10", "celeba"}, names(all)); diff != "" {
		t.Error(diff)
	}
	for _, p := range all {
		if p.Complete() || len(p.Found) != 0 || p.Fix == "" || !strings.Contains(p.Fix, root) {
			t.Errorf("%+v: want it missing, with the line that gets it", p)
		}
	}

	dir := t.TempDir()
	for _, name := range []string{
		"mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte", "mnist/t10k-images-idx3-ubyte.gz",
		"usps/zip.train.gz", "usps/zip.test", "cifar10-subset/" + cifarSubset,
		"celeba/img_align_celeba/000001.jpg", "celeba/list_attr_celeba.txt", "celeba/list_eval_partition.txt",
	} {
		put(filepath.Join(dir, name), nil)
	}
	all = Status(From{Dir: dir})
	lacks := filepath.Join("mnist", "t10k-labels-idx1-ubyte.gz")
	if p := all[0]; len(p.Found) != 3 || !cmp.Equal(p.Missing, []string{lacks}) || strings.Count(p.Fix, "-o") != 1 {
		t.Errorf("mnist %+v: want %s to be missing", p, lacks)
	}
	for _, i := range []int{2, 3, 4} {
		if p := all[i]; p.Complete() != (p.Name != "cifar10") || (p.Fix == "") != p.Complete() ||
			p.Subset == p.Complete() {
			t.Errorf("%+v: want it complete, or CIFAR-10's subset", p)
		}
	}
	put(filepath.Join(dir, "cifar10", cifarArchive), nil)
	if p := Status(From{Dir: dir})[3]; !p.Complete() || p.Subset {
		t.Errorf("%+v: want the official archive", p)
	}
}

func TestQuotedPathsAreReadBack(t *testing.T) {
	for path, want := range map[string]string{
		"/a b/c":              `'/a b/c'`,
		"/it's":               `'/it'\''s'`,
		"$COUPLING_DATA/usps": `"$COUPLING_DATA/usps"`,
	} {
		if got := quoted(path); got != want {
			t.Errorf("quoted(%s) = %s, want %s", path, got, want)
		}
	}
}
