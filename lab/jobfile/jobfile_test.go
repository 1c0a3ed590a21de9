package jobfile

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/lab"
	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/lab/store"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type point struct {
	N int `json:"n"`
}

var square = lab.Experiment[point, int]{Name: "test/square", Version: 1,
	Run: func(_ context.Context, _ *lab.Cell, p point) (int, error) {
		if p.N == 13 {
			return 0, errors.New("bad luck")
		}
		return p.N * p.N, nil
	}}

func file(t *testing.T, n int) (path string, jobs []store.Job) {
	for i := range n {
		jobs = append(jobs, square.Jobs(1, point{i})...)
	}
	path = filepath.Join(t.TempDir(), "lines.jsonl")
	must.Do(Write(path, jobs))
	return path, jobs
}

// The tasks of any number share the lines, each line once.
func TestTasksShareLines(t *testing.T) {
	path, jobs := file(t, 23)
	rapid.Check(t, func(t *rapid.T) {
		tasks := rapid.IntRange(1, 23).Draw(t, "tasks")
		var got []string
		for i := range tasks {
			share := must.Get(Jobs(path, i, tasks, []*store.Decoder{square.Decoder()}))
			for _, j := range share {
				got = append(got, string(j.Record().Key))
			}
		}
		var want []string
		for _, j := range jobs {
			want = append(want, string(j.Record().Key))
		}
		slices.Sort(got)
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
	if one, err := Jobs(path, 7, 0, []*store.Decoder{square.Decoder()}); err != nil || len(one) != 1 ||
		string(one[0].Record().Params) != `{"n":7}` {
		t.Errorf("line 7 alone: %v, %v", one, err)
	}
}

func TestBadLinesAreRefused(t *testing.T) {
	path, _ := file(t, 3)
	for _, bad := range []int{-1, 3} {
		if _, err := Jobs(path, bad, 0, nil); err == nil || !strings.Contains(err.Error(), "no such line") {
			t.Errorf("line %d: %v", bad, err)
		}
	}
	if _, err := Jobs(path, 0, 0, nil); err == nil || !strings.Contains(err.Error(), "test/square") {
		t.Errorf("an unknown experiment: %v", err)
	}
	for _, text := range []string{"{", `{"experiment":"test/square","key":""}`,
		`{"experiment":"../x","key":"0123456789abcdef0123456789abcdef"}`} {
		must.Do(os.WriteFile(path, []byte(text), 0o666))
		if _, err := Read(path); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// Do goes on after a failed cell, and not after the end of its context.
func TestDo(t *testing.T) {
	path, _ := file(t, 20)
	s := must.Get(lab.OpenStore(t.TempDir()))
	err := Do(t.Context(), s, path, 1, 4, []*store.Decoder{square.Decoder()}) // 1 5 9 13 17
	if err == nil || !strings.Contains(err.Error(), "bad luck") || len(list(t, s)) != 4 {
		t.Errorf("%d cells stored, want 4: %v", len(list(t, s)), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Do(ctx, s, path, 0, 2, []*store.Decoder{square.Decoder()}); !errors.Is(err, context.Canceled) ||
		len(list(t, s)) != 4 {
		t.Errorf("ended, and yet: %v, %d cells", err, len(list(t, s)))
	}
}

func list(t *testing.T, s *store.Store) (out []store.Record) {
	for r, err := range s.Records("") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// Quote is read back by a shell as it was.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ -~\nä]{0,8}`), 1, 4).Draw(t, "words")
		out, err := exec.Command("sh", "-c", `printf '%s\0' `+Quote(words...)).Output()
		if err != nil || string(out) != strings.Join(words, "\x00")+"\x00" {
			t.Fatalf("%q became %q: %v", words, out, err)
		}
	})
}
