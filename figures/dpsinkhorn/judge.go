package dpsinkhorn

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/data"
	"coupling/lab/device"
	"coupling/lab/eval"
	"coupling/lab/eval/distance"
	"coupling/lab/eval/feature"
	"coupling/lab/eval/membership"
)

// Judgement says what synthetic images are worth: accuracies on real test images of classifiers that saw none, and distances
// in the features of a LeNet that was trained on real images here.
type Judgement struct {
	Logistic float64 `json:"logistic"`
	MLP      float64 `json:"mlp"`
	CNN      float64 `json:"cnn"`
	FD       float64 `json:"fd"` // FD-LeNet, never FID
	// Precision to Coverage are those of third neighbours in the same features.
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	Density   float64 `json:"density"`
	Coverage  float64 `json:"coverage"`
	AUC       float64 `json:"auc"` // of a membership attack: ½ is none
}

// accuracies are those of logistic regression, MLP and CNN.
func (j Judgement) accuracies() [3]float64 { return [3]float64{j.Logistic, j.MLP, j.CNN} }

// Judge is how hard to look.
type Judge struct {
	Width  int  `json:"width" min:"1" doc:"channels of the CNN's first convolution"`
	Epochs int  `json:"epochs" min:"0" doc:"of the classifiers; 0: the protocol's"`
	LeNet  int  `json:"lenet" min:"0" doc:"real images that LeNet learns from"`
	Images int  `json:"images" min:"0" doc:"for distances"`
	Quick  bool `json:"quick,omitempty" doc:"leaves out MLP, CNN and the membership attack; with no images for LeNet, distances too"`
}

// look judges images made of train by what test says.
func (j Judge) look(ctx context.Context, dev *device.Device, synthetic, train, test *data.Images, rng *rand.Rand) (out Judgement, err error) {
	for _, c := range []struct {
		of   eval.Classifier
		into *float64
	}{
		{eval.Classifier{Kind: eval.Logistic, Epochs: j.Epochs}, &out.Logistic},
		{eval.Classifier{Kind: eval.MLP, Epochs: j.Epochs}, &out.MLP},
		{eval.Classifier{Kind: eval.CNN, Width: j.Width, Epochs: j.Epochs}, &out.CNN},
	} {
		if j.Quick && c.of.Kind != eval.Logistic {
			continue
		}
		r, err := c.of.Evaluate(ctx, dev, synthetic, test, rng)
		if err != nil {
			return out, fmt.Errorf("%v: %w", c.of.Kind, err)
		}
		*c.into = r.Accuracy
	}
	if j.Quick && j.LeNet == 0 {
		return out, nil
	}
	lenet, err := eval.Classifier{Kind: eval.LeNet, Epochs: j.Epochs}.Fit(ctx, dev, train.Slice(0, min(j.LeNet, train.Len())), rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		return out, err
	}
	defer lenet.Free()
	n := min(j.Images, synthetic.Len(), test.Len())
	r, err := distance.Between(ctx, feature.Trained{Model: lenet}, synthetic.Slice(0, n), test.Slice(0, n))
	if err != nil {
		return out, err
	}
	out.FD, out.Precision, out.Recall, out.Density, out.Coverage = r.Frechet, r.Coverage.Precision, r.Coverage.Recall, r.Coverage.Density, r.Coverage.Coverage
	if j.Quick {
		return out, nil
	}
	m, err := membership.Attack{}.Run(ctx, synthetic, train.Slice(0, min(n, train.Len())), test.Slice(0, n))
	if err != nil {
		return out, err
	}
	out.AUC = m.AUC
	return out, nil
}
