package nb

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/internal/interrupt"
	"coupling/lab/store"
)

// Context returns the context of this cell, which ends when the cell is interrupted.
var Context = sync.OnceValue(func() context.Context {
	ctx, _ := interrupt.Context(context.Background(), os.Interrupt) // for as long as the cell lives
	return ctx
})

// Store returns the store that a checkout's notebooks, scripts and commands share: [lab.OpenStore].
var Store = sync.OnceValue(func() *store.Store { return Must(lab.OpenStore("")) })

// Setting returns the size and device of this notebook's figures, of seed 1: $COUPLING_PRESET (smoke, quick, full or
// paper; default quick) and $COUPLING_DEVICE (default cpu). In a notebook, %env sets them.
func Setting() lab.Setting { return Must(setting()) }

func setting() (set lab.Setting, err error) {
	set = lab.Setting{Preset: lab.Quick, Seed: 1, Device: "cpu"}
	if v := os.Getenv("COUPLING_PRESET"); v != "" {
		if set.Preset, err = lab.ParsePreset(v); err != nil {
			return set, fmt.Errorf("COUPLING_PRESET: %w", err)
		}
	}
	if v := os.Getenv("COUPLING_DEVICE"); strings.HasPrefix(v, "cuda") {
		if set.Device, err = device.KeyOf(v); err != nil {
			return set, fmt.Errorf("COUPLING_DEVICE: %w", err)
		}
	}
	return set, nil
}

// AtPreset returns the value for the notebook's preset, for sizes in your own cells:
// nb.AtPreset(50, 500, 2000). The paper preset takes the full one.
func AtPreset[T any](smoke, quick, full T) T {
	return lab.Pick(Setting().Preset, smoke, quick, full, full)
}

// Check ends the cell, which fails, with err's message if err is not nil. What it has shown stays.
func Check(err error) {
	if err == nil {
		return
	}
	screen.sync()
	fmt.Fprintf(os.Stderr, "error: %v\n", err)
	os.Exit(1)
}

// Must returns v, or ends the cell as [Check] does. In an experiment's Run and in [Live.Draw] use
// lab.Must, which ends only that.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}
