package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coupling/lab/device"
	"coupling/lab/must"
)

const printed = `=== RUN   TestOnDevice
=== RUN   TestOnDevice/Gemm
    gemm_test.go:12: c[3] = 4: must be 5
=== RUN   TestOnDevice/Sum
--- FAIL: TestOnDevice (0.10s)
    --- FAIL: TestOnDevice/Gemm (0.01s)
    --- PASS: TestOnDevice/Sum (0.02s)
    --- SKIP: TestOnDevice/Graph (0.00s)
BenchmarkOnDevice/Gemm/n=1024-16         	     120	   9500000 ns/op	       226.0 GFLOP/s
Benchmark results follow
FAIL
`

func TestRead(t *testing.T) {
	var s Suite
	s.read(strings.NewReader(printed))
	if s.Passed != 1 || len(s.Failed) != 2 || s.Failed[1].Test != "TestOnDevice/Gemm" {
		t.Errorf("got %d passed, failed %v", s.Passed, s.Failed)
	}
	if !strings.Contains(s.Failed[1].Output, "must be 5") {
		t.Errorf("the failure lost its output: %q", s.Failed[1].Output)
	}
	if diff := cmp.Diff([]string{"TestOnDevice/Graph"}, s.Skipped); diff != "" {
		t.Error(diff)
	}
	want := []Benchmark{{Name: "OnDevice/Gemm/n=1024-16", Count: 120,
		Metrics: map[string]float64{"ns/op": 9.5e6, "GFLOP/s": 226}}}
	if diff := cmp.Diff(want, s.Benchmarks); diff != "" {
		t.Error(diff)
	}
}

func TestReport(t *testing.T) {
	r := Report{Date: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC),
		Device: About{Info: device.Info{Name: "NVIDIA Test 1"}, MemoryTotal: 1 << 30}}
	var s Suite
	s.read(strings.NewReader(printed))
	r.Suites = append(r.Suites, s)
	dir := t.TempDir()
	must.Do(r.write(dir))
	page := must.Get(os.ReadFile(filepath.Join(dir, "2026-01-02-030400-nvidia-test-1.md")))
	for _, want := range []string{"## Failed: TestOnDevice/Gemm", "| 9.5ms | 226 GFLOP/s |  |", "0.0 of 1.0 GiB free"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if r.failed() != 2 {
		t.Errorf("failed = %d: must be 2", r.failed())
	}
}

// binary writes a test binary that is a script.
func binary(t *testing.T, dir, name, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("scripts stand for test binaries")
	}
	must.Do(os.WriteFile(filepath.Join(dir, name+".test"), []byte("#!/bin/sh\n"+script), 0o755))
}

// scripted is a check of suites that scripts in bin stand for.
func scripted(t *testing.T, names ...string) *check {
	c := &check{root: t.TempDir(), bin: t.TempDir(), device: "cpu", benchTime: "1x", out: t.TempDir()}
	c.report = Report{Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Device: About{Info: device.Info{Name: "G"}}}
	for _, n := range names {
		c.report.Suites = append(c.report.Suites, Suite{Name: n, Package: ".", Tests: "OnDevice", Bench: "OnDevice"})
	}
	return c
}

// written is the report as it lies on the disk.
func written(dir string) (r Report) {
	data := must.Get(os.ReadFile(filepath.Join(dir, "2026-01-02-030405-g.json")))
	must.Do(json.Unmarshal(data, &r))
	return r
}

