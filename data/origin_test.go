package data

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// offline makes the process believe that no server answers.
func offline(t *testing.T) {
	old := reachable
	reachable = func() map[string]bool { return nil }
	t.Cleanup(func() { reachable = old; unreachable.Clear() })
}

func TestChoose(t *testing.T) {
	root := alone(t)
	old := reachable
	t.Cleanup(func() { reachable = old; unreachable.Clear() })
	reachable = func() map[string]bool { return map[string]bool{"mnist": true} }
	if got := Choose("mnist"); got != Official || Missing() != nil {
		t.Errorf("Choose = %q, %q missing: want a download", got, Missing())
	}
	if got := Choose("mnist", "usps"); got != Sample {
		t.Errorf("Choose = %q where USPS cannot be had", got)
	}
	if got := Missing(); !slices.Equal(got, []string{"usps"}) {
		t.Errorf("%q missing: want usps", got)
	}
	put(filepath.Join(root, "usps", "zip.train.gz"), nil)
	put(filepath.Join(root, "usps", "zip.test"), nil)
	if got := Choose("mnist", "usps"); got != Official {
		t.Errorf("Choose = %q where USPS is in the cache", got)
	}
	put(filepath.Join(root, "cifar10-subset", cifarSubset), nil)
	if got := Choose("cifar10"); got != Subset {
		t.Errorf("Choose = %q where CIFAR-10's subset is in the cache", got)
	}
	t.Setenv("COUPLING_DATA", "sample")
	if got := Choose("usps"); got != Sample {
		t.Errorf("Choose = %q where samples are asked for", got)
	}
}

// A loader takes no sample that it was not asked for, and needs to be given one that it was.
func TestNoSilentSample(t *testing.T) {
	alone(t)
	offline(t)
	t.Setenv("COUPLING_DATA", "sample")
	calls := 0
	samples := func(string, Split) (*Images, error) { calls++; return New(1, 1, 28, 28) }
	for _, set := range []string{"mnist", "fashion-mnist", "usps", "cifar10"} {
		_, err := LoadNamed(t.Context(), From{Samples: samples}, set, Train)
		if !errors.Is(err, ErrMissing) || calls != 0 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v after %d reads of a sample: want ErrMissing in one line", set, err, calls)
		}
		wantError(t, err, "no server answers", "fix: curl")
		_, err = LoadNamed(t.Context(), From{Origin: Sample}, set, Train)
		wantError(t, err, "From.Samples")
		m, err := LoadNamed(t.Context(), From{Origin: Sample, Samples: samples}, set, Train)
		if err != nil || calls != 1 || m.Name != set+"-sample/train" || len(m.Classes) != 10 {
			t.Errorf("%s: %v", set, err)
		}
		calls = 0
	}
	for _, set := range []string{"mnist", "usps", "cifar10"} {
		_, err := LoadNamed(t.Context(), From{Origin: "samples"}, set, Train)
		wantError(t, err, set, `origin = "samples"`)
	}
	if _, err := LoadNamed(t.Context(), From{}, "minst", Train); err == nil {
		t.Error("an unknown set")
	}
}

func TestProbe(t *testing.T) {
	serve := func(handler http.HandlerFunc) string {
		s := httptest.NewServer(handler)
		t.Cleanup(s.Close)
		return s.URL
	}
	there := serve(func(http.ResponseWriter, *http.Request) {})
	gone := serve(http.NotFound)
	portal := serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	})
	hangs := serve(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	closed := "http://localhost:1/"

	got := probe(t.Context(), http.DefaultClient, map[string][]string{"a": {gone, there}, "b": {hangs, there}})
	if !got["a"] || !got["b"] { // the server that hangs would be waited for without end
		t.Errorf("%v: want both", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got = probe(ctx, http.DefaultClient, map[string][]string{"a": {gone, portal}, "b": {hangs, closed, "no scheme://"}})
	if got["a"] || got["b"] {
		t.Errorf("%v: want neither", got)
	}
}
