package dpsinkhorn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"coupling/data"
	"coupling/figures/internal/kit"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/score/eval"
	"coupling/score/eval/distance"
	"coupling/score/eval/inception"
	"coupling/score/eval/membership"

	"gonum.org/v1/gonum/stat"
)

// Judgement is what synthetic images are worth: accuracies on real test images of classifiers
// that saw none, and distances in the features that the Judge names. A number that was not measured
// is NaN.
type Judgement struct {
	Logistic float64 `json:"logistic"`
	MLP      float64 `json:"mlp"`
	CNN      float64 `json:"cnn"`
	Oriented float64 `json:"oriented"` // of ridge regression on oriented gradients
	// Sure is the share of images to whose own class the LeNet of real images gives a probability above 0.9, and
	// SureReal that of real test images.
	Sure     float64 `json:"sure"`
	SureReal float64 `json:"sure_real"`
	// FID in the features of Inception, FD-LeNet in those of a LeNet that was trained on real
	// images here
	FD  float64 `json:"fd"`
	KID float64 `json:"kid"` // in the features of Inception
	// Precision to Coverage are those of third neighbours in the same features.
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	Coverage  float64 `json:"coverage"`
	AUC       float64 `json:"auc"`       // of a membership attack: ½ is none
	AUCError  float64 `json:"auc_error"` // its standard error
	// By has the accuracies of logistic regression, MLP and CNN by the paper's protocol and by its code's.
	By [2][3]float64 `json:"by"`
	// Dark is the distance of images whose dark half was made black, as the code measures it.
	Dark float64 `json:"dark"`
}

// unmeasured is the Judgement in which nothing was measured yet.
func unmeasured() (j Judgement) {
	for _, v := range j.numbers() {
		*v = math.NaN()
	}
	return j
}

// numbers are all of them.
func (j *Judgement) numbers() []*float64 {
	out := []*float64{
		&j.Logistic, &j.MLP, &j.CNN, &j.Oriented, &j.Sure, &j.SureReal, &j.FD, &j.KID, &j.Precision, &j.Recall,
		&j.Coverage, &j.AUC, &j.AUCError, &j.Dark,
	}
	for i := range j.By {
		for k := range j.By[i] {
			out = append(out, &j.By[i][k])
		}
	}
	return out
}

// meanDeviation returns, for each number, the mean over the trainings that measured it and their standard deviation:
// NaN of
// none, and 0 for the deviation of one.
func meanDeviation(of []cell) (mean, deviation Judgement) {
	for k := range mean.numbers() {
		values := kit.Each(of, func(c cell) float64 { return *c.Value.Judged.numbers()[k] })
		values = slices.DeleteFunc(values, math.IsNaN)
		if *mean.numbers()[k] = stat.Mean(values, nil); len(values) > 1 {
			*deviation.numbers()[k] = stat.StdDev(values, nil)
		}
	}
	return mean, deviation
}

