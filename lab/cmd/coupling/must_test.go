package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/store"
)

// A command ends by lab.Must with its exit code and one line, not with a panic, before anything is computed.
func TestMustEndsTheCommand(t *testing.T) {
	store, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	lab.Check(os.WriteFile(file, nil, 0o666))
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"runs show 00000000", exitUsage, "not in the store"},
		{"fig no/such", exitUsage, `figure "no/such"`},
		{"sweep two.yaml more.yaml", exitUsage, "two.yaml: a sweep file stands alone"},
		{"sweep one.yaml --seed 2", exitUsage, "--preset and --seed are for figures"},
		{"sweep absent.yaml", exitUsage, "absent.yaml"},
		{"job absent.jsonl 0", exitUsage, "absent.jsonl"},
		{"sweep scones/rate --preset smoke -q --store FILE/store", exitFailed, "cannot be written"},
		{"fig scones/rate --preset smoke -q --out FILE/out", exitUsage, "--out"},
		{"fig scones/rate --preset smoke -q --readme FILE --out " + t.TempDir(), exitUsage, "--readme"},
	} {
		var out, stderr bytes.Buffer
		args := strings.Fields(strings.ReplaceAll(c.args, "FILE", file))
		if code := run(append([]string{"--store", store}, args...), &out, &stderr); code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.args, code, c.code)
		}
		if text := stderr.String(); !strings.HasPrefix(text, "coupling: ") || !strings.Contains(text, c.says) ||
			strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %q, want %q", c.args, text, c.says)
		}
	}
	if computed := lab.Must(os.ReadDir(store)); len(computed) > 0 {
		t.Errorf("%v in the store", computed)
	}
}

// What several codes computed of a cell is named where one must be chosen, and why none is known to be current.
func TestRunsOfSeveralCodes(t *testing.T) {
	s := lab.Must(lab.OpenStore(t.TempDir()))
	e := lab.Experiment[int, int]{
		Name: "test/codes", Run: func(context.Context, *lab.Cell, int) (int, error) { return 0, nil },
	}
	j := e.Jobs(1, 1)[0]
	lab.Must(j.Try(t.Context(), s))
	r := lab.Must(j.Recall(s))
	names := []string{r.Name()}
	for _, digit := range []string{"1", "2"} {
		r.Code = strings.Repeat(digit, 16)
		path := filepath.Join(s.Dir, "cells", r.Experiment, string(r.Key[:2]), r.Name()+".json")
		lab.Check(os.WriteFile(path, lab.Must(r.JSON()), 0o666))
		names = append(names, r.Name())
	}
	t.Chdir(t.TempDir())
	lab.Check(os.WriteFile("go.mod", []byte("module\n"), 0o666)) // which go list refuses
	for command, want := range map[string][]string{
		"runs show " + string(r.Key): names,
		"runs diff " + string(r.Key): names,
		"runs ls":                    {"what code of", "is not known: ", "go.mod:1"},
	} {
		var stderr bytes.Buffer
		run(append([]string{"--store", s.Dir}, strings.Fields(command)...), io.Discard, &stderr)
		for _, w := range want {
			if !strings.Contains(stderr.String(), w) {
				t.Errorf("%s: %s has no %q", command, &stderr, w)
			}
		}
	}
}

type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// What Close finds is told beside the error that ended the prediction: here an array that a network left on the device.
func TestPrintWorkTellsOfClose(t *testing.T) {
	t.Setenv("COUPLING_DEVICE", "cpu")
	leaky := lab.Experiment[int, int]{
		Name: "test/leaky", Run: func(context.Context, *lab.Cell, int) (int, error) { return 0, nil },
		Work: func(_ int, dev *device.Device) lab.Work {
			dev.New(device.Float32, 1)
			return lab.Work{FLOP: 1}
		},
	}
	fig := lab.Figure{Name: "test/leaky", Sizes: map[lab.Preset]string{lab.Smoke: "one"}}
	p := plan{figs: []lab.Figure{fig}, todo: map[string][]store.Job{fig.Name: leaky.Jobs(1, 1)}}
	broken := errors.New("broken pipe")
	err := printWork(&app{out: &checkedWriter{w: full{broken}}}, p, lab.Setting{Preset: lab.Smoke})
	if !errors.Is(err, broken) || !errors.Is(err, device.ErrLeak) {
		t.Errorf("%v, want both the writer's error and the leak", err)
	}
}
