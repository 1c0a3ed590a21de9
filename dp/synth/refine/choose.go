package refine

import (
	"coupling/data"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// choose returns samples of the base, moved by the Jitter if that is right for the private images. It releases, with
// noise N(0, σ²),
//
//	Σ_y [ 1{the classifier of moved samples is right about y} − 1{that of samples as they are is} ],
//
// which one record more or less moves by at most 1: both classifiers are functions of earlier releases and the key,
// and what they make of a record is a function of that record. Samples are moved if it is above 0.
func (c Config) choose(
	dev *device.Device, base synth.Sampler, images *data.Images, r synth.Run, run *release.Run,
) (synth.Sampler, error) {
	plain, err := base.Sample(r.Key.Rand("choose", 0), framing/len(images.Classes)*len(images.Classes))
	if err != nil {
		return nil, err
	}
	moved, err := c.Jitter.Apply(r.Key.Rand("choose", 1), plain)
	if err != nil {
		return nil, err
	}
	votes, err := preference(newBank(dev, images), plain, moved, images)
	if err != nil {
		return nil, err
	}
	noisy, err := run.Release("choose", 0, []float64{votes}, c.noiseOf(c.ChoiceShare), 1)
	if err != nil || noisy[0] <= 0 {
		return base, err
	}
	return synth.Moved(base, c.Jitter), nil
}

// preference is the exact sum of choose.
func preference(f *features, plain, moved, images *data.Images) (votes float64, err error) {
	as, err := f.classifier(plain)
	if err != nil {
		return 0, err
	}
	to, err := f.classifier(moved)
	if err != nil {
		return 0, err
	}
	scores := make([]float64, len(images.Classes))
	err = f.each(images, func(i int, row []float64) {
		votes += right(to, scores, row, images.Labels[i]) - right(as, scores, row, images.Labels[i])
	})
	return votes, err
}

// classifier is ridge regression on what filters see of samples.
func (f *features) classifier(m *data.Images) (*mat.Dense, error) {
	x, err := f.rows(m)
	if err != nil {
		return nil, err
	}
	var fit train.Ridge
	fit.Add(x, m.Labels, len(m.Classes))
	return fit.Fit(1e-3)
}

// right is 1 where the largest score of a row is that of the label, else 0. Scores that are not finite are never right.
func right(w *mat.Dense, scores, row []float64, label int) float64 {
	copy(scores, w.RawRowView(len(row)))
	for j, v := range row {
		floats.AddScaled(scores, v, w.RawRowView(j))
	}
	for _, s := range scores {
		if !(s <= scores[label]) {
			return 0
		}
	}
	return 1
}
