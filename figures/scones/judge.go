package scones

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/figures/internal/kit"
	"coupling/lab/device"
	"coupling/lab/device/cpu"
	"coupling/lab/eval"
	"coupling/lab/eval/distance"
	"coupling/lab/eval/inception"
	"coupling/lab/eval/neighbour"
	"coupling/score"

	"gonum.org/v1/gonum/mat"
)

// judge is a LeNet that was trained on the target's images, and the features that it sees in others of the target.
type judge struct {
	model    *eval.Model
	features distance.Features // the model's, or Inception's
	shape    [3]int            // of an image
	real     *mat.Dense
	Accuracy float64 // on those others
	Sure     float64 // the share of them that it gives a class a probability above .9
	Floor    float64 // Fréchet distance of as many training images from them
}

// A verdict is what the judge says of images: the shares that are taken for their labels and that it is sure of, and distances from
// other images of the target.
type verdict struct {
	right, sure, frechet float64
	kid                  distance.Discrepancy
}

// padded gives LeNet the margin that it wants around 16×16 pixels.
func padded(m *data.Images) (*data.Images, error) {
	if _, _, h, _ := m.Shape(); h >= 20 {
		return m, nil
	}
	return m.Pad(2, 2)
}

// newJudge trains on one set of images for some epochs, and looks at another; distances are in the features of Inception with weights
// of that name, or without a name of the network that was trained.
func newJudge(ctx context.Context, dev *device.Device, train, test *data.Images, epochs int, weights string, rng *rand.Rand) (*judge, error) {
	_, c, h, w := train.Shape()
	j := &judge{shape: [3]int{c, h, w}}
	big, err := padded(train)
	if err != nil {
		return nil, err
	}
	if j.model, err = (eval.Classifier{Kind: eval.LeNet, Epochs: epochs}).Fit(ctx, dev, big, rng); err != nil {
		return nil, err
	}
	j.features = j.model
	if weights != "" {
		if j.features, err = inception.OpenChosen(dev, weights); err != nil {
			return nil, err
		}
	}
	others, err := big.Pick(rng, min(test.Len(), big.Len()))
	if err != nil {
		return nil, err
	}
	if test, err = padded(test); err != nil {
		return nil, err
	}
	if j.real, err = j.features.Of(ctx, test); err != nil {
		return nil, err
	}
	v, err := j.see(ctx, test)
	if err != nil {
		return nil, err
	}
	j.Accuracy, j.Sure = v.right, v.sure
	v, err = j.see(ctx, others)
	j.Floor = v.frechet
	return j, err
}

// look judges rows of pixels in [0, 1]; labels are their sources'.
func (j *judge) look(ctx context.Context, y *mat.Dense, labels []int) (verdict, error) {
	m, err := data.FromMat(y, j.shape[0], j.shape[1], j.shape[2], 0, 1)
	if err != nil {
		return verdict{}, err
	}
	m.Labels = labels
	if m, err = padded(m); err != nil {
		return verdict{}, err
	}
	return j.see(ctx, m)
}

func (j *judge) see(ctx context.Context, m *data.Images) (v verdict, err error) {
	score, errTest := j.model.Test(ctx, m)
	p, errCertainty := j.model.Certainty(ctx, m)
	seen, errSeen := j.features.Of(ctx, m)
	if err := errors.Join(errTest, errCertainty, errSeen); err != nil {
		return v, err
	}
	v.right, v.sure = score.Accuracy, share(p, func(_ int, v float64) bool { return v > .9 })
	if v.frechet, err = distance.Frechet(seen, j.real); err != nil {
		return v, err
	}
	v.kid, err = distance.KID(ctx, seen, j.real)
	return v, err
}

// share is the part of a list that is so.
func share[T any](list []T, is func(i int, v T) bool) float64 {
	n := 0
	for i, v := range list {
		if is(i, v) {
			n++
		}
	}
	return float64(n) / float64(len(list))
}

// neighbours finds the nearest row of x for each row of y, and the squared distances.
func neighbours(ctx context.Context, y, x *mat.Dense) (*neighbour.Found[float64], error) {
	view := func(m *mat.Dense) cpu.Matrix[float64] {
		r := m.RawMatrix()
		return cpu.Matrix[float64]{Data: r.Data, Rows: r.Rows, Cols: r.Cols, RowStride: r.Stride, ColStride: 1}
	}
	return neighbour.Search[float64]{}.Find(ctx, view(y), view(x))
}

// nearest is, of each row of y, the root mean square difference to the nearest row of x.
func nearest(ctx context.Context, y, x *mat.Dense) ([]float64, error) {
	found, err := neighbours(ctx, y, x)
	if err != nil {
		return nil, err
	}
	return kit.Each(found.Square, func(square float64) float64 { return math.Sqrt(square / float64(x.RawMatrix().Cols)) }), nil
}

// moved is the mean square of y − x.
func moved(y, x *mat.Dense) float64 {
	n, d := x.Dims()
	var off mat.Dense
	off.Sub(y, x)
	return mat.Norm(&off, 2) * mat.Norm(&off, 2) / float64(n*d)
}

// clamped is y within [0, 1].
func clamped(y *mat.Dense) *mat.Dense {
	out := new(mat.Dense)
	out.Apply(func(_, _ int, v float64) float64 { return min(max(v, 0), 1) }, y)
	return out
}

// The scores of a target: of its noised pictures, of a mixture of Gaussians, of a network.
const exactScore, mixtureScore, networkScore = "exact score", "mixture score", "network score"

// scoresOf are the exact score of so many pictures, and that of the mixture, if it has parts.
func scoresOf(ctx context.Context, target *data.Images, exact int, mixture score.FitMixture, rng *rand.Rand) (map[string]score.Field, error) {
	known, err := target.Pick(rng, pickMost(target.Len(), exact))
	if err != nil {
		return nil, err
	}
	fields := map[string]score.Field{}
	if fields[exactScore], err = score.NewEmpirical(known.Mat(), nil, 0); err != nil || mixture.Parts == 0 {
		return fields, err
	}
	fields[mixtureScore], err = mixture.Run(ctx, rng, target.Mat())
	return fields, err
}