// printed is a number in a table, a dash where it was not measured.
func printed(format string, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// distanceNote says what the distances of tables are.
const distanceNote = "FID is the Fréchet distance in the features of Inception-v3, whose weights users bring " +
	"(--inception), of all synthetic images, rounded to bytes, to the test images; KID is times 1000. Without the " +
	"weights distances are FD-LeNet, in features of a LeNet trained on real images here: comparable within a table " +
	"only, and not with the FID that the paper prints."

// accuracies are those of logistic regression, MLP and CNN.
func (j Judgement) accuracies() [3]float64 { return [3]float64{j.Logistic, j.MLP, j.CNN} }

// Judge is how hard to look.
type Judge struct {
	Width     int    `json:"width" min:"1" doc:"channels of the CNNs' first convolution"`
	Epochs    int    `json:"epochs" min:"0" doc:"of the classifiers; 0: the protocol's"`
	LeNet     int    `json:"lenet" min:"0" doc:"real images that LeNet learns from"`
	Images    int    `json:"images" min:"0" doc:"for distances"`
	Inception string `json:"inception,omitempty" doc:"weights in whose features distances are; empty: a LeNet's"`
	Protocols int    `json:"protocols,omitempty" min:"0" doc:"images for the paper's and its code's protocols; 0: none"`
	Oriented  bool   `json:"oriented,omitempty" doc:"also fits oriented gradients, a judge that is no network"`
	Quick     bool   `json:"quick,omitempty" doc:"leaves out MLP, CNN, the attack and, without LeNet, distances"`
}

// distance is how tables call the distances: FID, or FD-LeNet, which is another scale.
func (j Judge) distance() string { return inception.Distance(j.Inception) }

// claimFID compares a FID with the one that the paper prints. Where distances are not in the features of Inception
// there is
// none, and nothing to compare.
func claimFID(preset lab.Preset, j Judge, what, source string, got, printed float64, null lab.Null) []lab.Claim {
	if j.distance() != "FID" {
		return nil
	}
	small := "sizes far below the paper's"
	return []lab.Claim{kit.NearUnless(lab.Pick(preset, small, small, small, ""), what+": FID", source, got, printed,
		max(1, .15*printed),
		"rows of Table 4 that differ in Δ alone differ by up to 15 %; rules of resampling by some tenths", null)}
}

// look judges images made of train by what test says.
func (j Judge) look(ctx context.Context, dev *device.Device, synthetic, train, test *data.Images,
	rng *rand.Rand) (out Judgement) {
	out = unmeasured()
	accuracies := j.classify(ctx, dev, eval.Quick, synthetic, test, rng)
	out.Logistic, out.MLP, out.CNN = accuracies[0], accuracies[1], accuracies[2]
	if j.Oriented && !j.Quick {
		out.Oriented = j.accuracy(ctx, dev, eval.Classifier{Kind: eval.Oriented}, synthetic, test, rng)
	}
	if j.Protocols > 0 {
		some := synthetic.Slice(0, min(j.Protocols, synthetic.Len()))
		for i, p := range []eval.Protocol{eval.Paper, eval.Code} {
			out.By[i] = j.classify(ctx, dev, p, some, test, rng)
		}
	}
	if !j.Quick || j.LeNet > 0 {
		j.distances(ctx, dev, &out, synthetic, train, test.Slice(0, min(j.Images, test.Len())))
	}
	if !j.Quick {
		n := min(j.Images, synthetic.Len(), test.Len())
		attack := lab.Must(membership.Run(ctx, synthetic, train.Slice(0, min(n, train.Len())), test.Slice(0, n)))
		out.AUC, out.AUCError = attack.AUC, (attack.Hi-attack.Lo)/(2*1.96)
	}
	return out
}

// classify has classifiers learn by a protocol. Epochs and Quick are of ours.
func (j Judge) classify(ctx context.Context, dev *device.Device, by eval.Protocol, synthetic, test *data.Images,
	rng *rand.Rand) (out [3]float64) {
	for k, c := range []eval.Classifier{{Kind: eval.Logistic}, {Kind: eval.MLP}, {Kind: eval.CNN, Width: j.Width}} {
		if c.Protocol = by; by == eval.Quick {
			if j.Quick && c.Kind != eval.Logistic {
				out[k] = math.NaN()
				continue
			}
			c.Epochs = j.Epochs
		}
		out[k] = j.accuracy(ctx, dev, c, synthetic, test, rng)
	}
	return out
}

// accuracy is that of one classifier on real images.
func (j Judge) accuracy(ctx context.Context, dev *device.Device, c eval.Classifier, synthetic, test *data.Images,
	rng *rand.Rand) float64 {
	r, err := c.Evaluate(ctx, dev, synthetic, test, rng)
	if err != nil {
		lab.Check(fmt.Errorf("%v by protocol %v: %w", c.Kind, c.Protocol, err))
	}
	return r.Accuracy
}

// sure is the share of images to whose own class a classifier gives a probability above 0.9.
func sure(ctx context.Context, m *eval.Model, images *data.Images) float64 {
	certain, classes, n := lab.Must(m.Certainty(ctx, images)), lab.Must(m.Predict(ctx, images)), 0
	for i, p := range certain {
		if p > .9 && classes[i] == images.Labels[i] {
			n++
		}
	}
	return float64(n) / float64(len(certain))
}

// distances compares with real test images: a FID with all synthetic ones, as the paper has it,
// other distances with as many.
func (j Judge) distances(ctx context.Context, dev *device.Device, out *Judgement, synthetic, train, test *data.Images) {
	var f distance.Features
	if j.Inception != "" {
		net := lab.Must(inception.OpenChosen(dev, j.Inception))
		defer net.Free()
		f = net
	} else {
		n := min(test.Len(), synthetic.Len())
		synthetic, test = synthetic.Slice(0, n), test.Slice(0, n)
		lenet := lab.Must(eval.Classifier{Kind: eval.LeNet, Epochs: j.Epochs}.Fit(ctx, dev,
			train.Slice(0, min(j.LeNet, train.Len())), rand.New(rand.NewPCG(1, 1))))
		defer lenet.Free()
		f = lenet
		out.Sure, out.SureReal = sure(ctx, lenet, synthetic), sure(ctx, lenet, test)
	}
	r := lab.Must(distance.Between(ctx, f, synthetic, test))
	out.FD, out.Precision, out.Recall, out.Coverage = r.Frechet, r.Coverage.Precision, r.Coverage.Recall,
		r.Coverage.Coverage
	if j.Inception != "" {
		out.KID, out.Dark = r.KID.Value, lab.Must(distance.Between(ctx, f, eval.Code.Prepare(synthetic), test)).Frechet
	}
}
