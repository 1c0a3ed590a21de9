package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coupling/lab/device"
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
	if !strings.Contains(s.Failed[0].Output, "must be 5") {
		t.Errorf("the failure lost its output: %q", s.Failed[0].Output)
	}
	if diff := cmp.Diff([]string{"TestOnDevice/Graph"}, s.Skipped); diff != "" {
		t.Error(diff)
	}
	want := []Benchmark{{Name: "OnDevice/Gemm/n=1024-16", Count: 120, Metrics: map[string]float64{"ns/op": 9.5e6, "GFLOP/s": 226}}}
	if diff := cmp.Diff(want, s.Benchmarks); diff != "" {
		t.Error(diff)
	}
}

func TestReport(t *testing.T) {
	r := Report{Date: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Device: About{Name: "NVIDIA Test 1", MemoryTotal: 1 << 30}}
	var s Suite
	s.read(strings.NewReader(printed))
	r.Suites = append(r.Suites, s)
	dir := t.TempDir()
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "2026-01-02-0304-nvidia-test-1.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Failed: TestOnDevice/Gemm", "| 9.5ms | 226 GFLOP/s |", "0.0 of 1.0 GiB free"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if r.failed() != 2 {
		t.Errorf("failed = %d: must be 2", r.failed())
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
