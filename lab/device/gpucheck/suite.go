package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Suite is one test binary, what of it wants the device, and how it went.
type Suite struct {
	Name    string `json:"name"`    // the binary is Name.test
	Package string `json:"package"` // folder, from the root
	Tests   string `json:"tests"`   // -test.run
	Bench   string `json:"bench"`   // -test.bench

	Passed     int         `json:"passed"`
	Failed     []Failure   `json:"failed,omitempty"`
	Skipped    []string    `json:"skipped,omitempty"`
	Seconds    float64     `json:"seconds"`
	Benchmarks []Benchmark `json:"benchmarks,omitempty"`
}

// Failure is a test that failed, with the end of what it printed.
type Failure struct {
	Test   string `json:"test"`
	Output string `json:"output"`
}

// Benchmark is one line of a benchmark: values by unit.
type Benchmark struct {
	Name    string             `json:"name"`
	Count   int                `json:"count"`
	Metrics map[string]float64 `json:"metrics"`
}

// suites is what is run. Tests that want a device are named so and take it from COUPLING_DEVICE.
var suites = []Suite{
	{Name: "device", Package: "lab/device", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "nn", Package: "lab/nn", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "conv", Package: "lab/nn/internal/conv", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "train", Package: "lab/nn/train", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "arch", Package: "lab/nn/arch", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "ot", Package: "ot", Tests: "OnDevice", Bench: "OnDevice"},
}

// run runs the tests and then, where they pass, the benchmarks.
func (s Suite) run(ctx context.Context, root, bin, device, benchTime string) Suite {
	start := time.Now()
	binary, err := filepath.Abs(filepath.Join(bin, s.Name+".test"))
	if err == nil {
		err = s.exec(ctx, root, binary, device, "-test.v", "-test.run="+s.Tests)
	}
	if err == nil && len(s.Failed) == 0 && s.Passed == 0 {
		err = errors.New("no test ran")
	}
	if err == nil && len(s.Failed) == 0 && benchTime != "0" {
		err = s.exec(ctx, root, binary, device, "-test.run=^$", "-test.bench="+s.Bench, "-test.benchtime="+benchTime)
	}
	if err != nil && len(s.Failed) == 0 {
		s.Failed = append(s.Failed, Failure{Test: s.Name, Output: err.Error()})
	}
	s.Seconds = time.Since(start).Seconds()
	return s
}

// exec runs the binary in its package's folder, shows what it prints and keeps what it says.
func (s *Suite) exec(ctx context.Context, root, binary, device string, args ...string) error {
	cmd := exec.CommandContext(ctx, binary, append(args, "-test.timeout=30m")...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(s.Package))
	cmd.Env = append(os.Environ(), "COUPLING_DEVICE="+device)
	var printed bytes.Buffer
	cmd.Stdout = io.MultiWriter(os.Stdout, &printed)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	s.read(&printed)
	if exit := new(exec.ExitError); errors.As(err, &exit) && len(s.Failed) > 0 {
		return nil // the failures say it
	}
	return err
}

// tail is how much of a failed test's output the report keeps.
const tail = 4000

// read takes results from what a test binary prints with -test.v, and benchmarks.
func (s *Suite) read(r io.Reader) {
	var recent strings.Builder
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if b, ok := parseBenchmark(line); ok {
			s.Benchmarks = append(s.Benchmarks, b)
			continue
		}
		verdict, test, ok := parseVerdict(line)
		switch {
		case !ok:
			recent.WriteString(line + "\n")
			continue
		case verdict == "PASS":
			s.Passed++
		case verdict == "SKIP":
			s.Skipped = append(s.Skipped, test)
		case verdict == "FAIL":
			text := recent.String()
			s.Failed = append(s.Failed, Failure{Test: test, Output: text[max(0, len(text)-tail):]})
		}
		recent.Reset()
	}
}

// parseVerdict reads "    --- PASS: TestX/cuda (0.01s)".
func parseVerdict(line string) (verdict, test string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "--- ")
	if !ok {
		return "", "", false
	}
	verdict, test, ok = strings.Cut(rest, ": ")
	if at := strings.LastIndex(test, " ("); at >= 0 {
		test = test[:at]
	}
	return verdict, test, ok && (verdict == "PASS" || verdict == "FAIL" || verdict == "SKIP")
}

// parseBenchmark reads "BenchmarkX/n=1-16  100  123 ns/op  4.5 GB/s".
func parseBenchmark(line string) (Benchmark, bool) {
	f := strings.Fields(line)
	if len(f) < 4 || len(f)%2 != 0 || !strings.HasPrefix(f[0], "Benchmark") {
		return Benchmark{}, false
	}
	count, err := strconv.Atoi(f[1])
	if err != nil {
		return Benchmark{}, false
	}
	b := Benchmark{Name: strings.TrimPrefix(f[0], "Benchmark"), Count: count, Metrics: map[string]float64{}}
	for i := 2; i < len(f); i += 2 {
		v, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return Benchmark{}, false
		}
		b.Metrics[f[i+1]] = v
	}
	return b, true
}
