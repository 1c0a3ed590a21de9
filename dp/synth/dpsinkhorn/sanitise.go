package dpsinkhorn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"coupling/dp"
	"coupling/dp/release"
	"coupling/lab/device"
)

// Sanitiser prepares the gradient of a batch for release: it bounds the influence of a private
// image and adds noise. There are two different mechanisms: WholeBatch, which the published code
// runs and whose accounting is right, and PerRow, which the paper prints and whose accounting is
// wrong.
type Sanitiser interface {
	// Clip bounds the gradient at n generated images, n×d, in place.
	Clip(g *device.Array)
	// Noise is the standard deviation of the noise for each entry.
	Noise() float64
	// WithNoise returns the sanitiser with another noise multiplier.
	WithNoise(multiplier float64) Sanitiser
	// Sensitivity bounds |Clip(g) − Clip(g′)|₂ for the gradients of any two batches of private
	// images, n being the number of generated ones, which is fixed.
	Sensitivity(n int) float64
	// Event is the event of steps on Poisson batches of that rate, joint over all rows. It holds
	// for this mechanism.
	Event(n int, rate float64, steps int) dp.Event
	fmt.Stringer
}

// below is the relative margin by which Clip stays under its bound to allow for rounding in
// float32: ClipRows keeps norms to a few units of 2⁻²³.
const below = 1 - 0x1p-18

// WholeBatch clips the norm of the whole n×d gradient to Bound and adds noise of standard deviation
// 2·Bound·NoiseMultiplier.
//
// Sensitivity. The transport plan couples all images of a batch: one more image may change every
// row of the gradient, and all that is known is that both gradients lie in the ball of radius
// Bound. Two points of it are at most 2·Bound apart, in every direction of change: inserted,
// removed or replaced; an empty batch has gradient 0, which lies in the ball too. n is fixed, so
// the shape of the release reveals nothing. So on Poisson batches of rate q a step is the sampled
// Gaussian mechanism of noise multiplier 2·Bound·NoiseMultiplier/(2·Bound) = NoiseMultiplier for
// the relation of one record more or less. A larger batch does not lower the sensitivity: see
// package semidual for a mechanism in which it does.
type WholeBatch struct {
	Bound           float64 // 0: .5, as published
	NoiseMultiplier float64 // σ; 0: no noise, and no privacy
}

func (w WholeBatch) bound() float64 { return cmp.Or(w.Bound, .5) }

// Clip scales the gradient.
func (w WholeBatch) Clip(g *device.Array) {
	flat := g.Reshape(1, -1)
	device.ClipRows(flat, flat, w.bound()*below)
}

// Noise is 2·Bound·NoiseMultiplier.
func (w WholeBatch) Noise() float64 { return 2 * w.bound() * w.NoiseMultiplier }

// WithNoise sets the NoiseMultiplier.
func (w WholeBatch) WithNoise(multiplier float64) Sanitiser {
	w.NoiseMultiplier = multiplier
	return w
}

// Sensitivity is 2·Bound.
func (w WholeBatch) Sensitivity(int) float64 { return 2 * w.bound() }

// Event returns the Poisson-sampled Gaussian, repeated.
func (w WholeBatch) Event(_ int, rate float64, steps int) dp.Event {
	return dp.SGD(w.NoiseMultiplier*(1-release.GridMargin), rate, steps)
}

// String names it.
func (w WholeBatch) String() string { return fmt.Sprintf("whole batch clipped to %g", w.bound()) }

// PerRow clips each row to Bound and adds noise of standard deviation 2·Bound·NoiseMultiplier to
// each entry: algorithm 1 of the paper.
//
// Sensitivity. Each row moves by up to 2·Bound. The paper composes the n rows as if each were a
// mechanism on a Poisson sample of its own, which claims the amplification by sampling n times for
// one sample: all rows share one batch, so that a record is in all of them or in none. The joint
// release moves by up to 2·Bound·√n, and so is the sampled Gaussian mechanism of multiplier
// NoiseMultiplier/√n. The bound is attained: where the inserted image is the first of its class in
// the batch, each row of that class may be reversed.
type PerRow struct {
	Bound           float64 // 0: .5, as published
	NoiseMultiplier float64
}

func (r PerRow) bound() float64 { return WholeBatch(r).bound() }

// Clip scales rows.
func (r PerRow) Clip(g *device.Array) { device.ClipRows(g, g, r.bound()*below) }

// Noise is 2·Bound·NoiseMultiplier.
func (r PerRow) Noise() float64 { return WholeBatch(r).Noise() }

// WithNoise sets the NoiseMultiplier.
func (r PerRow) WithNoise(multiplier float64) Sanitiser {
	r.NoiseMultiplier = multiplier
	return r
}

// Sensitivity is 2·Bound·√n.
func (r PerRow) Sensitivity(n int) float64 { return 2 * r.bound() * math.Sqrt(float64(n)) }

// Event returns the joint release: the Poisson-sampled Gaussian of multiplier NoiseMultiplier/√n.
func (r PerRow) Event(n int, rate float64, steps int) dp.Event {
	return dp.SGD(r.NoiseMultiplier/math.Sqrt(float64(n))*(1-release.GridMargin), rate, steps)
}

// Published returns the paper's event for the release: n·steps row releases, each on its own sample. Its
// ε is not justified, since all rows share one batch. Print NotJustified beside it.
func (r PerRow) Published(n int, rate float64, steps int) dp.Event {
	return dp.SGD(r.NoiseMultiplier, rate, n*steps)
}

// NotJustified is the label of every ε of PerRow.Published.
const NotJustified = "not justified: all rows share one batch"

// String names it.
func (r PerRow) String() string { return fmt.Sprintf("rows clipped to %g", r.bound()) }

// sanitise replaces g by Clip(g) plus noise, the release of a step. Entries that are not finite,
// which no finite image gives, count as 0.
func sanitise(s Sanitiser, g *device.Array, out *release.Run, step int) error {
	s.Clip(g)
	values, err := g.Float64s()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(values, func(u float64) bool { return math.IsNaN(u) || math.IsInf(u, 0) }) {
		clear(values)
	}
	if values, err = out.Release("gradient", step, values, s.Noise(), s.Sensitivity(g.Dim(0))); err != nil {
		return err
	}
	g.SetFloats(values)
	return nil
}
