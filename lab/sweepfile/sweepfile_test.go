package sweepfile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"

	"github.com/google/go-cmp/cmp"
)

type noise struct {
	Sigma float64 `json:"sigma"`
}

type params struct {
	N       int     `json:"n"`
	Eps     float64 `json:"eps"`
	Solver  string  `json:"solver"`
	Damping float64 `json:"damping,omitzero"`
	Noise   noise   `json:"noise"`
}

type result struct {
	Loss float64 `json:"loss"`
}

var toy = lab.Experiment[params, result]{Name: "test/toy", Version: 1,
	Run: func(_ context.Context, _ *lab.Cell, p params) (result, error) {
		if p.N == 13 {
			time.Sleep(30 * time.Millisecond)
		}
		return result{Loss: p.Eps * float64(p.N)}, nil
	}}

var decoders = []*store.Decoder{toy.Decoder()}

func cells(text string) (out []string) {
	s := must.Get(Parse("s.yaml", []byte(text), decoders))
	for _, j := range lab.Must(s.All()) {
		r := j.Record()
		out = append(out, fmt.Sprintf("%d %s", r.Seed, r.Params))
	}
	return out
}

func TestDesigns(t *testing.T) {
	got := cells(`
experiment: test/toy
seed: 5
replicates: 2
params: {n: 3, solver: lbfgs, noise.sigma: 0.5}
design:
- grid:
    eps: {from: 0.01, to: 1, count: 3, scale: log}
- list:
  - {solver: lbfgs}
  - {solver: newton, n: 4}
`)
	var want []string
	for _, eps := range []string{"0.01", "0.1", "1"} {
		for _, rest := range []string{`"n":3,"noise":{"sigma":0.5},"solver":"lbfgs"`,
			`"n":4,"noise":{"sigma":0.5},"solver":"newton"`} {
			for _, seed := range []int{5, 6} {
				want = append(want, fmt.Sprintf(`%d {"eps":%s,%s}`, seed, eps, rest))
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A cell that two steps arrive at is there once, and integers stay integers.
func TestCellsAreUnique(t *testing.T) {
	got := cells(`
experiment: test/toy
design:
- list: [{n: 1}, {n: 2}, {n: 1}]
`)
	if len(got) != 2 {
		t.Errorf("%d cells, want 2: %q", len(got), got)
	}
	got = cells(`
experiment: test/toy
design:
- grid: {n: {from: 1, to: 1000, count: 4, scale: log, integer: true}}
`)
	if len(got) != 4 || !strings.Contains(got[3], `"n":1000`) || !strings.Contains(got[1], `"n":10,`) {
		t.Errorf("%q", got)
	}
}

func TestGridsAreRounded(t *testing.T) {
	for _, test := range []struct {
		from, to float64
		s        scale
		want     []any
	}{
		{1e-5, 1, scale{Count: 6, Scale: "log"}, []any{1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0}},
		{0, 1, scale{Count: 11}, []any{0.0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1.0}},
		{3, -2, scale{Count: 9, Integer: true}, []any{int64(3), int64(2), int64(1), int64(0), int64(-1), int64(-2)}},
		{1.0000000000000002, math.MaxFloat64, scale{Count: 2}, []any{1.0000000000000002, math.MaxFloat64}},
	} {
		test.s.From, test.s.To = &test.from, &test.to
		if d := cmp.Diff(test.want, test.s.values()); d != "" {
			t.Error(d)
		}
	}
}

func TestFaultsHaveLines(t *testing.T) {
	for text, want := range map[string]string{
		"experiment: " +
			"test/toy\nsede: 3\n": `s.yaml:2: sweep: unknown key "sede"; did you mean seed?`,
		"experiment: test/toy\nparams:\n  n: 3\n  " +
			"epz: 4\n": "s.yaml:4: lab: test/toy has no parameter epz",
		"experiment: test/toy\nparams:\n  n: " +
			"three\n": "s.yaml:3: lab: parameters of test/toy",
		"experiment: test/toy\nparams:\n  " +
			"noise.sigmo: 3\n": "s.yaml:3: lab: test/toy has no parameter noise.sigmo",
		"experiment: test/boy\n": `s.yaml:1: experiment "test/boy": there is none; did you mean test/toy?`,
		"seed: 1\n":              "s.yaml:1: no experiment",
		"experiment: test/toy\ndesign:\n- gird: {n: " +
			"[1]}\n": `s.yaml:3: design: unknown key "gird"; did you mean grid?`,
		"experiment: test/toy\ndesign:\n- grid: {n: [1]}\n  list: [{n: " +
			"2}]\n": "s.yaml:3: design: 2 kinds in one step",
		"experiment: test/toy\ndesign:\n- {}\n": "s.yaml:3: design: 0 kinds in one step",
		"experiment: test/toy\ndesign:\n- grid:\n    eps: {from: 0, to: 1, count: 3, scale: " +
			"log}\n": "s.yaml:4: eps: from 0 to 1: a logarithmic range is positive",
		"experiment: test/toy\ndesign:\n- grid:\n    eps: {from: 0, " +
			"to: 1}\n": "s.yaml:4: eps: a range needs from, to and a count",
		"experiment: test/toy\ndesign:\n- grid:\n    eps: {from: 0, " +
			"too: 1}\n": `s.yaml:4: eps: unknown key "too"; did you mean to?`,
		"experiment: " +
			"test/toy\nreplicates: 0\n": "s.yaml:2: replicates 0: want 1 or more",
		"experiment: test/toy\nreplicates: " +
			"1.5\n": "s.yaml:2: replicates: want a whole number",
		"experiment: " +
			"test/toy\nseed: -1\n": "s.yaml:2: seed: cannot unmarshal !!int `-1` into uint64",
		"experiment: test/toy\nseed: 1\nseed: 2\n": "s.yaml:3:",
		"experiment: test/toy\nparams: " +
			"{n: }\n": "s.yaml:2: <nil> is no parameter",
		"experiment: [\n": "s.yaml:1:",
		"":                "s.yaml:1:",
		"experiment: test/toy\ndesign:\n- grid: {n: {from: 1, to: 2, count: " +
			"9000000000000}}\n": "s.yaml:3: n: count 9000000000000: at most",
		"experiment: test/toy\ndesign:\n- grid:\n    n: {from: 1, to: 9000, count: 9000}\n    eps: {from: 1, to: " +
			"9000, count: 9000}\n": "s.yaml:1: more than 1000000 cells",
		"experiment: test/toy\ndesign:\n- grid: {n: {from: 1, to: 9000, count: 9000}}\n- grid: {eps: {from: 1, to: " +
			"9, count: 900}}\n": "s.yaml:1: more than 1000000 cells",
		"experiment: test/toy\nreplicates: " +
			"9000000\n": "s.yaml:1: more than 1000000 cells",
		"experiment: test/toy\ndesign:\n- grid:\n    n: {from: 0, to: 9007199254740993, count: 3, integer: " +
			"true}\n": "s.yaml:4: n: from 0 to 9007199254740992: integers of a range are within",
		"experiment: test/toy\nreplicates: 2\nseed: " +
			"18446744073709551615\n": "s.yaml:3: seed 18446744073709551615: 2 replicates go beyond 2^64",
		"#" + strings.Repeat("x",
			mostBytes): "s.yaml:1: it has 1048577 bytes",
	} {
		s, err := Parse("s.yaml", []byte(text), decoders)
		if err == nil {
			_, err = s.All()
		}
		var at *Error
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.As(err, &at) {
			t.Errorf("%q\n gives %v\n want  %s", text, err, want)
		}
	}
}

var digits = regexp.MustCompile(`\d{3}|_|x[0-9a-f]{2}|o\d{2}|b\d{4}|e\+?\d`)

func FuzzParse(f *testing.F) {
	f.Add("experiment: test/toy\ndesign:\n- grid: {n: [1, 2]}\n- list: [{eps: 3}]\n")
	f.Add("experiment: test/toy\nparams: {n: .inf, noise: {sigma: .nan}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if digits.MatchString(text) || len(text) > 300 { // large designs take long, which is no fault
			t.Skip()
		}
		if _, err := Parse("f", []byte(text), decoders); err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("no line: %v", err)
		}
	})
}

func TestEstimate(t *testing.T) {
	s := openStore(t)
	if e := EstimateTime(s, map[string]int{toy.Name: 1}); !strings.Contains(e, "nothing like them") {
		t.Error(e)
	}
	for _, n := range []int{13, 1000, 1001} { // 13 takes 30 ms
		if _, err := toy.Jobs(1, params{N: n, Eps: 1})[0].Try(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	e := EstimateTime(s, map[string]int{toy.Name: 6})
	var about, least, most time.Duration
	text := regexp.MustCompile(`\d+(\.\d+)?(µs|ms|s)`).FindAllString(e, -1)
	if len(text) != 3 || !strings.HasPrefix(e, "6 to compute: about ") || !strings.Contains(e, "the 3 that") {
		t.Fatal(e)
	}
	for i, d := range []*time.Duration{&about, &least, &most} {
		*d, _ = time.ParseDuration(text[i])
	}
	if most < 30*time.Millisecond || least > most || about < 2*most-time.Millisecond ||
		about > 6*most+time.Millisecond {
		t.Error(e)
	}
}

func openStore(t *testing.T) *store.Store {
	return must.Get(lab.OpenStore(t.TempDir()))
}

var bin string // of programs, for all tests

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sweepfile")
	if err != nil {
		panic(err)
	}
	bin = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var cubesOnce = sync.OnceValues(func() (*Program, error) {
	return Build(context.Background(), filepath.Join("testdata", "cubes.go"), bin)
})

// cubes is the program of testdata/cubes.go, built once.
func cubes() *Program {
	return must.Get(cubesOnce())
}

// A Go file is built, asked for its jobs, and computes them.
func TestGoFile(t *testing.T) {
	s := openStore(t)
	p := cubes()
	if len(p.Jobs) != 5 || len(s.Missing(p.Jobs)) != 5 {
		t.Fatalf("%d jobs, %d missing", len(p.Jobs), len(s.Missing(p.Jobs)))
	}
	failed := 0
	for j, err := range (store.Local{Workers: 2}).Run(t.Context(), s, p.Jobs) {
		if err != nil && strings.Contains(err.Error(), "three") {
			failed++
			continue
		}
		r := must.Get(j.Recall(s))
		row, _ := r.Flatten()
		n, _ := store.Number(row["param.n"])
		if v, _ := store.Number(row["value.cube"]); v != n*n*n {
			t.Errorf("%s: %s", r.Params, r.Value)
		}
	}
	if failed != 1 {
		t.Errorf("%d failed, want 1", failed)
	}
	goFilesOfOneName(t, p)
	bad := filepath.Join(t.TempDir(), "bad.go")
	if err := os.WriteFile(bad, []byte("package main\nfunc main() {"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), bad, t.TempDir()); err == nil || !strings.Contains(err.Error(), "bad.go:2") {
		t.Errorf("a broken file: %v", err)
	}
}

// Another file of the same name does not take the place of the first's program,
// and the same file has the same one again.
func goFilesOfOneName(t *testing.T, first *Program) {
	t.Helper()
	dir := filepath.Dir(first.Path)
	other := filepath.Join(t.TempDir(), "cubes.go")
	must.Do(os.WriteFile(other, []byte("package main\nfunc main() {}"), 0o666))
	before, err1 := os.ReadFile(first.Path)
	second, err2 := Build(t.Context(), filepath.Join("testdata", "cubes.go"), dir)
	third, err3 := Build(t.Context(), other, dir)
	after, err4 := os.ReadFile(first.Path)
	must.Do(errors.Join(err1, err2, err3, err4))
	if len(third.Jobs) > 0 || second.Path != first.Path || third.Path == first.Path || !slices.Equal(before, after) {
		t.Errorf("programs %s, %s and %s", first.Path, second.Path, third.Path)
	}
}
