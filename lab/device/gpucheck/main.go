// Command gpucheck runs on one machine with a GPU what the other tests run without one, and writes one report.
//
// It runs test binaries that were built beside it, so that the machine with the GPU needs no Go:
//
//	make gpu-check                              build and run here
//	make gpu-bins                               build bin/gpu; then, on the machine with the GPU,
//	bin/gpu/gpucheck -out lab/device/testdata/gpu
//	make gpu-pack                               bin/gpu-pack.tar.xz: these, the command, and a script that runs them
//
// The script of the archive, pack/run.sh, also times PyTorch on the same device
// (pack/torch_rows.py) and draws the network figures at the papers' sizes. Its results.tar.gz holds
// reports, pictures and a store: with cp -r results/store/cells .coupling/ here, coupling fig
// --preset paper --device cuda draws from its cells anywhere, and pages name device and date.
//
// The suites are the operations of lab/device, the layers of lab/nn and the solvers of ot, each
// against its float64 reference, then the trainings on top of them, and after all tests the
// benchmarks. The report is NAME.json and NAME.md, NAME being date and device; it is written anew
// after each suite, so that a check that is cut off, by a signal or by -budget, has reported what
// was done. Products are those of cuBLAS, at COUPLING_CUBLAS or where it usually is; without it
// the report's head warns of that. Exit status: 0 all passed, 1 something failed or was cut off, 2 there is
// no GPU.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"coupling/lab/device"
	"coupling/lab/internal/interrupt"
)

func main() {
	ctx, stop := interrupt.Context(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpucheck:", err)
	}
	os.Exit(status)
}

func run(ctx context.Context, args []string) (int, error) {
	flags := flag.NewFlagSet("gpucheck", flag.ContinueOnError)
	var c check
	flags.StringVar(&c.device, "device", "cuda:0", "the GPU, as device.Open names it")
	flags.StringVar(&c.root, "root", ".", "the top of the repository, for the tests' data")
	flags.StringVar(&c.bin, "bin", "", "folder of the test binaries; empty: where gpucheck lies")
	flags.StringVar(&c.out, "out", ".", "folder for the report")
	only := flags.String("suites", "", "comma-separated names of suites; empty: all")
	flags.BoolVar(&c.benchOnly, "benchonly", false, "only benchmarks, where tests have a report of their own")
	flags.StringVar(&c.benchTime, "benchtime", "1s", "time for each benchmark; 0 for none")
	flags.BoolVar(&c.short, "short", false, "only what the tests do when they are short, as on the emulator")
	budget := flags.Duration("budget", 0,
		"time for everything, after which what is left is reported as not run; 0 is no limit")
	if err := flags.Parse(args); err != nil {
		return 1, err
	}
	if *budget > 0 {
		limited, cancel := context.WithTimeout(ctx, *budget)
		defer cancel()
		ctx = limited
	}
	if c.bin == "" {
		self, err := os.Executable()
		if err != nil {
			return 1, err
		}
		c.bin = filepath.Dir(self)
	}
	about, err := describe(c.device)
	if errors.Is(err, device.ErrNoDevice) {
		return 2, fmt.Errorf("this check needs a GPU: %w", err)
	}
	if err != nil {
		return 1, err
	}
	if about.Kind != "cuda" {
		return 2, fmt.Errorf("this check needs a GPU: -device = %s is a %s: must be cuda:N", c.device, about.Kind)
	}
	c.report = Report{Date: time.Now().UTC(), Device: about, Warnings: warnings(about)}
	for _, w := range c.report.Warnings {
		fmt.Fprintf(os.Stdout, "WARNING: %s\n", w)
	}
	for _, s := range suites {
		if *only == "" || slices.Contains(strings.Split(*only, ","), s.Name) {
			c.report.Suites = append(c.report.Suites, s)
		}
	}
	if err := c.all(ctx); err != nil {
		return 1, err
	}
	fmt.Fprintf(os.Stdout, "report: %s.json and .md\n", filepath.Join(c.out, c.report.name()))
	if n := c.report.failed(); n > 0 {
		return 1, fmt.Errorf("%d failed", n)
	}
	return 0, nil
}

// check is a report that is being made, and how.
type check struct {
	root, bin, device, benchTime, out string
	benchOnly, short                  bool
	report                            Report
}

// all runs the tests of every suite and then the benchmarks of every suite, and writes the report after each.
func (c *check) all(ctx context.Context) error {
	if err := c.report.write(c.out); err != nil {
		return err // now, not after an hour
	}
	var parts []func(*Suite, context.Context, *check)
	if !c.benchOnly {
		parts = append(parts, (*Suite).test)
	}
	if c.benchTime != "0" {
		parts = append(parts, (*Suite).bench)
	}
	for _, part := range parts {
		for i := range c.report.Suites {
			part(&c.report.Suites[i], ctx, c)
			if err := c.report.write(c.out); err != nil {
				return err
			}
		}
	}
	return nil
}

// warnings lists reasons to trust the report less.
func warnings(a About) (all []string) {
	if strings.Contains(a.Detail, "products by own kernels") {
		all = append(all,
			"cuBLAS was not found or not wanted: every product below is by our own kernels. COUPLING_CUBLAS names "+
				"its path.")
	}
	if a.TF32 {
		all = append(all,
			"products round their factors to TF32 (NVIDIA_TF32_OVERRIDE): tolerances of float32 will not hold.")
	}
	return all
}

// describe opens the device and closes it again.
func describe(name string) (About, error) {
	d, err := device.Open(name)
	if err != nil {
		return About{}, err
	}
	free, total, err := d.Memory()
	return about(d.Info(), free, total), errors.Join(err, d.Close())
}
