package release

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"coupling/dp/internal/check"
)

// Run is one private training: all its releases use one key and are listed in one ledger.
type Run struct {
	Key      Key
	Releases int                     // the number that the event accounts for: Release refuses to make more
	Dir      string                  // folder of the ledger and the checkpoint; empty: neither is kept
	Settings any                     // settings that releases depend on, beside the records and the key; stored as JSON
	Records  func(w io.Writer) error // writes all records, so that the ledger can identify them
	// Trace is called with each release, which is what an attacker sees; for audits. May be nil.
	Trace func(stream string, released []float64)

	ledger *Ledger
	spent  int
	shared int // calls of Close to come that leave the ledger open
}

// Open opens the ledger, if there is a Dir. The error wraps ErrLedger where Dir holds another run,
// or one that made more than Releases, and ErrBusy where another process has it open.
func (r *Run) Open() error {
	if r.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(r.Dir, 0o777); err != nil {
		return err
	}
	of, err := r.identity()
	if err != nil {
		return err
	}
	if r.ledger, err = OpenLedger(filepath.Join(r.Dir, "ledger"), of); err != nil {
		return err
	}
	if err := r.ledger.CanResume(0, r.Releases); err != nil {
		return check.All(err, r.Close())
	}
	return nil
}

// Share returns the run for a part of the training that closes it at its end: the next Close then
// leaves the ledger open.
func (r *Run) Share() *Run {
	r.shared++
	return r
}

// Close closes the ledger, and lets other processes open it.
func (r *Run) Close() error {
	if r.shared > 0 {
		r.shared--
		return nil
	}
	if r.ledger == nil {
		return nil
	}
	return r.ledger.Close()
}

// identity identifies the run: the key by a fingerprint, and the records by a code that reveals
// nothing without the key. Other runs are refused at once. The marks in the ledger refuse
// differences that it does not contain, such as a learning rate's schedule or the rounding of a
// processor.
func (r *Run) identity() (string, error) {
	fingerprint := sha256.Sum256(append([]byte("fingerprint"), r.Key[:]...))
	code := hmac.New(sha256.New, r.Key[:])
	if err := r.Records(code); err != nil {
		return "", err
	}
	line, err := json.Marshal(map[string]any{
		"settings": r.Settings, "records": fmt.Sprintf("%x", code.Sum(nil)[:16]),
		"key": fmt.Sprintf("%x", fingerprint[:8]),
	})
	return string(line), err
}

// Release is the Gaussian mechanism on values that one record moves by at most sensitivity in L2
// norm, with noise of standard deviation sigma (0: none). The noise multiplier is
// sigma/sensitivity·(1−GridMargin) or better. Stream and step name the release; the key, the name
// and the values determine the noise. The error wraps ErrLedger for a release that the event does
// not account for, and for one that differs from the earlier release of the same step.
//
// The noise is drawn while the ledger is synced to the disk, and leaves Release only after that: a
// process that is killed between the two has shown nothing, and one that is killed later finds the
// release in its ledger. No draw is lost or used for other values, since noise is a function of the
// mark. For the same reason it cannot be drawn before the values are there.
func (r *Run) Release(stream string, step int, values []float64, sigma, sensitivity float64) ([]float64, error) {
	if r.spent == r.Releases {
		return nil, fmt.Errorf("release: one more than the %d releases that are accounted for: %w",
			r.Releases, ErrLedger)
	}
	if err := checkGrid(len(values), sigma, sensitivity); err != nil {
		return nil, err
	}
	mark := r.Key.Mark(stream, step, values, sigma)
	listed := make(chan error, 1)
	go func() {
		if r.ledger == nil {
			listed <- nil
			return
		}
		listed <- r.ledger.Spend(r.spent, mark)
	}()
	var err error
	if sigma > 0 {
		values, err = r.Key.Noisy(mark, values, sigma, sensitivity)
	}
	if err := <-listed; err != nil {
		return nil, err
	}
	r.spent++
	if err != nil {
		return nil, err
	}
	if r.Trace != nil {
		r.Trace(stream, values)
	}
	return values, nil
}

// State is the part of a training that is stored to resume it; *train.Checkpoint of lab/nn/train is one.
type State interface {
	Save(path string) error
	Load(path string) error // an error that wraps fs.ErrNotExist where nothing was saved
}

// Loop is the steps of a training. Each of the first Run.Releases makes one release.
type Loop struct {
	Steps int
	Step  func(k int) error
	State State  // nil: a killed run repeats all its steps, with the same releases
	Done  *int64 // the number of steps done, a part of State; nil without one
	Every int    // steps between checkpoints; 0: 100
}

// Loop makes the steps, from where an earlier run in Dir was killed, and saves the State at the end
// and when ctx ends. The error wraps ErrLedger where the checkpoint is of more steps than the
// ledger or the Loop has.
func (r *Run) Loop(ctx context.Context, l Loop) error {
	if l.Done == nil {
		l.Done = new(int64)
	}
	l.Every = cmp.Or(l.Every, 100)
	if err := r.resume(l); err != nil {
		return err
	}
	for int(*l.Done) < l.Steps {
		if err := ctx.Err(); err != nil {
			return check.All(err, r.save(l))
		}
		if err := l.Step(int(*l.Done)); err != nil {
			return err
		}
		if *l.Done++; int(*l.Done)%l.Every == 0 {
			if err := r.save(l); err != nil {
				return err
			}
		}
	}
	return r.save(l)
}

func (r *Run) checkpoint() string { return filepath.Join(r.Dir, "checkpoint") }

func (r *Run) resume(l Loop) error {
	if r.Dir == "" || l.State == nil {
		return nil
	}
	if err := l.State.Load(r.checkpoint()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if int(*l.Done) > l.Steps {
		return fmt.Errorf("release: %s is of step %d, and the run has %d: %w", r.checkpoint(), *l.Done,
			l.Steps, ErrLedger)
	}
	r.spent = min(int(*l.Done), r.Releases)
	return r.ledger.CanResume(r.spent, r.Releases)
}

func (r *Run) save(l Loop) error {
	if r.Dir == "" || l.State == nil {
		return nil
	}
	return l.State.Save(r.checkpoint())
}
