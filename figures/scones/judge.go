package scones

import (
	"context"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/lab/device"
	"coupling/lab/eval"
	"coupling/lab/eval/distance"
	"coupling/lab/eval/feature"

	"gonum.org/v1/gonum/mat"
)

// judge is a LeNet that was trained on the target's digits, and the features that it sees in test digits of the target.
type judge struct {
	model    *eval.Model
	real     *mat.Dense
	Accuracy float64 // on those test digits
	Sure     float64 // the share of them that it gives a class a probability above .9
	Floor    float64 // Fréchet distance of as many training digits from them
}

// padded gives LeNet the margin that it wants around 16×16 pixels.
func padded(m *data.Images) (*data.Images, error) { return m.Pad(2, 2) }

// newJudge trains on one set of images for some epochs, and looks at another.
func newJudge(ctx context.Context, dev *device.Device, train, test *data.Images, epochs int, rng *rand.Rand) (*judge, error) {
	big, err := padded(train)
	if err != nil {
		return nil, err
	}
	j := new(judge)
	if j.model, err = (eval.Classifier{Kind: eval.LeNet, Epochs: epochs}).Fit(ctx, dev, big, rng); err != nil {
		return nil, err
	}
	others, err := big.Pick(rng, min(test.Len(), big.Len()))
	if err != nil {
		return nil, err
	}
	if test, err = padded(test); err != nil {
		return nil, err
	}
	score, err := j.model.Test(ctx, test)
	if err != nil {
		return nil, err
	}
	j.Accuracy = score.Accuracy
	if j.Sure, err = sure(ctx, j.model, test); err != nil {
		return nil, err
	}
	features := feature.Trained{Model: j.model}
	if j.real, err = features.Of(ctx, test); err != nil {
		return nil, err
	}
	own, err := features.Of(ctx, others)
	if err != nil {
		return nil, err
	}
	j.Floor, err = distance.Frechet(own, j.real)
	return j, err
}

// look judges rows of 16×16 pixels in [0, 1]; labels are their sources'. It returns the share that is taken for these,
// the share that it is sure of, and the Fréchet distance from test digits of the target.
func (j *judge) look(ctx context.Context, y *mat.Dense, labels []int) (same, certain, frechet float64, err error) {
	m, err := data.FromMat(y, 1, 16, 16, 0, 1)
	if err != nil {
		return 0, 0, 0, err
	}
	m.Labels = labels
	if m, err = padded(m); err != nil {
		return 0, 0, 0, err
	}
	score, err := j.model.Test(ctx, m)
	if err != nil {
		return 0, 0, 0, err
	}
	if certain, err = sure(ctx, j.model, m); err != nil {
		return 0, 0, 0, err
	}
	f, err := feature.Trained{Model: j.model}.Of(ctx, m)
	if err != nil {
		return 0, 0, 0, err
	}
	frechet, err = distance.Frechet(f, j.real)
	return score.Accuracy, certain, frechet, err
}

// sure is the share of images that a model gives a class a probability above .9.
func sure(ctx context.Context, model *eval.Model, m *data.Images) (float64, error) {
	p, err := model.Certainty(ctx, m)
	n := 0
	for _, v := range p {
		if v > .9 {
			n++
		}
	}
	return float64(n) / float64(m.Len()), err
}

// nearest is the mean, over rows of y, of the root mean square difference to the nearest row of x, and the share of rows that are
// nearer than near.
func nearest(y, x *mat.Dense, near float64) (mean, copies float64) {
	n, d := y.Dims()
	m, _ := x.Dims()
	for i := range n {
		a, best := y.RawRowView(i), math.Inf(1)
		for k := range m {
			s := 0.
			for p, v := range x.RawRowView(k) {
				if s += (a[p] - v) * (a[p] - v); s >= best {
					break
				}
			}
			best = min(best, s)
		}
		off := math.Sqrt(best / float64(d))
		if mean += off / float64(n); off < near {
			copies += 1 / float64(n)
		}
	}
	return mean, copies
}
