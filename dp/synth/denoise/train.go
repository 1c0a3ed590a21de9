package denoise

import (
	"context"
	"io"
	"math"

	"coupling/data"
	"coupling/dp/internal/check"
	"coupling/dp/sgd"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/mat"
)

// records are the private images in the form that the loss uses.
type records struct {
	*denoiser
	images *data.Images
	x      *mat.Dense // coefficients of each image in [0, 1]
}

func newRecords(d *denoiser, images *data.Images) *records {
	r := &records{denoiser: d, images: images, x: mat.NewDense(images.Len(), len(d.spread), nil)}
	d.basis.Each(images, r.x.SetRow)
	return r
}

// Len is the number of images.
func (r *records) Len() int { return r.images.Len() }

// Digest writes images and labels.
func (r *records) Digest(w io.Writer) error { return sgd.Pixels(r.images).Digest(w) }

// Cotangent is w·(F − F*), with a noise level and noise for each image.
func (r *records) Cotangent(b sgd.Batch) (*device.Array, error) {
	n, k, w := len(b.Records), len(r.spread), r.width()
	in, want, noisy := make([]float32, n*w), make([]float32, n*k), make([]float64, k)
	for i, record := range b.Records {
		rng := b.Rand(record)
		s := r.Least * math.Pow(r.Most/r.Least, rng.Float64())
		for j, v := range r.x.RawRowView(record) {
			noisy[j] = v + s*rng.NormFloat64()
			skip, out := r.around(j, s)
			want[i*k+j] = float32((v - skip*noisy[j]) / out)
		}
		r.input(in[i*w:(i+1)*w], noisy, s, r.images.Labels[record])
	}
	weight := make([]float32, k)
	for j, v := range r.spread {
		weight[j] = float32(v / r.Prior)
	}
	y := b.Net.Forward(b.Pass, b.Dev.From32(in, n, w))
	dy := y.Like()
	device.Sub(dy, y, b.Dev.From32(want, n, k))
	device.Mul(dy, dy, b.Dev.From32(weight, 1, k))
	return dy, nil
}

// training is DP-SGD on private images: what Event accounts for.
func (d *denoiser) training(r *records) sgd.Training {
	return sgd.Training{
		Net:             d.net,
		Objective:       r,
		Clip:            d.Clip,
		NoiseMultiplier: d.NoiseMultiplier,
		Rate:            d.rate(),
		Batch:           d.rate() * float64(d.Records),
		Steps:           d.Steps,
		Optimiser:       d.Adam,
		Schedule:        train.Warmup(min(10, d.Steps), train.Cosine(d.Steps, .1)),
		Average:         d.Average,
	}
}

// Train fits a denoiser to private images and returns a *Generator. All randomness comes from the key. The error wraps
// release.ErrLedger where r.Dir holds another run.
func (c Config) Train(ctx context.Context, dev *device.Device, images *data.Images,
	r synth.Run) (synth.Sampler, error) {
	p, err := synth.PublicOf(images)
	c, outOfRange := c.withDefaults()
	if err := check.All(err, outOfRange); err != nil {
		return nil, err
	}
	d := newDenoiser(c, p)
	t := d.training(newRecords(d, images))
	t.Dir, t.Every = r.Dir, r.Every
	t.Trace = func(done int) error { r.Step(done, c.Steps); return nil }
	if err := t.Run(ctx, dev, r.Key); err != nil {
		return nil, err
	}
	return &Generator{d, dev}, nil
}
