package sgd

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/release"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
)

// ErrParameter marks a parameter outside its range, for errors.Is. It is the one of package dp.
var ErrParameter = dp.ErrParameter

const in = check.In("sgd")

var bad = in.Bad

// Training is DP-SGD with its settings.
type Training struct {
	Net       nn.Layer // not initialised; layers that mix examples or drop out are refused
	Objective Objective
	Clip      float64 // bound of a record's gradient in L2, > 0
	// NoiseMultiplier is the noise's standard deviation over Clip. 0: clipped gradients without
	// noise, and no privacy. Calibrate sets it.
	NoiseMultiplier float64
	Rate            float64 // probability of a record to be in a step's batch, in (0, 1]; 0 where Epoch is given
	// Epoch, if not 0, is the number of steps in an epoch of random allocation, in place of Poisson
	// batches: each record is in Selected (0: 1) steps of every epoch, drawn for each record by
	// itself. See dp.Allocation for what that costs. Steps must be whole epochs.
	Epoch, Selected int
	// Batch is what noisy sums are divided by, > 0: the size of the batch that is expected, Rate times
	// a public number of records, exact or about. It must not be computed from a number of records
	// that is private: see Sensitivity and neighbours.
	Batch     float64
	Steps     int
	Optimiser Optimiser      // such as train.Adam{Rate: 1e-3} or train.SGD{Rate: .1}
	Schedule  train.Schedule // of the learning rate; nil: constant
	// Average is the decay of a moving average of the weights, which become the final ones; 0: the
	// last weights. It reduces noise at no cost in privacy.
	Average float64
	// expected records of a virtual batch, half of the maximum; 0: 64, the most with Float32, since
	// rounding grows with it. Memory does too
	Virtual int
	Type    device.DType // of the network; the zero value is Float32
	// Dir is a folder for a checkpoint and the ledger: a killed run resumes from there, ends in the
	// same weights, and spends no step twice. Empty: neither.
	Dir   string
	Every int // steps between checkpoints; 0: 100
	// Trace is called after each step, repeated ones included, with the number of steps done. An
	// error ends the run. May be nil.
	Trace func(done int) error
}

// String describes steps, batches, clip and noise in a line; Calibrate or an accountant has the ε.
func (t Training) String() string {
	batches := fmt.Sprintf("at rate %g", t.Rate)
	if t.Epoch > 0 {
		batches = fmt.Sprintf("in epochs of %d, %d for each record", t.Epoch, t.selected())
	}
	return fmt.Sprintf("DP-SGD: %d steps %s, clip %g, noise multiplier %.4g", t.Steps, batches, t.Clip,
		t.NoiseMultiplier)
}

// Optimiser is a value of package train that moves parameters.
type Optimiser interface {
	For(params []*nn.Param) *train.Optimiser
}

// Slack is the relative factor by which noise is scaled up for the rounding of sums in float32. A
// sequential sum of n vectors of norm at most Clip errs by at most n²/2·2⁻²⁴·Clip, and so does the
// sum without one of them: 128²·2⁻²⁴ = 9.8e-4 together for the largest virtual batch, of twice
// Virtual.
const Slack = 1e-3

const usualVirtual = 64

func (t Training) virtual() int { return cmp.Or(t.Virtual, usualVirtual) }

// Event returns what the run releases, for dp.Epsilon: exact for sums that one record moves by Clip.
func (t Training) Event() (dp.Event, error) {
	if err := in.Noisy(t.NoiseMultiplier); err != nil {
		return nil, err
	}
	return t.event(t.NoiseMultiplier), nil
}

func (t Training) event(sigma float64) dp.Event {
	if t.Epoch == 0 {
		return dp.SGD(sigma, t.Rate, t.Steps)
	}
	epoch := dp.Allocation{Steps: t.Epoch, Selected: t.selected(), Event: dp.Gaussian{NoiseMultiplier: sigma}}
	return dp.Repeat{Times: t.Steps / t.Epoch, Event: epoch}
}

// selected is the number of steps of an epoch in which each record is.
func (t Training) selected() int { return cmp.Or(t.Selected, 1) }

// rate is the probability of a record to be in a step's batch.
func (t Training) rate() float64 {
	if t.Epoch > 0 {
		return float64(t.selected()) / float64(t.Epoch)
	}
	return t.Rate
}

// Calibrate returns the training with the least noise that meets the budget, for Run. It tries the
// network on the first record, on the CPU: the error wraps ErrParameter where shapes do not fit
// together, as it does for fields out of range. Beside an error the noise multiplier is NaN, which
// Run refuses.
func (t Training) Calibrate(ctx context.Context, b dp.Budget) (Training, dp.Guarantee, error) {
	t.NoiseMultiplier = 0
	dev, err := device.CPU{}.Open()
	if err == nil {
		defer func() { _ = dev.Close() }()
		err = t.fit(dev)
	}
	if err != nil {
		t.NoiseMultiplier = math.NaN()
		return t, dp.Guarantee{Epsilon: math.NaN(), Delta: math.NaN()}, err
	}
	sigma, g, err := dp.MinNoise(ctx, b, t.event)
	t.NoiseMultiplier = sigma
	return t, g, err
}

// check returns an error for a field out of range.
func (t Training) check() error {
	switch {
	case t.Net == nil:
		return bad("Net = nil: must be a network")
	case t.Objective == nil || t.Objective.Len() < 1:
		return bad("Objective: must have records")
	case t.Optimiser == nil:
		return bad("Optimiser = nil: must be one, such as train.Adam")
	case t.Steps < 0:
		return bad("Steps = %d: must not be negative", t.Steps)
	case !(t.Average >= 0 && t.Average < 1):
		return bad("Average = %g: must be in [0, 1)", t.Average)
	case t.Virtual < 0 || t.Every < 0:
		return bad("Virtual = %d, Every = %d: must not be negative", t.Virtual, t.Every)
	case t.Virtual > usualVirtual && t.Type == device.Float32:
		return bad(
			"Virtual = %d: must be at most %d with Float32: sums of more records round by more than Slack allows for",
			t.Virtual, usualVirtual)
	case t.Epoch < 0 || t.Selected < 0 || t.selected() > max(t.Epoch, 1):
		return bad("Epoch = %d, Selected = %d: must not be negative, and Selected at most Epoch", t.Epoch, t.Selected)
	case t.Epoch > 0 && (t.Rate != 0 || t.Steps%t.Epoch != 0):
		return bad("Epoch = %d with Rate = %g, Steps = %d: Rate must be 0, and Steps whole epochs", t.Epoch,
			t.Rate, t.Steps)
	case t.Type != device.Float32 && t.Type != device.Float64:
		return bad("Type = %v: must be Float32 or Float64", t.Type)
	}
	return check.All(in.Positive("Clip", t.Clip), in.Positive("Batch", t.Batch), in.Noise(t.NoiseMultiplier),
		in.Rate(t.rate()))
}

// sensitivity is the sensitivity to which noise is scaled.
func (t Training) sensitivity() float64 { return t.Clip * (1 + Slack) }

// sigma is the standard deviation of the noise: such that release.Run.Release has the multiplier that Event says.
func (t Training) sigma() float64 {
	return t.NoiseMultiplier * t.sensitivity() / (1 - release.GridMargin)
}
