package synth

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/noise"
	"coupling/dp/release"
	"coupling/dp/sgd"
	"coupling/lab/device"

	"gonum.org/v1/gonum/mat"
)

// ErrParameter marks a parameter outside its range, for errors.Is. It is the one of package dp.
var ErrParameter = dp.ErrParameter

const in = check.In("synth")

var bad = in.Bad

// Method learns a generator of labelled images from private ones. It is a value of settings; its
// Event says what training releases.
type Method interface {
	// Describe returns the mechanism in words, and its settings, for the statement of privacy.
	Describe() (mechanism, settings string)
	// WithNoise returns the method with the given noise multiplier; 0 is no noise, and no privacy.
	WithNoise(sigma float64) Method
	// Event is what training on such images releases about one record. Its error wraps ErrParameter
	// for settings out of range or no noise.
	Event(p Public) (dp.Event, error)
	// Train learns from private images. All its releases go through Run.Begin, so that it can be
	// resumed. The number of images must not go into anything but the releases: Records of a Public
	// that settings were suggested for is the number to use.
	Train(ctx context.Context, dev *device.Device, images *data.Images, r Run) (Sampler, error)
}

// Sampler draws labelled images with values in [0, 1], the classes in turn: post-processing of what
// training released, which costs no budget, however often it is done.
type Sampler interface {
	Sample(rng *rand.Rand, n int) (*data.Images, error)
}

// Public is what settings of a method, and all that is published, may depend on beside releases.
type Public struct {
	// Records is about how many private images there are: a number that is public, as that of MNIST,
	// or a private one with noise (Counted). PublicOf has the exact one.
	Records                 int
	Classes                 []string // their names, classes without images included
	Channels, Height, Width int
}

// Values returns the number of values of an image.
func (p Public) Values() int { return p.Channels * p.Height * p.Width }

// Counted returns p with noise on the number of records: discrete Laplace noise of scale 1/eps, a
// function of the key, the number and eps. It is (eps, 0)-differentially private for one image more or
// less, and to be added to the ε of a training whose settings depend on it: with settings whose event
// is (ε′, δ′), whichever they are, both together are (eps + ε′, δ′). The least count is 1.
func (p Public) Counted(key release.Key, eps float64) (Public, error) {
	if err := in.Positive("eps", eps); err != nil {
		return p, err
	}
	// Another number, or scale, has other noise: two counts with one draw would reveal the number.
	src := key.Source(fmt.Sprintf("count of %d at %v", p.Records, eps), 0)
	noisy, err := noise.Laplace{Scale: 1 / eps, Granularity: 1}.Add(src, []float64{float64(p.Records)})
	if err != nil {
		return p, err
	}
	p.Records = int(max(1, noisy[0]))
	return p, nil
}

// PublicOf returns the public part of labelled images, and their exact number. The error wraps
// ErrParameter where there are none, their classes have no names, a label is out of range, or the
// range of values is empty.
func PublicOf(m *data.Images) (Public, error) {
	switch {
	case m == nil || m.Len() == 0:
		return Public{}, bad("images: there are none")
	case len(m.Classes) == 0:
		return Public{}, bad("images.Classes: must name the classes, which are public; labels are not")
	case len(m.Labels) != m.Len():
		return Public{}, bad("images: %d labels for %d images: must be equal", len(m.Labels), m.Len())
	case !(m.Lo < m.Hi) || math.IsInf(float64(m.Hi-m.Lo), 0):
		return Public{}, bad("images: range [%g, %g]: must be increasing and finite", m.Lo, m.Hi)
	}
	for i, l := range m.Labels {
		if l < 0 || l >= len(m.Classes) {
			return Public{}, bad("images: label %d of image %d: must be in [0, %d)", l, i, len(m.Classes))
		}
	}
	n, c, h, w := m.Shape()
	return Public{Records: n, Classes: m.Classes, Channels: c, Height: h, Width: w}, nil
}

// Unit writes image i to row, with values in [0, 1]: those outside of the images' range are moved
// to the nearer end, and NaN to 0. A row is a function of its own image.
func Unit(row []float64, m *data.Images, i int) {
	lo, scale := float64(m.Lo), 1/float64(m.Hi-m.Lo)
	for j, v := range m.Row(i) {
		u := (float64(v) - lo) * scale
		if !(u >= 0) {
			u = 0
		}
		row[j] = min(u, 1)
	}
}

