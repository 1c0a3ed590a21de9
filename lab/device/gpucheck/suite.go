package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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
	Tests   string `json:"tests"`   // -test.run; empty: it has none
	Bench   string `json:"bench"`   // -test.bench; empty: it has none

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

// suites are the test binaries. Tests that want a device are named so and take it from COUPLING_DEVICE.
var suites = []Suite{
	{Name: "device", Package: "lab/device", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "nn", Package: "lab/nn", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "train", Package: "lab/nn/train", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "arch", Package: "lab/nn/arch", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "ot", Package: "ot", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "eval", Package: "score/eval", Tests: "OnDevice"},
	{Name: "dsm", Package: "score/dsm", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "scones", Package: "score/scones/neural", Tests: "OnDevice", Bench: "OnDevice"},
	{Name: "dpsinkhorn", Package: "dp/synth/dpsinkhorn", Bench: "OnDevice"},
}

// test runs the tests.
func (s *Suite) test(ctx context.Context, c *check) {
	if s.Tests == "" {
		return
	}
	s.part(func() error {
		before := len(s.Failed)
		err := s.exec(ctx, c, "-test.v", "-test.run="+s.Tests, fmt.Sprint("-test.short=", c.short))
		if err == nil && len(s.Failed) == before && s.Passed == 0 {
			err = errors.New("no test ran")
		}
		return err
	})
}

// bench runs the benchmarks, also where a test failed, unless that took the device with it.
func (s *Suite) bench(ctx context.Context, c *check) {
	if s.Bench == "" {
		return
	}
	s.part(func() error {
		if len(s.Failed) > 0 {
			if _, err := describe(c.device); err != nil {
				return fmt.Errorf("no benchmarks: the device is lost: %w", err)
			}
		}
		return s.exec(ctx, c, "-test.run=^$", "-test.bench="+s.Bench, "-test.benchtime="+c.benchTime)
	})
}

// part does one of them; an error that no failed test stands for is a failure of the suite.
func (s *Suite) part(do func() error) {
	fmt.Fprintf(os.Stdout, "== %s\n", s.Name)
	start := time.Now()
	if err := do(); err != nil {
		s.Failed = append(s.Failed, Failure{Test: s.Name, Output: err.Error()})
	}
	s.Seconds += time.Since(start).Seconds()
}

// Times of a test binary: longest, what it has to say before the whole is over, and what it is not worth starting for.
const (
	longest = 30 * time.Minute
	grace   = 5 * time.Second
)

// limit is the longest time of a test binary, 0 for one that is skipped.
func limit(ctx context.Context) time.Duration {
	end, limited := ctx.Deadline()
	switch {
	case ctx.Err() != nil:
		return 0
	case limited:
		return max(0, min(longest, time.Until(end)-grace))
	}
	return longest
}

// exec runs the binary in its package's folder, shows its output and keeps it. A binary whose time is
// over reports the running test; one that is cut off keeps what it has printed.
func (s *Suite) exec(ctx context.Context, c *check, args ...string) error {
	time := limit(ctx)
	if time == 0 {
		return fmt.Errorf("not run: %w", cmp.Or(context.Cause(ctx), context.DeadlineExceeded))
	}
	binary, err := filepath.Abs(filepath.Join(c.bin, s.Name+".test"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, binary, append(args, "-test.timeout="+time.String())...)
	cmd.WaitDelay = grace
	cmd.Dir = filepath.Join(c.root, filepath.FromSlash(s.Package))
	cmd.Env = append(os.Environ(), "COUPLING_DEVICE="+c.device)
	var printed bytes.Buffer
	cmd.Stdout = io.MultiWriter(os.Stdout, &printed)
	cmd.Stderr = cmd.Stdout
	failed := len(s.Failed)
	err = cmd.Run()
	rest := s.read(&printed)
	if ctx.Err() != nil {
		return fmt.Errorf("cut off: %w\n%s", context.Cause(ctx), rest)
	}
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		if len(s.Failed) > failed && !strings.Contains(rest, "panic: ") {
			return nil // the failures say it
		}
		return fmt.Errorf("%w\n%s", err, rest)
	}
	return err
}

// tail is the number of bytes of a failed test's output that the report keeps.
const tail = 4000

// read takes results from the output of a test binary with -test.v, and benchmarks. It returns the
// end of what was printed after the last of them.
func (s *Suite) read(r io.Reader) string {
	var recent strings.Builder
	printed := map[string]string{} // by test
	lines, running := bufio.NewScanner(r), ""
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if b, ok := parseBenchmark(line); ok {
			s.Benchmarks = append(s.Benchmarks, b)
			continue
		}
		if event, ok := strings.CutPrefix(line, "=== "); ok { // RUN, NAME, PAUSE, CONT
			_, running, _ = strings.Cut(event, " ")
			running = strings.TrimSpace(running)
		}
		verdict, test, ok := parseVerdict(line)
		switch {
		case !ok:
			recent.WriteString(line + "\n")
			printed[running] += line + "\n"
			continue
		case verdict == "PASS":
			s.Passed++
		case verdict == "SKIP":
			s.Skipped = append(s.Skipped, test)
		case verdict == "FAIL":
			s.Failed = append(s.Failed, Failure{Test: test, Output: end(printed[test])})
		}
		recent.Reset()
	}
	return end(recent.String())
}

func end(text string) string { return text[max(0, len(text)-tail):] }

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
