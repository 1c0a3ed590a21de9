package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"coupling/lab"
	"coupling/lab/sweepfile"
)

// This file is also a Go file to sweep, with a main that calls sweepNaps: see TestProcessesShareTheSweep.

type nap struct {
	N int `json:"n"`
}

const naps = 60

// napping notes in $NAPS/log that a cell began, waits until there is $NAPS/go, and sleeps.
var napping = lab.Experiment[nap, nap]{Name: "test/nap", Version: 1,
	Run: func(ctx context.Context, _ *lab.Cell, p nap) (nap, error) {
		dir := os.Getenv("NAPS")
		log := lab.Must(os.OpenFile(filepath.Join(dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666))
		defer log.Close()
		lab.Must(fmt.Fprintln(log, p.N))
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "go")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond)
		return p, ctx.Err()
	}}

// begun lists the cells that began, in that order.
func begun(dir string) (cells []string) {
	if log, err := os.Open(filepath.Join(dir, "log")); err == nil {
		defer log.Close()
		for lines := bufio.NewScanner(log); lines.Scan(); {
			cells = append(cells, lines.Text())
		}
	}
	return cells
}

// sweepNaps is called by the main that the test appends.
var _ = sweepNaps

func sweepNaps() {
	var grid []nap
	for n := range naps {
		grid = append(grid, nap{n})
	}
	sweepfile.Main(napping.Jobs(1, grid...), napping.Decoder())
}
