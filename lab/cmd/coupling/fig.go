package main

import (
	"fmt"
	"os"
	"slices"

	"coupling/figures"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/durable"
	"coupling/score/eval/inception"
)

type figCmd struct {
	List figListCmd `cmd:""`
	Make figMakeCmd `cmd:"" default:"withargs"`
}

type figMakeCmd struct {
	Names     []string `arg:"" name:"name"`
	Preset    string   `default:"quick" enum:"smoke,quick,full,paper"`
	Device    string   `default:"auto" env:"COUPLING_DEVICE"`
	Inception string   `env:"COUPLING_INCEPTION" placeholder:"FILE"`
	Workers   int      `default:"0" min:"0"`
	Seed      uint64   `default:"1"`
	Out       string   `default:"out" placeholder:"DIR"`
	Format    []string `default:"png" enum:"png,svg,pdf"`
	Check     bool
	Readme    string `placeholder:"DIR"`
	DryRun    bool
}

// setting is what the flags ask for. With device.ErrNoDevice it is whole too: drawing stored cells needs no device.
func (f *figMakeCmd) setting() (lab.Setting, error) {
	if f.Readme != "" {
		f.Format = append(f.Format, "png") // what it shows
	}
	f.Format = slices.Compact(slices.Sorted(slices.Values(f.Format)))
	if len(f.Format) == 0 {
		return lab.Setting{}, usagef("--format: want png, svg or pdf")
	}
	lab.Check(usage(chooseInception(f.Inception)))
	key, err := chooseDevice(f.Device)
	return lab.Setting{Preset: lab.Preset(f.Preset), Seed: f.Seed, Device: key}, usage(err)
}

// chooseDevice opens what name stands for, to see that it is there, and returns its key, also with
// device.ErrNoDevice. Cells find the device by the key, which is a parameter, and COUPLING_DEVICE.
func chooseDevice(name string) (kind string, err error) {
	dev, err := device.Open(name)
	if err != nil {
		kind, _ = device.KeyOf(name)
		return kind, fmt.Errorf("--device %q: %w", name, err)
	}
	kind = dev.Key()
	lab.Check(prefix(fmt.Sprintf("--device %q", name), dev.Close()))
	if name == "" || name == "auto" {
		name = kind
	}
	return kind, os.Setenv("COUPLING_DEVICE", name)
}

// chooseInception looks whether a file has the weights, and leaves it to figures and their cells.
func chooseInception(file string) error {
	if file == "" {
		return nil
	}
	if _, err := inception.Name(file); err != nil {
		return fmt.Errorf("--inception %q: %w; coupling doctor says how to make it", file, err)
	}
	return os.Setenv(inception.Variable, file)
}

type figListCmd struct{}

func (figListCmd) Run(a *app) error {
	w := table(a.out)
	for _, p := range figures.Papers() {
		fmt.Fprintf(w, "%s\n", p.Title)
		for _, f := range figures.Of(p.Name) {
			fmt.Fprintf(w, "  %s\t%s\t%s\tquick: %s\n", f.Name, duration(f.Seconds[lab.Quick]), f.Title,
				f.Sizes[lab.Quick])
		}
	}
	fmt.Fprintln(w, "Seconds are CPU seconds at quick, estimated.")
	return w.Flush()
}

func writeJSON(a *app, v any) error { return durable.EncodeJSON(a.out, v) }

func (f *figMakeCmd) Run(a *app) error {
	all := slices.Contains(f.Names, "all")
	if all {
		f.Format = append(f.Format, "png") // what the gallery shows
	}
	return f.make(a, orUsage(figures.Select(f.Names...)), all)
}
