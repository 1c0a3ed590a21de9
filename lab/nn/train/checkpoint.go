package train

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/safetensors"
)

// Errors of Save and Load to test for with errors.Is.
var (
	// ErrCorrupt is a file that is no checkpoint, is cut short or was changed.
	ErrCorrupt = errors.New("corrupt checkpoint")
	// ErrVersion is a checkpoint in a format that this version does not read.
	ErrVersion = errors.New("unknown version of checkpoint")
	// ErrMismatch is a checkpoint of something else: other names, shapes or types.
	ErrMismatch = errors.New("checkpoint of another run")
)

// Source is a random generator that can be stored: *rand.PCG, *rand.ChaCha8, or a Stream.
type Source interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Stream is a Source of a device's numbers.
type Stream struct{ *device.Stream }

// MarshalBinary returns the stream's seed and position, or the error of its device.
func (s Stream) MarshalBinary() ([]byte, error) {
	seed, position, err := s.State()
	return littleEndian([]uint64{seed, position}, err)
}

// UnmarshalBinary sets both.
func (s Stream) UnmarshalBinary(b []byte) error {
	if len(b) != 16 {
		return fmt.Errorf("%d bytes: want a stream's 16", len(b))
	}
	at := numbers[uint64](b)
	s.Seek(at[0], at[1])
	return nil
}

// Checkpoint lists the parts of a run. Saved, and loaded into the same run in a new process, it goes on as if nothing
// had happened, bit for bit on the same device.
//
//	c := train.Checkpoint{
//		Params:  map[string][]*nn.Param{"net": net.Params(), "adam": opt.State(), "ema": ema.State()},
//		Sources: map[string]train.Source{"batches": pcg, "dropout": train.Stream{stream}},
//	}
type Checkpoint struct {
	Step    int64
	Params  map[string][]*nn.Param
	Sources map[string]Source
}

// Save writes a file in the format safetensors, which NumPy and PyTorch open. It replaces the file
// at once or not at all: it writes .NAME.partial beside it, syncs, renames, and syncs the folder.
// After an error the old file is as it was. A process that is killed leaves the old file and at
// most a .partial, which the next save takes. The file's mode is what the umask leaves of 0666. A
// save takes the memory of the file beside that of the arrays.
func (c *Checkpoint) Save(path string) error {
	s, err := c.snapshot()
	if err == nil {
		err = writeFile(path, s)
	}
	if err != nil {
		return fmt.Errorf("train: saving checkpoint %s: %w", path, err)
	}
	return nil
}

// Load reads the file into the run's arrays and generators. A file that is corrupt or of another run changes nothing,
// nor does a device that has failed; should it fail on the way, its arrays are lost with it, but Step and Sources stay.
func (c *Checkpoint) Load(path string) error {
	data, err := os.ReadFile(path)
	if err == nil {
		var s *snapshot
		if s, err = decode(data); err == nil {
			err = c.restore(s)
		}
	}
	if err != nil {
		return fmt.Errorf("train: loading checkpoint %s: %w", path, err)
	}
	return nil
}

// arrays calls do for each array, groups in the order of their names.
func (c *Checkpoint) arrays(do func(name string, p *nn.Param) error) error {
	for _, group := range slices.Sorted(maps.Keys(c.Params)) {
		for _, p := range c.Params[group] {
			if err := do(group+"/"+p.Name, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// snapshot copies everything to the host.
func (c *Checkpoint) snapshot() (*snapshot, error) {
	s := &snapshot{Step: c.Step, Sources: map[string][]byte{}}
	err := c.arrays(func(name string, p *nn.Param) error {
		data, err := download(p.Value)
		s.Arrays = append(s.Arrays, safetensors.Array{
			Name:  name,
			Type:  fileTypes[p.Value.Type()],
			Shape: p.Value.Shape(),
			Data:  data,
		})
		return err
	})
	for name, source := range c.Sources {
		b, e := source.MarshalBinary()
		s.Sources[name], err = b, errors.Join(err, e)
	}
	return s, err
}

// restore checks everything before it changes anything, and goes on to what cannot fail last.
func (c *Checkpoint) restore(s *snapshot) error {
	stored := map[string]safetensors.Array{}
	for _, a := range s.Arrays {
		stored[a.Name] = a
	}
	if err := c.compare(s, stored); err != nil {
		return err
	}
	if err := c.failed(); err != nil {
		return err
	}
	undo, err := c.restoreSources(s)
	if err != nil {
		return err
	}
	if err := c.upload(s, stored); err != nil {
		return errors.Join(err, undo())
	}
	c.Step = s.Step
	return nil
}

// failed is the first error of the run's devices.
func (c *Checkpoint) failed() error {
	return c.arrays(func(_ string, p *nn.Param) error { return p.Value.Device().Sync() })
}

// upload sets the arrays on devices.
func (c *Checkpoint) upload(s *snapshot, stored map[string]safetensors.Array) error {
	_ = c.arrays(func(name string, p *nn.Param) error {
		upload(p.Value, stored[name].Data)
		return nil
	})
	if err := c.failed(); err != nil {
		return err
	}
	return c.arrays(func(_ string, p *nn.Param) error {
		if p.Restored == nil {
			return nil
		}
		return p.Restored()
	})
}

// compare lists arrays that are missing, too many or of another shape: the first few.
func (c *Checkpoint) compare(s *snapshot, stored map[string]safetensors.Array) error {
	var wrong []error
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	wanted := map[string]bool{}
	_ = c.arrays(func(name string, p *nn.Param) error {
		wanted[name] = true
		a, ok := stored[name]
		switch t := fileTypes[p.Value.Type()]; {
		case !ok:
			add("%s is not in the file", name)
		case a.Type != t || !slices.Equal(a.Shape, p.Value.Shape()):
			add("%s is %s%v in the file, %s%v here", name, a.Type, a.Shape, t, p.Value.Shape())
		}
		return nil
	})
	for _, a := range s.Arrays {
		if !wanted[a.Name] {
			add("%s is in the file, not here", a.Name)
		}
	}
	if got, want := slices.Sorted(maps.Keys(s.Sources)), slices.Sorted(maps.Keys(c.Sources)); !slices.Equal(got, want) {
		add("sources %v in the file, %v here", got, want)
	}
	const shown = 5
	if n := len(wrong); n > shown {
		wrong = append(wrong[:shown], fmt.Errorf("and %d more", n-shown))
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrMismatch, errors.Join(wrong...))
}

// restoreSources puts all generators back, or none; undo takes that back.
func (c *Checkpoint) restoreSources(s *snapshot) (undo func() error, err error) {
	before := map[string][]byte{}
	undo = func() (err error) {
		for name, state := range before {
			err = errors.Join(err, c.Sources[name].UnmarshalBinary(state))
		}
		return err
	}
	for name, source := range c.Sources {
		old, err := source.MarshalBinary()
		if err == nil {
			before[name] = old
			err = source.UnmarshalBinary(s.Sources[name])
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w: source %q: %w", ErrMismatch, name, err), undo())
		}
	}
	return undo, nil
}
