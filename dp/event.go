package dp

import (
	"fmt"
	"strings"

	"coupling/dp/internal/check"
	"coupling/dp/pair"
)

// Event is a part of a computation on private data: a Mechanism, a mechanism on a sampled batch
// (Poisson, WithoutReplacement, WithReplacement, Allocation), or several of these (Repeat,
// Compose).
type Event interface{ String() string }

// Mechanism is an event that reads data and releases something. This package has Gaussian, Laplace,
// DiscreteGaussian, DiscreteLaplace, RandomizedResponse, NormNoise, Pure, Approximate, ZCDP and
// FromPair. Other packages may define their own, which can be sampled, grouped, composed and
// calibrated like these.
type Mechanism interface {
	Event
	// Pair returns a pair that dominates the mechanism on the batches of all x and x′ that b
	// describes, in the direction M(x) against M(x′). If there is none, it returns an error that
	// wraps ErrNoPair, as Batch.Refuse makes.
	Pair(b Batch) (pair.Pair, error)
}

// Poisson runs Event on a batch that holds every record with probability Rate in [0, 1], independently.
type Poisson struct {
	Rate  float64
	Event Event
}

// TruncatedPoisson runs Event, a mechanism, on a Poisson sample at Rate of at most Size records, of
// which Cap are kept where there are more, all choices equally likely: batches of loaders with a
// largest size.
//
// The pair, of one inserted or removed record, is an upper bound. Given the sample A of the other
// records, which is the same for both data sets: if |A| < Cap the record comes with probability
// Rate and moves the value by one unit. Else it comes with probability Rate·Cap/(|A| + 1) in the
// place of one of the others, the last of the batch, which is two units: that one and the rest of
// the batch have the same law for both data sets. The pair reveals |A|, in groups. Other relations
// and groups are refused.
type TruncatedPoisson struct {
	Rate      float64
	Cap, Size int
	Event     Event
}

// WithoutReplacement runs Event on Batch of the Size records, all subsets equally likely. When records are inserted or
// removed Size is the number of the larger data set. Batches of 0 read nothing.
//
// All batches have the same size, so a record enters a batch in the place of another. The unit of
// the noise is therefore an exchange: the most that replacing one record of the batch by any other
// moves the value. For a sum of records clipped to norm C that is 2C, not C: noise of standard
// deviation σC is Gaussian{NoiseMultiplier: σ/2} here. FixedSGD makes that event.
//
// Under Substitution the pair is that of SSKG, with relaxed distances: a bound that is not
// attained. Under Exchange it is the tight pair, for one record.
type WithoutReplacement struct {
	Batch, Size int
	Event       Event
}

// WithReplacement runs Event on Batch independent draws from Size records; a record that is drawn k
// times counts k times. The unit of the noise is an exchange, as for WithoutReplacement.
type WithReplacement struct {
	Batch, Size int
	Event       Event
}

// Allocation runs Event, a mechanism, in Steps steps of an epoch, on batches to which records are
// allocated at random: each record takes part in exactly Selected steps, all choices equally
// likely, independently of all other records. A training that shuffles the data set and cuts it
// into batches of a fixed size, as torch's shuffle=True does, is not this: there the other records
// fill the places that one leaves. It has hardly any amplification; its event is Repeat{epochs,
// mechanism}, each record being in one batch an epoch.
//
// The number of steps is public and fixed; the sizes of batches are random and must not be released, or divided by.
// Epochs with fresh allocations are Repeat{epochs, Allocation{…}}. If an epoch is not finished, charge all of it.
//
// For Selected = 1 the pair is tight for the Gaussian sum, and its ε is enclosed to about 1e-4: see
// pld.Allocated. For more it is an upper bound (Feldman, Shenfeld 2025): with m = ⌊Steps/Selected⌋
// and r = Steps − m·Selected, drawing a random partition of the steps into Selected − r blocks of m
// and r blocks of m + 1, and then a step of each block, is the same as drawing the steps; given the
// partition the blocks are independent allocations of one step. Either can exceed the ε of a
// Poisson sample at rate Selected/Steps. Selected = Steps is no sampling at all.
//
// One inserted or removed record is covered, in both directions. Other relations and groups,
// samples inside or outside, and several mechanisms on one batch are refused.
type Allocation struct {
	Steps, Selected int
	Event           Event
}

// Repeat runs Event Times ≥ 0 times on the same data with fresh randomness; later runs may depend
// on earlier results.
type Repeat struct {
	Times int
	Event Event
}

// Compose runs several events on the same data. What they compute may depend on earlier results, but
// the events themselves must be fixed beforehand: where noise is chosen by results, an (ε, δ) that
// every such composition meets can be exceeded. Package query has a filter for that.
type Compose []Event

// SGD is DP-SGD: steps of the Gaussian mechanism on Poisson batches.
func SGD(noiseMultiplier, rate float64, steps int) Event {
	return Repeat{Times: steps, Event: Poisson{Rate: rate, Event: Gaussian{noiseMultiplier}}}
}

// FixedSGD is DP-SGD on batches of fixed size without replacement: steps of the Gaussian mechanism,
// whose standard deviation is noiseMultiplier times the norm that gradients are clipped to, on a
// sum of batch of the size records. An exchange moves such a sum by twice that norm, and so the
// noise counts half.
func FixedSGD(noiseMultiplier float64, batch, size, steps int) Event {
	return Repeat{Times: steps, Event: WithoutReplacement{Batch: batch, Size: size,
		Event: Gaussian{noiseMultiplier / 2}}}
}

// String shows the event.
func (e Poisson) String() string { return fmt.Sprintf("Poisson(rate %g, %v)", e.Rate, e.Event) }

// String shows the event.
func (e TruncatedPoisson) String() string {
	return fmt.Sprintf("TruncatedPoisson(rate %g, at most %d of %d, %v)", e.Rate, e.Cap, e.Size, e.Event)
}

// String shows the event.
func (e WithoutReplacement) String() string {
	return fmt.Sprintf("WithoutReplacement(%d of %d, %v)", e.Batch, e.Size, e.Event)
}

// String shows the event.
func (e WithReplacement) String() string {
	return fmt.Sprintf("WithReplacement(%d of %d, %v)", e.Batch, e.Size, e.Event)
}

// String shows the event.
func (e Allocation) String() string {
	return fmt.Sprintf("Allocation(%d of %d steps, %v)", e.Selected, e.Steps, e.Event)
}

// String shows the event.
func (e Repeat) String() string { return fmt.Sprintf("%d × %v", e.Times, e.Event) }

// String shows the event.
func (e Compose) String() string {
	parts := make([]string, len(e))
	for i, p := range e {
		parts[i] = fmt.Sprint(p)
	}
	return "(" + strings.Join(parts, " + ") + ")"
}

// Errors of all packages under dp, for errors.Is.
var (
	// ErrParameter marks a parameter outside its range.
	ErrParameter = pair.ErrParameter
	// ErrNoPair marks a part of an event for which no dominating pair is known under the relation.
	ErrNoPair = pair.ErrNoPair
	// ErrUnbounded marks a question whose only certified answer is infinite.
	ErrUnbounded = pair.ErrUnbounded
	// ErrNotApplicable marks a composition that an accountant does not handle; another one may.
	ErrNotApplicable = pair.ErrNotApplicable
)

const in = check.In("dp")

var bad = in.Bad

// noPair builds an error about a part of an event.
func noPair(part Event, format string, args ...any) error {
	return fmt.Errorf("dp: %v: %s: %w", part, fmt.Sprintf(format, args...), ErrNoPair)
}