// A check that is cut off in its second suite has written the first, says where it was, and starts
// nothing more. One whose tests fail is benchmarked all the same, after the tests of all.
func TestCutOff(t *testing.T) {
	c := scripted(t, "first", "second", "third")
	ctx, cut := context.WithCancelCause(t.Context())
	reached := filepath.Join(c.root, "reached")
	binary(t, c.bin, "first", "echo '--- PASS: TestOnDevice (0.1s)'")
	binary(t, c.bin, "second", "echo '--- PASS: TestAOnDevice (0.1s)'; echo at work; touch "+reached+"; exec sleep 60")
	binary(t, c.bin, "third", "touch "+filepath.Join(c.root, "third"))
	early := make(chan Report)
	go func() {
		for {
			if _, err := os.Stat(reached); err == nil {
				early <- written(c.out)
				cut(errors.New("the machine is wanted back"))
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	done := make(chan error)
	go func() { done <- c.all(ctx) }()
	if r := <-early; r.Suites[0].Passed != 1 {
		t.Errorf("while the second suite ran: %+v", r.Suites)
	}
	must.Do(<-done)
	r := written(c.out)
	if s := r.Suites[1]; s.Passed != 1 || len(s.Failed) == 0 ||
		!strings.Contains(s.Failed[0].Output, "cut off: the machine is wanted back\nat work") {
		t.Errorf("the suite that was cut off: %+v", s)
	}
	if s := r.Suites[2]; len(s.Failed) == 0 || !strings.Contains(s.Failed[0].Output, "not run") {
		t.Errorf("the suite after it: %+v", s)
	}
	if _, err := os.Stat(filepath.Join(c.root, "third")); err == nil {
		t.Error("the third suite ran")
	}
}

func TestBenchmarksAfterFailures(t *testing.T) {
	c := scripted(t, "first", "second")
	note := `echo "$(basename $0) $1" >> ` + filepath.Join(c.root, "order") + "\n"
	bench := `case "$1" in '-test.run=^$') echo 'BenchmarkOnDevice/Copy-4 10 100 ns/op'; exit 0;; esac` + "\n"
	binary(t, c.bin, "first", note+bench+"echo wrong; echo '--- FAIL: TestOnDevice (0.1s)'; exit 1")
	binary(t, c.bin, "second", note+bench+"echo '--- PASS: TestOnDevice (0.1s)'; echo 'panic: late'; exit 2")
	must.Do(c.all(t.Context()))
	r := written(c.out)
	for _, s := range r.Suites {
		if len(s.Failed) != 1 || len(s.Benchmarks) != 1 {
			t.Errorf("%+v", s)
		}
	}
	if said := r.Suites[1].Failed[0].Output; !strings.Contains(said, "panic: late") {
		t.Errorf("a binary that ended otherwise: %q", said)
	}
	order, err := os.ReadFile(filepath.Join(c.root, "order"))
	if want := "first.test -test.v\nsecond.test -test.v\nfirst.test -test.run=^$\nsecond.test -test.run=^$\n"; err !=
		nil || string(order) != want {
		t.Errorf("ran %s (%v)", order, err)
	}
	c = scripted(t, "first")
	c.device = "cuda:999"
	binary(t, c.bin, "first", bench+"echo '--- FAIL: TestOnDevice (0.1s)'; exit 1")
	must.Do(c.all(t.Context()))
	if s := written(c.out).Suites[0]; len(s.Benchmarks) != 0 || len(s.Failed) != 2 ||
		!strings.Contains(s.Failed[1].Output, "device is lost") {
		t.Errorf("without its device: %+v", s)
	}
}

// A budget is what binaries get less than, and no binary is started for nothing.
func TestLimit(t *testing.T) {
	if got := limit(t.Context()); got != longest {
		t.Errorf("without a budget: %v", got)
	}
	for _, c := range []struct{ budget, least, most time.Duration }{
		{10 * time.Minute, 9 * time.Minute, 10*time.Minute - grace}, {2 * time.Hour, longest, longest},
		{grace / 2, 0, 0}, {-1, 0, 0},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), c.budget)
		if got := limit(ctx); got < c.least || got > c.most {
			t.Errorf("budget %v: %v", c.budget, got)
		}
		cancel()
	}
}

// A share is the floor by whatever binds, over the time.
func TestShare(t *testing.T) {
	r := Report{Device: About{Info: device.Info{Units: 100, ClockMHz: 1000}}} // 1600 Gexp/s
	var s Suite
	s.read(strings.NewReader(`
BenchmarkOpsOnDevice/Peak/copy-16 	 1	 1 ns/op	 4000 GB/s
BenchmarkOpsOnDevice/Peak/product_float32-16 	 1	 1 ns/op	 50000 GFLOP/s
BenchmarkOpsOnDevice/Peak/product_float64-16 	 1	 1 ns/op	 25000 GFLOP/s
BenchmarkOpsOnDevice/Add-16 	 1	 1 ns/op	 8000000 bytes/call	 4000 ns/call
BenchmarkOpsOnDevice/PointLSE/d=2_float32-16	1	1 ns/op	1600000 exp/call	9600000 flop/call	2000 ns/call
BenchmarkOpsOnDevice/PointLSE/d=64_float32-16	1	1 ns/op	1600000 exp/call	200000000 flop/call	5000 ns/call
BenchmarkOpsOnDevice/PointLSE/d=64_float64-16	1	1 ns/op	1600000 exp/call	200000000 flop/call 10000 ns/call
BenchmarkOpsOnDevice/Upload-16 	 1	 1 ns/op	 3 GB/s	 10000 ns/call
BenchmarkConvOnDevice/unfold-16 	 1	 1 ns/op	 5000 GFLOP/s
BenchmarkOnDevice/half-step/float32/n=4096/d=2-16 	 1	 1 ns/op	 400 Gpairs/s
BenchmarkOnDevice/half-step/float32/n=4096/d=64-16 	 1	 1 ns/op	 100 Gpairs/s
BenchmarkOnDevice/solve-16 	 1	 1 ns/op	 100 Gpairs/s
`))
	r.Suites = []Suite{s}
	p := r.peaks()
	var got []string
	for _, m := range s.Benchmarks[3:] {
		got = append(got, p.share(m))
	}
	want := []string{"50% (memory)", "50% (exponentials)", "80% (products)", "80% (products)", "",
		"10% (products)", "25% (exponentials)", "26% (products)", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if page := r.markdown(); !strings.Contains(page, "| 50% (memory) |") ||
		!strings.Contains(page, "1600 G/s, 16 a cycle of 100") {
		t.Error(page)
	}
}

func TestWarnings(t *testing.T) {
	r := Report{Device: About{Info: device.Info{Detail: "x, products by own kernels", TF32: true}}}
	r.Warnings = warnings(r.Device)
	if page := r.markdown(); len(r.Warnings) != 2 ||
		!strings.Contains(page, "**WARNING: cuBLAS was not found or not wanted") || !strings.Contains(page, "TF32") {
		t.Errorf("%v\n%s", r.Warnings, page)
	}
	if w := warnings(About{Info: device.Info{Detail: "x, products by cuBLAS 120000 (libcublas.so.12)"}}); w != nil {
		t.Error(w)
	}
}

func TestNoDevice(t *testing.T) {
	status, err := run(t.Context(), []string{"-device", "cuda:999", "-out", t.TempDir()})
	if status != 2 || !errors.Is(err, device.ErrNoDevice) {
		t.Errorf("status %d, error %v: must be 2 and ErrNoDevice", status, err)
	}
}

// TestNotAGPU: a report of the processor would say that a GPU was checked.
func TestNotAGPU(t *testing.T) {
	dir := t.TempDir()
	status, err := run(t.Context(), []string{"-device", "cpu", "-out", dir})
	if status != 2 || err == nil || !strings.Contains(err.Error(), "-device = cpu") {
		t.Errorf("status %d, error %v: must be 2 and name the device", status, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("wrote %v (%v)", left, err)
	}
}
