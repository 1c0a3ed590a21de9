package score

import (
	"encoding/binary"
	"errors"
	"fmt"
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
		return nil, bad("stored every %d steps: must be ≥ 0", every)
	}
	if path == "" {
		return k, nil
	}
	from, err := k.from(f, sigma)
	if err != nil {
		return nil, err
	}
	k.file.Sources = map[string]train.Source{"arguments": resume.Of(what, ", ", from), "chain": storable{c, t}}
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

// storable is a chain and its tally as a checkpoint holds them: a header and the points.
type storable struct {
	*Chain
	*tally
}

// header is the numbers of a stored chain.
type header struct {
	Seed, Done uint64
	Sum        float64
	Steps      uint64
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (s storable) MarshalBinary() ([]byte, error) {
	b, err := binary.Append(nil, binary.LittleEndian, header{s.Seed, uint64(s.Done), s.sum, uint64(s.steps)})
	if err != nil {
		return nil, err
	}
	x, err := s.X.MarshalBinary()
	return append(b, x...), err
}

// UnmarshalBinary reads stored points into the matrix that the chain has; on an error nothing is changed.
func (s storable) UnmarshalBinary(b []byte) error {
	var h header
	x := new(mat.Dense)
	at, err := binary.Decode(b, binary.LittleEndian, &h)
	if err == nil {
		err = x.UnmarshalBinary(b[at:])
	}
	if err != nil {
		return fmt.Errorf("score: a stored chain: %w", err)
	}
	n, d := s.X.Dims()
	if a, e := x.Dims(); a != n || e != d {
		return misfit("a stored chain is %d×%d, this one %d×%d", a, e, n, d)
	}
	s.X.Copy(x)
	s.Seed, s.Done, s.sum, s.steps = h.Seed, int(h.Done), h.Sum, int(h.Steps)
	return nil
}

// tally is the sum of the mean acceptance probabilities and the number of steps.
type tally struct {
	sum   float64
	steps int
}

// mean is NaN if there were no steps.
func (t *tally) mean() float64 { return t.sum / float64(t.steps) }
