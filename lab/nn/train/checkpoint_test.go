package train_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"
)

// A run that is stopped, stored, and loaded into a new one of another seed goes on as one that never stopped.
func TestResumeExactlyOnDevice(t *testing.T) {
	dev := nntest.InScope(t)
	path := filepath.Join(t.TempDir(), "run.ckpt")
	whole := newRun(dev, 1, 8)
	whole.steps(9)

	first := newRun(dev, 1, 8)
	first.steps(4)
	must.Do(first.Save(path))
	first.steps(1) // what was done after the save does not matter
	second := newRun(dev, 2, 8)
	second.steps(2)
	must.Do(second.Load(path))
	if second.Step != 4 {
		t.Fatalf("step %d, want 4", second.Step)
	}
	second.steps(5)
	if !slices.Equal(second.numbers(t), whole.numbers(t)) {
		t.Error("the resumed run differs from the whole one")
	}
	if err := second.Save(path); err != nil { // over the old one
		t.Fatal(err)
	}
	must.Do(first.Load(path))
	if !slices.Equal(first.numbers(t), whole.numbers(t)) {
		t.Error("the second save differs")
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files left, want 1", len(files))
	}
}

// Bad files are refused with a word on why, and change nothing.
func TestBadCheckpointsChangeNothing(t *testing.T) {
	dev := nntest.InScope(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "run.ckpt")
	r := newRun(dev, 1, 8)
	r.steps(2)
	must.Do(r.Save(path))
	good := must.Get(os.ReadFile(path))
	bad := map[string][]byte{"empty": {}, "a text": []byte(strings.Repeat("not a checkpoint\n", 20)),
		"cut": good[:len(good)-1]}
	other := newRun(dev, 3, 8)
	other.steps(1)
	before := other.numbers(t)
	for name, b := range bad {
		must.Do(os.WriteFile(path, b, 0o600))
		if err := other.Load(path); !errors.Is(err, train.ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want ErrCorrupt with the path", name, err)
		}
	}
	os.WriteFile(path, []byte("CPLCKPT\n of an earlier version"), 0o600)
	if err := other.Load(path); !errors.Is(err, train.ErrVersion) {
		t.Errorf("another version: error %v", err)
	}
	if err := other.Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
	if !slices.Equal(other.numbers(t), before) {
		t.Error("a bad file changed the run")
	}
}

// A checkpoint of another run says in what it differs.
func TestCheckpointOfAnotherRun(t *testing.T) {
	dev := nntest.InScope(t)
	path := filepath.Join(t.TempDir(), "run.ckpt")
	must.Do(newRun(dev, 1, 8).Save(path))
	for _, c := range []struct {
		name   string
		change func(r *run)
		width  int
		want   string
	}{
		{"wider", func(*run) {}, 9, "adam/m/0.weight is F32[8 3] in the file, F32[9 3] here"},
		{"without averages", func(r *run) { delete(r.Params, "ema") }, 8, "ema/0.weight is in the file, not here"},
		{"with more", func(r *run) { r.Params["more"] = r.ema.State() }, 8, "more/0.weight is not in the file"},
		{"no stream", func(r *run) { delete(r.Sources, "dropout") }, 8,
			"sources [batches dropout] in the file, [batches] here"},
		{"a stream of another kind", func(r *run) {
			r.Sources["batches"], r.Sources["dropout"] = r.Sources["dropout"], r.pcg
		}, 8, `source "`},
		{"another source", func(r *run) { r.Sources = map[string]train.Source{"x": r.pcg} }, 8,
			"sources [batches dropout] in the file, [x] here"},
		{"another kind of source", func(r *run) {
			r.Sources["batches"] = rand.NewChaCha8([32]byte{})
		}, 8, `source "batches"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(dev, 2, c.width)
			c.change(r)
			before := slices.Clone(floats(r.net.Params()[0].Value))
			err := r.Load(path)
			if !errors.Is(err, train.ErrMismatch) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwant ErrMismatch with %q", err, c.want)
			}
			if r.Step != 0 || !slices.Equal(before, floats(r.net.Params()[0].Value)) {
				t.Error("it changed the run")
			}
		})
	}
}

// Save names what it cannot do and leaves what was there.
func TestSaveErrors(t *testing.T) {
	dev := nntest.InScope(t)
	r := newRun(dev, 1, 4)
	if err := r.Save(filepath.Join(t.TempDir(), "none", "run.ckpt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: error %v", err)
	}
	twice := train.Checkpoint{Params: map[string][]*nn.Param{"a": append(r.opt.State(), r.opt.State()[0])}}
	path := filepath.Join(t.TempDir(), "twice.ckpt")
	if err := twice.Save(path); err == nil || !strings.Contains(err.Error(), "two arrays") {
		t.Errorf("two arrays of one name: error %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written all the same")
	}
}
