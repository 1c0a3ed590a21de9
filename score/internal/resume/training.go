package resume

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
)

// The kinds of error of package score that a run can end with.
var (
	ErrParameter = errors.New("parameter out of range")
	ErrDiverged  = errors.New("chains diverged")
)

// Training is a run of Steps steps of some networks that is stored at Path, where that is not
// empty, every Every steps and at its end.
type Training struct {
	Steps   int
	Path    string
	Every   int
	Rate    float64     // for a message
	Weights []*nn.Param // which must stay finite
	train.Checkpoint
}

// Load goes to where a stored run is, if there is one. One that is further than Steps is of other arguments.
func (t *Training) Load() error {
	if t.Path == "" {
		return nil
	}
	if err := t.Checkpoint.Load(t.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if int(t.Step) > t.Steps {
		return fmt.Errorf("%s is %d steps far, the run has %d: %w", t.Path, t.Step, t.Steps, ErrParameter)
	}
	return nil
}

// After stores the run after so many steps where it is time. A run whose weights are not finite
// leaves its last good checkpoint.
func (t *Training) After(step int) error {
	t.Step = int64(step)
	if (t.Path == "" || step%t.Every != 0) && step != t.Steps {
		return nil
	}
	for _, p := range t.Weights {
		if err := t.finite(p); err != nil {
			return err
		}
	}
	if t.Path == "" {
		return nil
	}
	return t.Save(t.Path)
}

// finite returns an error where the sum of squares of a parameter is not finite, in its own type.
func (t *Training) finite(p *nn.Param) error {
	sum := p.Value.Device().New(p.Value.Type(), 1, 1)
	defer sum.Free()
	device.Reduce(sum, p.Value.Reshape(1, p.Value.Len()), device.SumSquares)
	v, err := sum.Float64s()
	if err == nil && (math.IsNaN(v[0]) || math.IsInf(v[0], 0)) {
		err = fmt.Errorf("after %d steps weights are not finite, %s first: the rate %g is too large: %w", t.Step,
			p.Name, t.Rate, ErrDiverged)
	}
	return err
}

// Run makes the steps that are left, from 0.
func (t *Training) Run(ctx context.Context, step func(k int) error) error {
	if err := t.Load(); err != nil {
		return err
	}
	for k := int(t.Step); k < t.Steps; k++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(k); err != nil {
			return fmt.Errorf("step %d: %w", k+1, err)
		}
		if err := t.After(k + 1); err != nil {
			return err
		}
	}
	return nil
}
