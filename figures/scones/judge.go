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

// look judges rows of 16×16 pixels in [0, 1]; labels are their sources'. It returns the share that is taken for these, and
// the Fréchet distance from test digits of the target.
func (j *judge) look(ctx context.Context, y *mat.Dense, labels []int) (same, frechet float64, err error) {
	m, err := data.FromMat(y, 1, 16, 16, 0, 1)
	if err != nil {
		return 0, 0, err
	}
	m.Labels = labels
	if m, err = padded(m); err != nil {
		return 0, 0, err
	}
	score, err := j.model.Test(ctx, m)
	if err != nil {
		return 0, 0, err
	}
	f, err := feature.Trained{Model: j.model}.Of(ctx, m)
	if err != nil {
		return 0, 0, err
	}
	frechet, err = distance.Frechet(f, j.real)
	return score.Accuracy, frechet, err
}

// nearest is the mean, over rows of y, of the root mean square difference to the nearest row of x.
func nearest(y, x *mat.Dense) float64 {
	n, d := y.Dims()
	m, _ := x.Dims()
	sum := 0.
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
		sum += math.Sqrt(best / float64(d))
	}
	return sum / float64(n)
}
