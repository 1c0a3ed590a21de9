package dp

import (
	"fmt"
	"strings"

	"coupling/dp/pair"
)

// Event is a part of a computation on private data: a mechanism, a mechanism on a sampled batch, or several of these.
// The types of this file are the events there are.
type Event interface{ event() }

// Gaussian adds normal noise of standard deviation Noise to a vector, in units of the L2 sensitivity: see Conventions for what that is
// the sensitivity to.
type Gaussian struct{ Noise float64 }

// Laplace adds to every coordinate Laplace noise of scale Scale, in units of the L1 sensitivity.
type Laplace struct{ Scale float64 }

// RandomizedResponse tells a bit truthfully with probability Truth in [1/2, 1], else its opposite.
type RandomizedResponse struct{ Truth float64 }

// NormNoise adds to a vector of dimension Dim noise with density ∝ exp(−Zeta·‖v‖₂) (L2 sensitivity 1).
type NormNoise struct {
	Zeta float64
	Dim  int
}

// Dominated is any mechanism with a dominating pair of its own: Removal dominates the removal of one record, its swap
// the insertion.
type Dominated struct{ Removal pair.Pair }

// Poisson runs Event on a batch that holds every record with probability Rate, independently.
type Poisson struct {
	Rate  float64
	Event Event
}

// WithoutReplacement runs Event on Batch of the Size records, all subsets equally likely. When records are inserted or
// removed Size is the number of the larger data set.
//
// All batches have the same size, so that a record comes into one in the place of another. The unit of the noise is therefore an
// exchange: the most that replacing one record of the batch by any other moves the value. For a sum of records clipped to norm C
// that is 2C, not C: noise of standard deviation σC is Gaussian{Noise: σ/2} here. FixedSGD makes that event.
//
// Under Substitution the pair is that of SSKG, with relaxed distances; it bounds the mechanism and is not attained. Under Exchange it is
// the tight one, for one record.
type WithoutReplacement struct {
	Batch, Size int
	Event       Event
}

// WithReplacement runs Event on Batch independent draws from Size records; a record that is drawn k times counts k times. The
// unit of the noise is an exchange, as for WithoutReplacement.
type WithReplacement struct {
	Batch, Size int
	Event       Event
}

// Repeat runs Event Times times on the same data with fresh randomness; later runs may depend on earlier results.
type Repeat struct {
	Times int
	Event Event
}

// Compose runs several events on the same data.
type Compose []Event

func (Gaussian) event()           {}
func (Laplace) event()            {}
func (RandomizedResponse) event() {}
func (NormNoise) event()          {}
func (Dominated) event()          {}
func (Poisson) event()            {}
func (WithoutReplacement) event() {}
func (WithReplacement) event()    {}
func (Repeat) event()             {}
func (Compose) event()            {}

// SGD is DP-SGD: steps of the Gaussian mechanism on Poisson batches.
func SGD(noise, rate float64, steps int) Event {
	return Repeat{Times: steps, Event: Poisson{Rate: rate, Event: Gaussian{Noise: noise}}}
}

// FixedSGD is DP-SGD on batches of fixed size without replacement: steps of the Gaussian mechanism, whose standard deviation is noise
// times the norm that gradients are clipped to, on a sum of batch of the size records. An exchange moves such a sum by twice that norm,
// and so the noise counts half.
func FixedSGD(noise float64, batch, size, steps int) Event {
	return Repeat{Times: steps, Event: WithoutReplacement{Batch: batch, Size: size, Event: Gaussian{Noise: noise / 2}}}
}

// String shows the event.
func (e Gaussian) String() string { return fmt.Sprintf("Gaussian(noise %g)", e.Noise) }

// String shows the event.
func (e Laplace) String() string { return fmt.Sprintf("Laplace(scale %g)", e.Scale) }

// String shows the event.
func (e RandomizedResponse) String() string {
	return fmt.Sprintf("RandomizedResponse(truth %g)", e.Truth)
}

// String shows the event.
func (e NormNoise) String() string { return fmt.Sprintf("NormNoise(zeta %g, dim %d)", e.Zeta, e.Dim) }

// String shows the event.
func (e Dominated) String() string { return fmt.Sprintf("Dominated(%v)", e.Removal) }

// String shows the event.
func (e Poisson) String() string { return fmt.Sprintf("Poisson(rate %g, %v)", e.Rate, e.Event) }

// String shows the event.
func (e WithoutReplacement) String() string {
	return fmt.Sprintf("WithoutReplacement(%d of %d, %v)", e.Batch, e.Size, e.Event)
}

// String shows the event.
func (e WithReplacement) String() string {
	return fmt.Sprintf("WithReplacement(%d of %d, %v)", e.Batch, e.Size, e.Event)
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
