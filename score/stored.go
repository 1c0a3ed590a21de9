package score

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"coupling/lab/nn/train"
	"coupling/score/internal/resume"

	"gonum.org/v1/gonum/mat"
)

// autosave is the default time between stores. The times of stores do not change results.
const autosave = 10 * time.Second

// checkpointer stores a run of chains while it runs. A checkpointer without a path does nothing.
type checkpointer struct {
	path   string
	every  int
	chain  *Chain
	file   train.Checkpoint
	last   time.Time
	saved  int // the step of the last store, or −1
	origin string
}

// interruption records where an interrupted run began and where it stopped.
type interruption struct {
	path, origin string
	left         string
}

// where is the position of a chain.
func (c *Chain) where() string {
	return fmt.Sprint("seed ", c.Seed, ", ", c.Done, " steps done, at ", resume.Points(c.X))
}

// from identifies the start of the run: the present position, unless this process interrupted a run
// at it.
func (k *checkpointer) from(f Field, sigma float64) (string, error) {
	c, here := k.chain, k.chain.where()
	if b := c.interruption; b != nil && b.path == k.path && b.left == here {
		k.origin = b.origin
		return k.origin, nil
	}
	n, d := c.X.Dims()
	s := mat.NewDense(n, d, nil)
	if err := f.Score(s, c.X, sigma); err != nil {
		return "", err
	}
	k.origin = here + ", of score " + resume.Points(s)
	return k.origin, nil
}

// newCheckpointer makes the checkpointer of a run of c that is about to begin, and moves c to the position of a
// stored run with the same arguments. The run is identified by what, the name of the sampler, by
// the seed, the position of c, and the field's score there at sigma.
func newCheckpointer(path string, every int, what resume.Stamp, f Field, sigma float64, c *Chain,
	t *tally) (*checkpointer, error) {
	k := &checkpointer{path: path, every: every, chain: c, last: time.Now(), saved: -1}
	if every < 0 {
		return nil, fmt.Errorf("score: stored every %d steps: must be ≥ 0: %w", every, ErrParameter)
	}
	if path == "" {
		return k, nil
	}
	from, err := k.from(f, sigma)
	if err != nil {
		return nil, err
	}
	k.file.Sources = map[string]train.Source{"arguments": resume.Of(what, ", ", from), "chain": inPlace{c}, "tally": t}
	switch err := k.file.Load(path); {
	case err == nil:
		k.saved = c.Done
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	return k, nil
}

// due reports whether the run is to be stored after the step done: when it is time, and at the end.
func (k *checkpointer) due(done, total int) bool {
	return done == total || k.every > 0 && done%k.every == 0 ||
		k.every == 0 && k.path != "" && time.Since(k.last) > autosave
}

// save stores the run.
func (k *checkpointer) save() error {
	if k.path == "" || k.saved == k.chain.Done {
		return nil
	}
	k.file.Step = int64(k.chain.Done)
	err := k.file.Save(k.path)
	k.last, k.saved = time.Now(), k.chain.Done
	return err
}

// interrupted stores a run whose context ended, and returns the context's error.
func (k *checkpointer) interrupted(why error) error {
	if k.path == "" {
		return why
	}
	if err := k.save(); err != nil {
		return errors.Join(why, err)
	}
	k.chain.interruption = &interruption{k.path, k.origin, k.chain.where()}
	return why
}

// inPlace is a chain that reads stored points into its existing matrix.
type inPlace struct{ *Chain }

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (p inPlace) UnmarshalBinary(b []byte) error {
	var c Chain
	if err := c.UnmarshalBinary(b); err != nil {
		return err
	}
	n, d := p.X.Dims()
	if a, e := c.X.Dims(); a != n || e != d {
		return fmt.Errorf("score: a stored chain is %d×%d, this one %d×%d: %w", a, e, n, d, ErrShape)
	}
	p.X.Copy(c.X)
	p.Seed, p.Done = c.Seed, c.Done
	return nil
}

// tally is the sum of the mean acceptance probabilities and the number of steps.
type tally struct {
	sum   float64
	steps int
}

// mean is NaN if there were no steps.
func (t *tally) mean() float64 { return t.sum / float64(t.steps) }

// MarshalBinary implements encoding.BinaryMarshaler.
func (t *tally) MarshalBinary() ([]byte, error) {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, math.Float64bits(t.sum)),
		uint64(t.steps)), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (t *tally) UnmarshalBinary(b []byte) error {
	if len(b) != 16 {
		return fmt.Errorf("score: a stored tally has %d bytes, want 16: %w", len(b), ErrShape)
	}
	t.sum, t.steps = math.Float64frombits(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint64(b[8:]))
	return nil
}
