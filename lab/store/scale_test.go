package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"
)

// trivial is an experiment that costs nothing, so that what is measured is the
// store.
var trivial = lab.Experiment[point, stats]{Name: "test/trivial", Version: 1,
	Run: func(_ context.Context, c *lab.Cell, p point) (stats, error) {
		return stats{Mean: float64(p.N)}, nil
	}}

func trivialJobs(n int) []store.Job { return trivial.Jobs(1, points(n)...) }

// scale is the number of cells of the large store: LAB_SCALE, or 2,000 so that the
// benchmarks run anywhere. A store of LAB_SCALE_DIR is kept between runs.
func scale(b *testing.B) (*store.Store, []store.Job) {
	b.Helper()
	n, err := strconv.Atoi(os.Getenv("LAB_SCALE"))
	if err != nil {
		n = 2000
	}
	dir := os.Getenv("LAB_SCALE_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	s := must.Get(lab.OpenStore(dir))
	jobs := trivialJobs(n)
	if todo := s.Missing(jobs); len(todo) > 0 {
		const portion = 10_000
		began, done := time.Now(), 0
		for _, err := range (store.Local{}).Run(b.Context(), s, todo) {
			if err != nil {
				b.Fatal(err)
			}
			if done++; done%portion == 0 || done == len(todo) {
				b.Logf("%d cells, the last %.0f a second", done,
					float64((done-1)%portion+1)/time.Since(began).Seconds())
				began = time.Now()
			}
		}
	}
	return s, jobs
}

func perCell(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n*b.N), "µs/cell")
}

// A sweep of cells that cost nothing: directories, lock, scratch, record, syncs.
func BenchmarkTrivialCells(b *testing.B) {
	s := must.Get(lab.OpenStore(b.TempDir()))
	jobs := trivialJobs(b.N)
	b.ResetTimer()
	for _, err := range (store.Local{}).Run(b.Context(), s, jobs) {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// What a cell costs beside others in its directory, which holds 1/256 of the
// experiment. 4,000 beside it are a million cells in all.
func BenchmarkCellBeside(b *testing.B) {
	for _, others := range []int{0, 400, 4000, 40000} {
		b.Run(strconv.Itoa(others), func(b *testing.B) {
			s := must.Get(lab.OpenStore(b.TempDir()))
			dir := filepath.Join(s.Dir, "cells", "test", "trivial", "00")
			must.Do(os.MkdirAll(dir, 0o777))
			for i := range others {
				must.Do(os.WriteFile(filepath.Join(dir, fmt.Sprintf("00%030d.json", i)), nil, 0o666))
			}
			n := 0
			for b.Loop() {
				j := trivial.Jobs(1, point{N: n})[0]
				for j.Record().Key[:2] != "00" {
					n++
					j = trivial.Jobs(1, point{N: n})[0] // some 250 tries of 10 µs
				}
				if _, err := j.Try(b.Context(), s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Everything that is in a large store: what `runs ls` and an export cost.
func BenchmarkList(b *testing.B) {
	s, jobs := scale(b)
	for b.Loop() {
		n := 0
		for _, err := range s.Records("") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n < len(jobs) {
			b.Fatalf("%d of %d", n, len(jobs))
		}
	}
	perCell(b, len(jobs))
}

// What a sweep that was stopped does before it goes on.
func BenchmarkResume(b *testing.B) {
	s, jobs := scale(b)
	for b.Loop() {
		if todo := s.Missing(jobs); len(todo) != 0 {
			b.Fatalf("%d are missing", len(todo))
		}
	}
	perCell(b, len(jobs))
}

// One look of the Slurm executor at what has landed.
func BenchmarkStatuses(b *testing.B) {
	s, jobs := scale(b)
	ids := make([]store.Record, len(jobs))
	for i, j := range jobs {
		ids[i] = j.Record()
	}
	for b.Loop() {
		if seen, err := s.Statuses(ids); err != nil || len(seen) != len(ids) {
			b.Fatalf("%d of %d: %v", len(seen), len(ids), err)
		}
	}
	perCell(b, len(jobs))
}

// A look of the served page: the first, and one at which nothing is new.
func BenchmarkScan(b *testing.B) {
	s, jobs := scale(b)
	var sc *store.Scanner
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			sc = s.Scan()
			for _, err := range sc.Look() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		perCell(b, len(jobs))
	})
	b.Run("idle", func(b *testing.B) {
		for b.Loop() {
			for c, err := range sc.Look() {
				b.Fatal(c.Name, err)
			}
		}
	})
}

// What a cell costs the file system once it is finished: one inode.
func TestInodesOfACell(t *testing.T) {
	s := testStore(t)
	for _, j := range trivialJobs(50) {
		if _, err := j.Try(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	files, size := 0, int64(0)
	err := filepath.WalkDir(filepath.Join(s.Dir, "cells"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if files++; !strings.HasSuffix(path, ".json") {
			t.Errorf("%s is left", path)
		}
		fi, err := d.Info()
		size += fi.Size()
		return err
	})
	if err != nil || files != 50 || size/50 > 1024 {
		t.Errorf("%d files of %d bytes for 50 cells: %v", files, size/50, err)
	}
	t.Logf("%d bytes a cell", size/50)
}