// Each calls see with what of makes of each image in turn. of gets some images, one a row, with values in [0, 1] as
// Unit has them, and returns a row for each. It gets as many each time, black ones behind the last: a product's
// rounding may depend on its shape, and the number of records must not change what is made of any.
func Each(m *data.Images, some int, of func(rows *mat.Dense) (*mat.Dense, error),
	see func(i int, row []float64)) error {
	rows := mat.NewDense(some, m.Dim(), nil)
	for from := 0; from < m.Len(); from += some {
		rows.Zero()
		n := min(some, m.Len()-from)
		for i := range n {
			Unit(rows.RawRowView(i), m, from+i)
		}
		made, err := of(rows)
		if err != nil {
			return err
		}
		for i := range n {
			see(from+i, made.RawRowView(i))
		}
	}
	return nil
}

// Features is Each on a device: of gets an N×C×H×W array.
func Features(dev *device.Device, m *data.Images, of func(x *device.Array) (*mat.Dense, error),
	see func(i int, row []float64)) error {
	const some = 100 // a convolution makes 140 kB of a colour image
	_, c, h, w := m.Shape()
	return Each(m, some, func(rows *mat.Dense) (*mat.Dense, error) {
		defer dev.Scope().Close()
		return of(dev.FromDense(device.Float32, rows).Reshape(some, c, h, w))
	}, see)
}

// Calibrate returns the method with the least noise that meets the budget on images of that kind,
// and its guarantee. An exchange of images costs as much as a substitution. The error wraps
// dp.ErrUnreachable if no noise meets the budget; beside an error the noise is NaN, which Train
// refuses.
func Calibrate[M Method](ctx context.Context, m M, p Public, b dp.Budget) (M, dp.Guarantee, error) {
	b.Relation = b.Relation.OfRecords() // events of methods are of sums over images
	var failed error
	sigma, g, err := dp.MinNoise(ctx, b, func(sigma float64) dp.Event {
		e, err := m.WithNoise(sigma).Event(p)
		if err != nil {
			failed = err
			return dp.Gaussian{NoiseMultiplier: math.NaN()} // which dp refuses
		}
		return e
	})
	return m.WithNoise(sigma).(M), g, cmp.Or(failed, err)
}

// Run holds the key of a training, the folder in which it can be resumed, and the function that is
// called with its progress.
type Run struct {
	Key      release.Key
	Dir      string             // folder of the ledger and a checkpoint; empty: neither
	Every    int                // steps between checkpoints; 0: 100
	Progress func(done, of int) // may be nil
	Drawn    func(done, of int) // called by samplers that take minutes with the images drawn; may be nil

	open *release.Run // nil: Begin opens one
}

// Within returns the Run of a method that is a part of another: its releases are among those of the run
// that the other began, in one ledger.
func (r Run) Within(open *release.Run) Run {
	r.open = open
	return r
}

// Begin opens the run of a training that makes the given number of releases; settings identify it.
// The caller closes it. In a Run of Within it is the run that was begun.
func (r Run) Begin(dev *device.Device, images *data.Images, releases int, settings any) (*release.Run, error) {
	if r.open != nil {
		return r.open.Share(), nil
	}
	on := dev.Info() // without the number of workers, which changes no bit
	run := &release.Run{
		Key:      r.Key,
		Dir:      r.Dir,
		Releases: releases,
		Records:  sgd.Pixels(images).Digest,
		Settings: map[string]any{"method": settings, "classes": images.Classes,
			"device": []any{on.Kind, on.Name, on.TF32}},
	}
	return run, run.Open()
}

// Step calls Progress.
func (r Run) Step(done, of int) {
	if r.Progress != nil {
		r.Progress(done, of)
	}
}

// together is the number of images that Draw makes at a time where any number will do.
const together = 1000

// Draw makes n images of the public shape, the classes in turn, for a Sampler. fill gets the labels
// of batch images at a time (0: any number) and returns their values in order. Values above 1 or
// below 0 are moved to the nearer end; images beyond n in the last batch are dropped.
func Draw[F float32 | float64](p Public, name string, n, batch int,
	fill func(labels []int) ([]F, error)) (*data.Images, error) {
	if n < 1 {
		return nil, bad("n = %d: must be at least 1", n)
	}
	batch = cmp.Or(batch, min(n, together))
	out, err := data.New(n, p.Channels, p.Height, p.Width)
	if err != nil {
		return nil, err
	}
	out.Name, out.Classes, out.Labels = name, p.Classes, make([]int, n)
	labels := make([]int, batch)
	for from := 0; from < n; from += batch {
		for i := range labels {
			labels[i] = (from + i) % len(p.Classes)
		}
		values, err := fill(labels)
		if err != nil {
			return nil, err
		}
		copy(out.Labels[from:], labels)
		to := out.Pixels()[from*out.Dim():]
		for i := range min(len(to), len(values)) {
			to[i] = float32(min(max(values[i], 0), 1))
		}
	}
	return out, nil
}
