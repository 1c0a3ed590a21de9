package scones

import (
	"context"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/figures/internal/kit"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/device/cpu/dense"
	"coupling/score"
	"coupling/score/eval"
	"coupling/score/eval/distance"
	"coupling/score/eval/inception"
	"coupling/score/eval/neighbour"

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

// A verdict is what the judge says of images: the shares that are taken for their labels and that
// it is sure of, and distances from other images of the target.
type verdict struct {
	right, sure, frechet float64
	kid                  distance.Discrepancy
}

// padded gives LeNet the margin that it wants around 16×16 pixels.
func padded(m *data.Images) *data.Images {
	if _, _, h, _ := m.Shape(); h >= 20 {
		return m
	}
	return lab.Must(m.Pad(2, 2))
}

// newJudge trains on one set of images for some epochs, and looks at another; distances are in the
// features of Inception with weights of that name, or without a name of the network that was
// trained.
func newJudge(ctx context.Context, dev *device.Device, train, test *data.Images, epochs int, weights string,
	rng *rand.Rand) *judge {
	_, c, h, w := train.Shape()
	j := &judge{shape: [3]int{c, h, w}}
	big := padded(train)
	j.model = lab.Must((eval.Classifier{Kind: eval.LeNet, Epochs: epochs}).Fit(ctx, dev, big, rng))
	j.features = j.model
	if weights != "" {
		j.features = lab.Must(inception.OpenChosen(dev, weights))
	}
	others := lab.Must(big.Pick(rng, min(test.Len(), big.Len())))
	test = padded(test)
	j.real = lab.Must(j.features.Of(ctx, test))
	v := j.see(ctx, test)
	j.Accuracy, j.Sure, j.Floor = v.right, v.sure, j.see(ctx, others).frechet
	return j
}

// look judges rows of pixels in [0, 1]; labels are their sources'.
func (j *judge) look(ctx context.Context, y *mat.Dense, labels []int) verdict {
	m := lab.Must(data.FromMat(y, j.shape[0], j.shape[1], j.shape[2], 0, 1))
	m.Labels = labels
	return j.see(ctx, padded(m))
}

func (j *judge) see(ctx context.Context, m *data.Images) (v verdict) {
	v.right = lab.Must(j.model.Test(ctx, m)).Accuracy
	v.sure = share(lab.Must(j.model.Certainty(ctx, m)), func(_ int, v float64) bool { return v > .9 })
	seen := lab.Must(j.features.Of(ctx, m))
	v.frechet, v.kid = lab.Must(distance.Frechet(seen, j.real)), lab.Must(distance.KID(ctx, seen, j.real))
	return v
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
func neighbours(ctx context.Context, y, x *mat.Dense) *neighbour.Found[float64] {
	return lab.Must(neighbour.Search[float64]{}.Find(ctx, dense.View(y), dense.View(x)))
}

// nearest is, of each row of y, the root mean square difference to the nearest row of x.
func nearest(ctx context.Context, y, x *mat.Dense) []float64 {
	return kit.Each(neighbours(ctx, y, x).Square,
		func(square float64) float64 { return math.Sqrt(square / float64(x.RawMatrix().Cols)) })
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

// scoresOf are the exact score of so many pictures, for chains on a device too, and that of the
// mixture, if it has parts.
func scoresOf(ctx context.Context, dev *device.Device, target *data.Images, exact int, mixture score.FitMixture,
	rng *rand.Rand) map[string]score.Field {
	known := lab.Must(target.Pick(rng, pickMost(target.Len(), exact)))
	fields := map[string]score.Field{exactScore: lab.Must(score.NewEmpirical(known.Mat(), nil, 0)).On(dev)}
	if mixture.Parts > 0 {
		fields[mixtureScore] = lab.Must(mixture.Run(ctx, rng, target.Mat()))
	}
	return fields
}
