// Command gpucheck runs on one machine with a GPU what the other tests run without one, and writes one report.
//
// It runs test binaries that were built beside it, so that the machine with the GPU needs no Go:
//
//	make gpu-check                              build and run here
//	make gpu-bins                               build bin/gpu; then, on the machine with the GPU,
//	bin/gpu/gpucheck -out lab/device/testdata/gpu
//
// The suites are the operations of lab/device, the layers of lab/nn and the solvers of ot, each against its float64
// reference, and then their benchmarks. The report is NAME.json and NAME.md, NAME being date and device. Exit status:
// 0 all passed, 1 something failed, 2 there is no GPU.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coupling/lab/device"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	status, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpucheck:", err)
	}
	os.Exit(status)
}

func run(ctx context.Context, args []string) (int, error) {
	flags := flag.NewFlagSet("gpucheck", flag.ContinueOnError)
	name := flags.String("device", "cuda:0", "the GPU, as device.Open names it")
	root := flags.String("root", ".", "the top of the repository, for the tests' data")
	bin := flags.String("bin", "", "folder of the test binaries; empty: where gpucheck lies")
	out := flags.String("out", ".", "folder for the report")
	only := flags.String("suites", "", "comma-separated names of suites; empty: all")
	benchTime := flags.String("benchtime", "1s", "time for each benchmark; 0 for none")
	if err := flags.Parse(args); err != nil {
		return 1, err
	}
	if *bin == "" {
		self, err := os.Executable()
		if err != nil {
			return 1, err
		}
		*bin = filepath.Dir(self)
	}
	about, err := describe(*name)
	if errors.Is(err, device.ErrNoDevice) {
		return 2, fmt.Errorf("this check needs a GPU: %w", err)
	}
	if err != nil {
		return 1, err
	}
	if about.Kind != "cuda" {
		return 2, fmt.Errorf("this check needs a GPU: -device = %s is a %s: must be cuda:N", *name, about.Kind)
	}
	r := Report{Date: time.Now().UTC(), Device: about}
	for _, s := range suites {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), s.Name) {
			continue
		}
		fmt.Fprintf(os.Stdout, "== %s\n", s.Name)
		r.Suites = append(r.Suites, s.run(ctx, *root, *bin, *name, *benchTime))
	}
	if err := r.write(*out); err != nil {
		return 1, err
	}
	if n := r.failed(); n > 0 {
		return 1, fmt.Errorf("%d failed", n)
	}
	return 0, nil
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
